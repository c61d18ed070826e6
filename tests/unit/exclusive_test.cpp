// Requests and replies of an exclusive lock. Tests of its scripts are in tests/contract.

#include "wire/plain/exclusive.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace {

using namespace holdfast::engine;
using holdfast::recipes::plain::exclusive;
using holdfast::resp::kind;
using holdfast::resp::reply;
using testing::HasSubstr;

reply number(std::int64_t n) { return {.type = kind::integer, .integer = n, .text = {}, .elements = {}}; }

reply list(std::vector<std::int64_t> const& numbers) {
  reply result{.type = kind::array, .text = {}, .elements = {}};
  for (auto const n : numbers) result.elements.push_back(number(n));
  return result;
}

/// A reply in the format of the script function busy_reply, after the numbers of `before`.
reply busy_list(std::vector<std::int64_t> before, std::int64_t pttl, std::int64_t ahead,
                std::int64_t ticket) {
  before.insert(before.end(), {pttl, ahead, ticket, 41});
  auto result = list(before);
  result.elements.push_back({.type = kind::text, .text = "somebody", .elements = {}});
  result.elements.push_back(number(7'000'000));
  return result;
}

TEST(exclusive_recipe, reads_two_numbers_as_a_grant_with_its_tokens) {
  auto const verdict = exclusive.read_acquire(list({42, 65}));
  ASSERT_TRUE(std::holds_alternative<granted>(verdict));
  EXPECT_EQ(std::get<granted>(verdict).token, 42);
  EXPECT_EQ(std::get<granted>(verdict).count, 65);
}

TEST(exclusive_recipe, reads_who_holds_a_busy_lock_and_how_many_are_ahead) {
  auto const verdict = exclusive.read_acquire(busy_list({}, 5'000, 2, 1'700'000'000'000'000));
  ASSERT_TRUE(std::holds_alternative<busy>(verdict));
  auto const busy_lock = std::get<busy>(verdict);
  EXPECT_EQ(busy_lock.pttl.count(), 5'000);
  EXPECT_EQ(busy_lock.ahead, 2);
  EXPECT_EQ(busy_lock.ticket, 1'700'000'000'000'000);
  EXPECT_EQ(busy_lock.counter, 41);
  EXPECT_EQ(busy_lock.holder, "somebody");
  EXPECT_EQ(busy_lock.held_for, std::chrono::seconds{7});
}

TEST(exclusive_recipe, reads_how_a_release_found_the_lock) {
  EXPECT_EQ(exclusive.read_release(number(1)), ownership::mine);
  EXPECT_EQ(exclusive.read_release(number(0)), ownership::gone);
  EXPECT_EQ(exclusive.read_release(number(-1)), ownership::foreign);
}

TEST(exclusive_recipe, reads_that_the_next_holds) {
  auto const result = exclusive.read_pass(list({1, 42, 65}));
  EXPECT_EQ(result.before, ownership::mine);
  ASSERT_EQ(result.next.size(), 1u);
  EXPECT_EQ(std::get<granted>(result.next.front()).token, 42);
  EXPECT_EQ(std::get<granted>(result.next.front()).count, 65);
}

TEST(exclusive_recipe, reads_that_the_next_is_queued) {
  auto const result = exclusive.read_pass(busy_list({2}, -2, 3, 1'000));
  EXPECT_EQ(result.before, ownership::mine);
  ASSERT_EQ(result.next.size(), 1u);
  auto const busy_lock = std::get<busy>(result.next.front());
  EXPECT_EQ(busy_lock.pttl.count(), -2);
  EXPECT_EQ(busy_lock.ahead, 3);
  EXPECT_EQ(busy_lock.ticket, 1'000);
}

TEST(exclusive_recipe, reads_that_nothing_was_done_for_the_next) {
  EXPECT_EQ(exclusive.read_pass(list({0})).before, ownership::gone);
  EXPECT_EQ(exclusive.read_pass(list({-1})).before, ownership::foreign);
  EXPECT_TRUE(exclusive.read_pass(list({0})).next.empty());
  EXPECT_TRUE(exclusive.read_pass(list({-1})).next.empty());
}

TEST(exclusive_recipe, takes_an_answer_to_pass_that_it_does_not_know_for_nothing_done) {
  for (auto const& strange :
       {list({}), list({1}), list({1, 2}), list({1, 2, 3, 4}), list({2, 1}), number(1), reply{}})
    EXPECT_TRUE(exclusive.read_pass(strange).next.empty());
}

TEST(exclusive_recipe, reads_the_places_of_lost_leases_from_zero) {
  EXPECT_THAT(exclusive.read_renew(list({1, -3})),
              testing::ElementsAre(std::pair{std::size_t{0}, ownership::gone},
                                   std::pair{std::size_t{2}, ownership::foreign}));
  EXPECT_TRUE(exclusive.read_renew(list({})).empty());
}

TEST(exclusive_recipe, says_whether_it_wants_to_wait) {
  EXPECT_THAT(exclusive.acquire("a", {.owner = "o", .join = true}).tail, HasSubstr("$4\r\njoin\r\n"));
  EXPECT_THAT(exclusive.acquire("a", {.owner = "o"}).tail, HasSubstr("$3\r\nask\r\n"));
}

TEST(exclusive_recipe, sends_the_starvation_limit_in_microseconds_and_the_grant_in_milliseconds) {
  auto const request =
      exclusive.release({.name = "a", .owner = "o"}, {.starvation = std::chrono::milliseconds{100}});
  EXPECT_THAT(request.tail, testing::EndsWith("$1\r\no\r\n$6\r\n100000\r\n$4\r\n2000\r\n$7\r\nPUBLISH\r\n"));
}

TEST(exclusive_recipe, passes_the_lock_on_without_a_starvation_limit) {
  auto const request =
      exclusive.pass({.name = "a", .owner = "o"}, {.starvation = std::chrono::milliseconds{100}},
                     {.owner = "p", .ttl = milliseconds{30'000}, .tokens = 65});
  EXPECT_THAT(
      request.tail,
      testing::EndsWith("$1\r\no\r\n$4\r\n2000\r\n$7\r\nPUBLISH\r\n$1\r\np\r\n$5\r\n30000\r\n$2\r\n65\r\n"));
}

TEST(exclusive_recipe, names_lock_counter_and_queue_in_this_order) {
  for (auto const& request :
       {exclusive.acquire("a", {.owner = "o"}), exclusive.release({.name = "a", .owner = "o"}, {}),
        exclusive.abandon({.name = "a", .owner = "o"}, {}),
        exclusive.pass({.name = "a", .owner = "o"}, {}, {.owner = "p"})}) {
    EXPECT_THAT(request.tail, testing::StartsWith("$1\r\n3\r\n$1\r\na\r\n$18\r\n{a}:holdfast_token\r\n"
                                                  "$18\r\n{a}:holdfast_queue\r\n$1\r\no\r\n"))
        << request.source->name;
  }
}

TEST(exclusive_recipe, renews_many_at_once) {
  std::vector<owned> const leases{{.name = "a", .owner = "o"}, {.name = "b", .owner = "p"}};
  EXPECT_EQ(exclusive.renew(milliseconds{30'000}, leases).tail,
            "$1\r\n2\r\n$1\r\na\r\n$1\r\nb\r\n$5\r\n30000\r\n$1\r\no\r\n$1\r\np\r\n");
}

}  // namespace
