// Callers that turn upgrade leases into writers: each has a lease of its own.

#include "unit/a_contention.hpp"
#include "wire/plain/shared.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class an_upgrade : public a_contention {
 protected:
  an_upgrade() : a_contention{recipes::plain::upgrader} {}

  recorded_waiter& start(std::uint64_t in_place_of, bool tries = false) {
    auto& caller = *callers_.emplace_back(std::make_unique<recorded_waiter>(queue_));
    caller.in_place_of = in_place_of;
    caller.tries_only = tries;
    loop_of_client_.membership.enter(caller, boot_clock::now());
    return caller;
  }
};

TEST_F(an_upgrade, of_a_lease_that_is_lost_fails_no_other) {
  auto const& first = start(11);
  auto const& second = start(12);
  ASSERT_THAT(backend_.take_sent(), ElementsAre("acquire 1"));
  backend_.refuse("LOST the upgrade lease is not in");
  ASSERT_TRUE(first.failure);
  EXPECT_EQ(first.failure->code(), errc::lost);
  EXPECT_EQ(second.times_finished, 0);
  ASSERT_THAT(backend_.take_sent(), ElementsAre("abandon 1", "acquire 2"));
  backend_.answer(abandoned{});
  backend_.answer(granted_from(100));
  EXPECT_TRUE(second.lease);
}

TEST_F(an_upgrade, that_its_caller_has_left_is_not_for_the_next_one) {
  auto& first = start(11, true);
  auto const& second = start(12);
  (void)backend_.take_sent();
  loop_of_client_.membership.leave(first, boot_clock::now());
  backend_.answer(granted_from(100));
  EXPECT_FALSE(second.lease);
  ASSERT_THAT(backend_.take_sent(), ElementsAre("abandon 1", "acquire 2"));
  backend_.answer(abandoned{.had_lock = true});
  backend_.answer(granted_from(101));
  EXPECT_TRUE(second.lease);
}

TEST_F(an_upgrade, that_was_tried_by_two_copies_of_a_request_is_given_up) {
  auto const& caller = start(11, true);
  (void)backend_.take_sent();
  backend_.answer_copy(busy_for(10s));
  EXPECT_EQ(caller.times_finished, 1);
  EXPECT_FALSE(caller.lease || caller.failure);
  ASSERT_THAT(backend_.take_sent(), ElementsAre("abandon 1")) << "the other copy may come yet";
  backend_.answer(abandoned{});
  start(11, true);
  (void)backend_.take_sent();
  backend_.answer(busy_for(10s));
  EXPECT_THAT(backend_.take_sent(), IsEmpty()) << "nothing comes any more";
}

}  // namespace
}  // namespace holdfast::engine
