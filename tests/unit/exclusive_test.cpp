// Requests of an exclusive lock. Tests of its scripts are in tests/contract.

#include "wire/plain/exclusive.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "script/runner.hpp"
#include "wire/plain/fair.hpp"
#include "wire/plain/permits.hpp"
#include "wire/plain/shared.hpp"

namespace {

using namespace holdfast::engine;
using holdfast::recipes::plain::exclusive;
using testing::HasSubstr;

TEST(exclusive_recipe, says_whether_it_wants_to_wait) {
  EXPECT_THAT(exclusive.acquire("a", {.owner = "o", .join = true}).tail(), HasSubstr("$4\r\njoin\r\n"));
  EXPECT_THAT(exclusive.acquire("a", {.owner = "o"}).tail(), HasSubstr("$3\r\nask\r\n"));
}

TEST(exclusive_recipe, sends_the_starvation_limit_in_microseconds_and_the_grant_in_milliseconds) {
  auto const request =
      exclusive.release({.name = "a", .owner = "o"}, {.starvation = std::chrono::milliseconds{100}});
  EXPECT_THAT(request.tail(),
              testing::EndsWith("$1\r\no\r\n$6\r\n100000\r\n$4\r\n2000\r\n$7\r\nPUBLISH\r\n"));
}

TEST(exclusive_recipe, passes_the_lock_on_without_a_starvation_limit) {
  auto const request =
      exclusive.pass({.name = "a", .owner = "o"}, {.starvation = std::chrono::milliseconds{100}},
                     {.owner = "p", .ttl = milliseconds{30'000}, .tokens = 65});
  EXPECT_THAT(
      request.tail(),
      testing::EndsWith("$1\r\no\r\n$4\r\n2000\r\n$7\r\nPUBLISH\r\n$1\r\np\r\n$5\r\n30000\r\n$2\r\n65\r\n"));
}

TEST(exclusive_recipe, takes_a_free_lock_and_a_token_in_one_transaction) {
  auto const request = exclusive.fast_acquire("a", {.owner = "o", .ttl = milliseconds{30'000}});
  EXPECT_EQ(request.bytes,
            "*1\r\n$5\r\nMULTI\r\n"
            "*6\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\no\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n30000\r\n"
            "*2\r\n$4\r\nINCR\r\n$18\r\n{a}:holdfast_token\r\n"
            "*1\r\n$4\r\nEXEC\r\n");
  EXPECT_EQ(request.commands, 4);
  auto const sent = holdfast::scripting::to_run(request, {});
  EXPECT_EQ(sent.key_text(), "a");
  EXPECT_TRUE(sent.never_resend);
}

TEST(exclusive_recipe, looks_for_a_queue_in_that_transaction_where_the_order_is_strict) {
  for (auto const* const kind : {&holdfast::recipes::plain::fair, &holdfast::recipes::plain::writer_first}) {
    auto const request = kind->fast_acquire("a", {.owner = "o", .ttl = milliseconds{30'000}});
    EXPECT_THAT(request.bytes, testing::EndsWith("*2\r\n$6\r\nEXISTS\r\n$18\r\n{a}:holdfast_queue\r\n"
                                                 "*1\r\n$4\r\nEXEC\r\n"));
    EXPECT_EQ(request.commands, 5);
  }
}

TEST(permits_recipe, takes_one_permit_that_nobody_has_in_one_transaction) {
  auto const request = holdfast::recipes::plain::permits.fast_acquire(
      "a", {.owner = "o", .ttl = milliseconds{30'000}, .size = 4});
  EXPECT_THAT(request.bytes, HasSubstr("$19\r\nholdfast_permit 4 o\r\n"));
  EXPECT_THAT(request.bytes, HasSubstr("*3\r\n$6\r\nEXISTS\r\n$25\r\n{a}:holdfast_permit_queue\r\n$20\r\n"
                                       "{a}:holdfast_permits\r\n"));
}

TEST(exclusive_recipe, names_lock_counter_and_queue_in_this_order) {
  for (auto const& request :
       {exclusive.acquire("a", {.owner = "o"}), exclusive.release({.name = "a", .owner = "o"}, {}),
        exclusive.abandon({.name = "a", .owner = "o"}, {}),
        exclusive.pass({.name = "a", .owner = "o"}, {}, {.owner = "p"})}) {
    EXPECT_THAT(request.tail(), testing::StartsWith("$1\r\n3\r\n$1\r\na\r\n$18\r\n{a}:holdfast_token\r\n"
                                                    "$18\r\n{a}:holdfast_queue\r\n$1\r\no\r\n"))
        << request.source->name;
  }
}

TEST(exclusive_recipe, renews_many_at_once) {
  std::vector<owned> const leases{{.name = "a", .owner = "o"}, {.name = "b", .owner = "p"}};
  EXPECT_EQ(exclusive.renew(milliseconds{30'000}, leases).tail(),
            "$1\r\n2\r\n$1\r\na\r\n$1\r\nb\r\n$5\r\n30000\r\n$1\r\no\r\n$1\r\np\r\n");
}

}  // namespace
