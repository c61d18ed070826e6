/// What an object refuses when it is made, without a question to a server.

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/quorum_mutex.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "support/failure_of.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class refusal_without_a_server : public testing::Test {
 protected:
  template <class Make>
  void expect_refusal(Make make, std::string const& text) {
    auto const refusal = failure_of(make);
    EXPECT_EQ(refusal.code, std::errc::invalid_argument) << text;
    EXPECT_TRUE(refusal.mentions(text)) << text;
  }

  client redis_{"redis+unix:///nonexistent/redis.sock"};
};

TEST_F(refusal_without_a_server, is_of_names_that_are_empty_or_too_long) {
  EXPECT_NO_THROW((mutex{redis_, std::string(65536, 'x')}));
  expect_refusal([&] { mutex const m{redis_, std::string(65537, 'x')}; }, "at most 65536 bytes, not 65537");
  expect_refusal([&] { mutex const m{redis_, ""}; }, "a lock needs a name");
}

TEST_F(refusal_without_a_server, is_of_names_of_numbers_that_are_too_long) {
  EXPECT_NO_THROW((latch{redis_, std::string(65536, 'x')}));
  expect_refusal([&] { latch const l{redis_, std::string(65537, 'x')}; }, "at most 65536 bytes, not 65537");
}

TEST_F(refusal_without_a_server, is_of_names_that_only_a_cluster_has_no_slot_for) {
  client of_cluster{"redis+cluster://a,b,c"};
  EXPECT_NO_THROW((mutex{redis_, "{orders"}));
  EXPECT_NO_THROW((mutex{of_cluster, "{orders}"}));
  expect_refusal([&] { mutex const m{of_cluster, "{orders"}; }, "can't be used in a cluster");
}

TEST_F(refusal_without_a_server, is_of_a_ttl_that_is_out_of_range) {
  EXPECT_NO_THROW((mutex{redis_, "orders", {.ttl = 10ms}}));
  expect_refusal([&] { mutex const m{redis_, "orders", {.ttl = 9ms}}; }, "ttl of lock \"orders\"");
}

TEST_F(refusal_without_a_server, is_of_numbers_of_permits_that_make_no_sense) {
  auto const take = [&](std::int64_t count, std::int64_t size) {
    return [this, count, size] {
      multi_mutex const m{redis_, {permits("slots", count, size), write("orders")}};
    };
  };
  EXPECT_NO_THROW(take(2, 0)()) << "as many as somebody has said";
  EXPECT_NO_THROW(take(2, 2)());
  expect_refusal(take(0, 0), "permits");
  expect_refusal(take(1, -1), "permits");
  expect_refusal(take(3, 2), "nobody could ever get them");
}

TEST_F(refusal_without_a_server, is_of_a_ttl_in_which_no_majority_can_vote) {
  client voting{"redis+quorum://a,b,c"};
  EXPECT_NO_THROW((quorum_mutex{voting, "orders", {.ttl = 100ms}}));
  expect_refusal([&] { quorum_mutex const m{voting, "orders", {.ttl = 99ms}}; },
                 "at least 100 ms, not 99 ms");
}

}  // namespace
}  // namespace holdfast::test
