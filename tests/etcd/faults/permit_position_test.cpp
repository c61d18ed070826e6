// Who has permits, and what the others wait for, by the keys alone.

#include "etcd/permit_position.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using etcd::found;
using etcd::key_value;
using etcd::permit_position;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t under = 0x7a;

key_value place(std::int64_t amount, std::int64_t revision, std::int64_t size = 4) {
  return {.key = etcd::keys::permit_place("jobs/", size, amount, under, "uuid:" + std::to_string(revision)),
          .create_revision = revision,
          .lease = under};
}

/// Of the newest place, for those that came before it in this order.
permit_position newest(std::vector<key_value> places, std::string const& set = {}) {
  auto const own = places.back();
  std::vector<found> answers(permit_position::answers);
  if (!set.empty()) answers[0].keys = {{.key = "jobs/size", .value = set}};
  answers[2].keys = {places.front()};
  answers[1].keys = {places.rbegin(), places.rend()};
  return {own.key, etcd::keys::permit_in(own)->amount, answers};
}

TEST(permit_position, has_permits_as_far_as_they_go) {
  EXPECT_TRUE(newest({place(4, 1)}).has_them);
  EXPECT_TRUE(newest({place(1, 1), place(2, 2), place(1, 3)}).has_them);
  EXPECT_FALSE(newest({place(1, 1), place(2, 2), place(2, 3)}).has_them);
  // Whoever waits before it counts, too.
  EXPECT_FALSE(newest({place(2, 1), place(3, 2), place(1, 3)}).has_them);
}

TEST(permit_position, waits_for_the_newest_that_leave_too_few) {
  auto const one = place(1, 1);
  auto const two = place(1, 2);
  auto const three = place(2, 3);
  auto const four = place(3, 4);
  EXPECT_THAT(newest({one, two, three, place(1, 9)}).waits_for, ElementsAre(three.key, two.key, one.key));
  EXPECT_THAT(newest({one, two, three, place(3, 9)}).waits_for, ElementsAre(three.key));
  EXPECT_THAT(newest({one, two, three, four, place(1, 9)}).waits_for, ElementsAre(four.key, three.key));
  EXPECT_THAT(newest({one, two, place(1, 9)}).waits_for, IsEmpty());
}

TEST(permit_position, counts_who_is_out_and_who_is_ahead) {
  auto const seen = newest({place(2, 1), place(1, 2), place(3, 3), place(1, 4), place(1, 9)});
  EXPECT_EQ(seen.size, 4);
  EXPECT_EQ(seen.out, 3);
  EXPECT_EQ(seen.ahead, 2);
}

TEST(permit_position, goes_by_a_number_that_was_set) {
  auto const text = etcd::keys::size_text(2, "uuid:r1");
  auto const seen = newest({place(1, 1), place(1, 2), place(1, 3)}, text);
  EXPECT_EQ(seen.size, 2);
  EXPECT_EQ(seen.size_text, text);
  EXPECT_FALSE(seen.has_them);
  EXPECT_FALSE(seen.too_many);
  EXPECT_TRUE(newest({place(3, 1)}, text).too_many);
  // What somebody else has written there doesn't count.
  EXPECT_EQ(newest({place(1, 1)}, "7").size, 4);
}

TEST(permit_position, knows_its_keys) {
  auto const own = place(3, 5);
  EXPECT_EQ(own.key, "jobs/permit-4-3-7a-5");
  EXPECT_EQ(etcd::keys::permit_in(own)->amount, 3);
  auto other = own;
  other.lease = under + 1;
  EXPECT_FALSE(etcd::keys::permit_in(other));
  for (auto const* const key : {"jobs/permit-4-0-7a-5", "jobs/permit-4--7a-5", "jobs/permit-", "jobs/7a",
                                "jobs/permit-4-9999999999-7a-5", "jobs/permit-x-1-7a-5"})
    EXPECT_FALSE(etcd::keys::permit_in({.key = key, .lease = under})) << key;
  for (auto const* const text :
       {"", "7", "holdfast size ", "holdfast size -1 x", "holdfast size 9999999999 x"})
    EXPECT_FALSE(etcd::keys::size_in(text)) << text;
}

}  // namespace
}  // namespace holdfast::test
