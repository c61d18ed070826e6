// How the replies of the scripts read. Tests of the scripts are in tests/contract.

#include "engine/replies.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "resp/make_reply.hpp"

namespace holdfast::engine::replies {
namespace {

using namespace std::chrono_literals;
using resp::make_array;
using resp::make_integer;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

net::response with(resp::reply reply) { return {.reply = std::move(reply), .sent = true}; }
net::response with(std::int64_t number) { return with(make_integer(number)); }
net::response resent(net::response response) {
  response.resent = true;
  return response;
}

resp::reply list(std::vector<std::int64_t> const& numbers) {
  std::vector<resp::reply> elements;
  for (auto const number : numbers) elements.push_back(make_integer(number));
  return make_array(std::move(elements));
}

/// A reply in the format of the script function busy_reply, after the numbers of `before`.
resp::reply busy_list(std::vector<std::int64_t> before, std::int64_t pttl, std::int64_t ahead,
                      std::int64_t ticket) {
  before.insert(before.end(), {pttl, ahead, ticket, 41});
  auto result = list(before);
  result.elements.push_back(resp::make_text("somebody"));
  result.elements.push_back(make_integer(7'000'000));
  return result;
}

TEST(replies, two_numbers_are_a_grant_with_its_tokens) {
  auto const answer = read_acquire(with(list({42, 65})));
  ASSERT_TRUE(answer.outcome());
  auto const& grant = std::get<granted>(*answer.outcome());
  EXPECT_EQ(grant.token, 42);
  EXPECT_EQ(grant.count, 65);
}

TEST(replies, a_number_is_a_grant_without_tokens) {
  auto const answer = read_acquire(with(3));
  auto const& grant = std::get<granted>(*answer.outcome());
  EXPECT_EQ(grant.token, 0);
  EXPECT_EQ(grant.count, 3);
}

TEST(replies, tell_who_holds_a_busy_lock_and_how_many_are_ahead) {
  auto const answer = read_acquire(with(busy_list({}, 5'000, 2, 1'700'000'000'000'000)));
  ASSERT_TRUE(answer.outcome());
  auto const& busy_lock = std::get<busy>(*answer.outcome());
  EXPECT_EQ(busy_lock.pttl, 5s);
  EXPECT_EQ(busy_lock.ahead, 2);
  EXPECT_EQ(busy_lock.ticket, 1'700'000'000'000'000);
  EXPECT_EQ(busy_lock.counter, 41);
  EXPECT_EQ(busy_lock.holder, "somebody");
  EXPECT_EQ(busy_lock.held_for, 7s);
}

TEST(replies, to_an_acquire_request_that_nobody_knows_leave_the_lock_busy) {
  auto const answer = read_acquire(with(list({1, 2, 3})));
  ASSERT_TRUE(answer.outcome());
  EXPECT_LT(std::get<busy>(*answer.outcome()).ahead, 0);
}

TEST(replies, to_a_fast_acquire_are_the_token_of_a_grant) {
  auto const answer = read_fast_acquire(with(make_array({resp::make_text("OK"), make_integer(42)})));
  auto const& grant = std::get<granted>(*answer.outcome());
  EXPECT_EQ(grant.token, 42);
  EXPECT_EQ(grant.count, 1);
}

TEST(replies, to_a_fast_acquire_of_a_busy_lock_decide_nothing) {
  auto const answer = read_fast_acquire(with(make_array({{}, make_integer(42)})));
  EXPECT_FALSE(std::get<undecided>(*answer.outcome()).taken);
}

TEST(replies, to_a_fast_acquire_say_that_the_lock_is_taken_when_its_counter_is_spoilt) {
  for (auto const& reply : {make_array({resp::make_text("OK"), resp::make_error("WRONGTYPE")}),
                            resp::make_text("what is that?")}) {
    auto const answer = read_fast_acquire(with(reply));
    EXPECT_TRUE(std::get<undecided>(*answer.outcome()).taken);
  }
}

TEST(replies, to_a_fast_acquire_of_a_reader_have_the_last_token_as_text) {
  auto const answer =
      read_fast_acquire(with(make_array({resp::make_text("OK"), resp::make_text("42"), make_integer(0)})));
  EXPECT_EQ(std::get<granted>(*answer.outcome()).token, 42);
  for (auto const& counter : {resp::reply{}, resp::make_text("x")}) {
    auto const spoilt =
        read_fast_acquire(with(make_array({resp::make_text("OK"), counter, make_integer(0)})));
    EXPECT_TRUE(std::get<undecided>(*spoilt.outcome()).taken);
    EXPECT_FALSE(std::get<undecided>(*spoilt.outcome()).overtook);
  }
}

TEST(replies, to_a_fast_acquire_say_that_the_lock_was_taken_past_a_queue) {
  auto const reply_with = [](int queues) {
    return make_array({resp::make_text("OK"), make_integer(42), make_integer(queues)});
  };
  EXPECT_EQ(std::get<granted>(*read_fast_acquire(with(reply_with(0))).outcome()).token, 42);
  auto const answer = read_fast_acquire(with(reply_with(1)));
  EXPECT_TRUE(std::get<undecided>(*answer.outcome()).overtook);
}

TEST(replies, to_a_fast_release_say_that_somebody_waits_however_often_it_was_sent) {
  EXPECT_EQ(*read_fast_release(with(1)).outcome(), ownership::held);
  EXPECT_EQ(*read_fast_release(with(0)).outcome(), ownership::gone);
  EXPECT_EQ(*read_fast_release(with(2)).outcome(), ownership::awaited);
  EXPECT_EQ(*read_fast_release(resent(with(2))).outcome(), ownership::awaited);
  EXPECT_EQ(*read_fast_release(resent(with(0))).outcome(), ownership::held);
}

TEST(replies, tell_when_the_request_was_sent_and_over_which_connection) {
  auto const answer =
      read_acquire({.reply = list({42, 65}), .sent_at = time_point{5s}, .sent = true, .connection_id = 7});
  EXPECT_EQ(answer.sent_at, time_point{5s});
  EXPECT_EQ(answer.connection_id, 7u);
}

TEST(replies, that_are_errors_are_refusals_in_the_words_of_the_server) {
  auto const answer = read_acquire(resent(with(resp::make_error("OOM no"))));
  ASSERT_TRUE(answer.refusal());
  EXPECT_EQ(answer.refusal()->text, "OOM no");
  EXPECT_TRUE(answer.refusal()->resent);
  EXPECT_EQ(answer.reason(), "OOM no");
}

TEST(replies, that_do_not_come_are_failures) {
  auto const reason = std::make_shared<error const>(errc::unreachable, "h is down");
  auto const answer = read_renew({.failure = reason, .sent = true});
  ASSERT_TRUE(answer.failure());
  EXPECT_EQ(answer.failure()->reason, reason);
  EXPECT_TRUE(answer.failure()->sent);
  EXPECT_EQ(answer.reason(), "h is down");
}

TEST(replies, tell_how_a_release_found_the_lock) {
  EXPECT_EQ(*read_release(with(1)).outcome(), ownership::held);
  EXPECT_EQ(*read_release(with(0)).outcome(), ownership::gone);
  EXPECT_EQ(*read_release(with(-1)).outcome(), ownership::foreign);
  EXPECT_TRUE(read_release(with(list({1}))).refusal());
}

TEST(replies, to_the_second_copy_of_a_release_count_for_the_first_one) {
  EXPECT_EQ(*read_release(resent(with(0))).outcome(), ownership::held);
  EXPECT_EQ(read_pass(resent(with(list({0})))).outcome()->before, ownership::held);
  EXPECT_EQ(*read_conversion(resent(with(0))).outcome(), ownership::gone) << "it finds the new lease";
}

TEST(replies, tell_which_leases_of_many_have_waiters) {
  EXPECT_THAT(*read_release_unwanted(with(list({4, 1}))).outcome(), ElementsAre(0, 3));
}

TEST(replies, tell_that_the_next_holds) {
  auto const answer = read_pass(with(list({1, 42, 65})));
  EXPECT_EQ(answer.outcome()->before, ownership::held);
  ASSERT_TRUE(answer.outcome()->next);
  auto const& grant = std::get<granted>(*answer.outcome()->next);
  EXPECT_EQ(grant.token, 42);
  EXPECT_EQ(grant.count, 65);
}

TEST(replies, tell_that_the_next_is_queued) {
  auto const answer = read_pass(with(busy_list({2}, -2, 3, 1'000)));
  EXPECT_EQ(answer.outcome()->before, ownership::held);
  ASSERT_TRUE(answer.outcome()->next);
  auto const& busy_lock = std::get<busy>(*answer.outcome()->next);
  EXPECT_EQ(busy_lock.pttl, -2ms);
  EXPECT_EQ(busy_lock.ahead, 3);
  EXPECT_EQ(busy_lock.ticket, 1'000);
}

TEST(replies, tell_that_nothing_was_done_for_the_next) {
  EXPECT_EQ(read_pass(with(list({0}))).outcome()->before, ownership::gone);
  EXPECT_EQ(read_pass(with(list({-1}))).outcome()->before, ownership::foreign);
  EXPECT_FALSE(read_pass(with(list({0}))).outcome()->next);
  EXPECT_FALSE(read_pass(with(list({-1}))).outcome()->next);
}

TEST(replies, to_pass_that_nobody_knows_mean_that_nothing_was_done) {
  for (auto const& strange : {list({}), list({1}), list({1, 2}), list({1, 2, 3, 4}), list({2, 1}),
                              make_integer(1), resp::reply{}}) {
    EXPECT_FALSE(read_pass(with(strange)).outcome()->next);
  }
}

TEST(replies, count_the_lost_leases_of_a_renewal_from_zero) {
  EXPECT_THAT(read_renew(with(list({1, -3}))).outcome()->others,
              ElementsAre(Pair(0, ownership::gone), Pair(2, ownership::foreign)));
  EXPECT_THAT(read_renew(with(list({}))).outcome()->others, IsEmpty());
}

TEST(replies, tell_which_keys_were_to_end_early) {
  auto const answer = read_renew(with(make_array({make_integer(1), list({2, 700})})));
  EXPECT_THAT(answer.outcome()->others, ElementsAre(Pair(0, ownership::gone)));
  EXPECT_THAT(answer.outcome()->cut, ElementsAre(Pair(1, 700ms)));
}

TEST(replies, tell_how_a_last_ttl_found_the_lock) {
  EXPECT_EQ(*read_set_ttl(with(list({}))).outcome(), ownership::held);
  EXPECT_EQ(*read_set_ttl(with(list({1}))).outcome(), ownership::gone);
  EXPECT_EQ(*read_set_ttl(with(list({-1}))).outcome(), ownership::foreign);
}

}  // namespace
}  // namespace holdfast::engine::replies
