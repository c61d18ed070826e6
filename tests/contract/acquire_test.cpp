#include "contract/rows_of_both_orders.hpp"
#include "script/names.hpp"

namespace holdfast::contract::acquire_test {

namespace names = holdfast::names;
using testing::_;
using testing::AllOf;
using testing::Ge;
using testing::Gt;
using testing::Le;

std::int64_t micros_of(raw_redis& server) {
  auto const time = server.command({"TIME"});
  return std::stoll(time.elements.at(0).text) * 1'000'000 + std::stoll(time.elements.at(1).text);
}

std::string ticket_of(raw_redis& server, std::string_view owner) {
  return server.command({"ZSCORE", names::queue(lock_name), std::string{owner}}).text;
}

auto const nearly_20_s = AllOf(Gt(10'000), Le(20'000));

class acquire_script : public testing::TestWithParam<row> {};
TEST_P(acquire_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(contract_of_both_orders, acquire_script,
                         testing::ValuesIn(acquire_rows_of_both_orders(acquire)), name_of);

INSTANTIATE_TEST_SUITE_P(
    contract, acquire_script,
    testing::ValuesIn(std::vector<row>{
        {.name = "takes_one_token_when_the_counter_is_ahead_of_the_servers_clock",
         .given = {},
         .call = acquire(try_request(caller, 65)),
         .expect = {.reply = is_list({last_token + 1, 1}), .lock = caller, .counter = last_token + 1},
         .again = expect{.reply = is_list({last_token + 2, 1}), .lock = caller}},
        {.name = "leaves_the_queue_when_it_takes_the_lock",
         .given = {.queue = {{anna, 3}, {caller, 2}, {ben, 1}}},
         .call = acquire(join_request(caller)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = caller,
                    .counter = last_token + 1,
                    .queue = {anna, ben}}},
        {.name = "barges_in_on_a_free_lock",
         .given = {.queue = {{anna, 5'000}}, .listening = {anna}},
         .call = acquire(try_request(caller)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = caller,
                    .counter = last_token + 1,
                    .queue = {anna}}},
        {.name = "waits_for_a_sibling_of_the_same_process",
         .given = {.lock = sibling},
         .call = acquire(join_request(caller)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), sibling),
                    .lock = sibling,
                    .ttl = 20'000,
                    .queue = {caller}}},
        {.name = "joins_the_queue_of_a_busy_lock",
         .given = {.lock = rival},
         .call = acquire(join_request(caller)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), rival),
                    .lock = rival,
                    .ttl = 20'000,
                    .queue = {caller}}},
        {.name = "says_that_the_other_lock_has_no_ttl",
         .given = {.lock = "of another program", .ttl = no_ttl},
         .call = acquire(join_request(caller)),
         .expect = {.reply = is_busy(-1, 0, Gt(0), "of another program"),
                    .lock = "of another program",
                    .ttl = no_ttl,
                    .queue = {caller}}},
        {.name = "is_refused_by_a_stream",
         .given = {.setup = {{"XADD", "orders:42", "*", "field", "1"}}},
         .call = acquire(try_request(caller)),
         .expect = {.reply = is_error("WRONGTYPE stream")}},
    }),
    name_of);

TEST(acquire_script_alone, starts_an_absent_counter_at_the_servers_time_in_microseconds) {
  auto raw = empty_server().raw();
  auto const before = micros_of(raw);
  auto const reply = raw.command(eval(acquire(try_request(caller, 3))));
  ASSERT_THAT(reply, is_list({AllOf(Gt(before), Le(micros_of(raw) + 1)), 1}));
  EXPECT_EQ(raw.get(names::token_counter(lock_name)), std::to_string(reply.elements[0].integer));
  EXPECT_THAT(raw.pttl(names::token_counter(lock_name)), AllOf(Gt(day - minute), Le(day)));
}

/// Sets the counter as of a lock that was last acquired a minute ago, and returns it.
std::int64_t set_a_minute_back(raw_redis& raw) {
  auto const counter = micros_of(raw) - 60'000'000;
  raw.command({"SET", names::token_counter(lock_name), std::to_string(counter)});
  return counter;
}

TEST(acquire_script_alone, takes_a_block_of_tokens_that_ends_at_the_servers_clock) {
  for (auto const holder : {std::string_view{}, caller}) {
    auto raw = empty_server().raw();
    prepare(raw, {.lock = holder});
    set_a_minute_back(raw);
    auto const before = micros_of(raw);
    auto const reply = raw.command(eval(acquire(try_request(caller, 65))));
    ASSERT_THAT(reply, is_list({Gt(before - 65), 65}));
    auto const last = reply.elements[0].integer + 64;
    EXPECT_THAT(last, AllOf(Ge(before), Le(micros_of(raw))));
    EXPECT_EQ(raw.get(names::token_counter(lock_name)), std::to_string(last));
  }
}

TEST(acquire_script_alone, takes_as_many_tokens_as_fit_between_the_last_one_and_the_servers_clock) {
  auto raw = empty_server().raw();
  auto const counter = set_a_minute_back(raw);
  auto const reply = raw.command(eval(acquire(try_request(caller, 600'000'000))));
  EXPECT_THAT(reply, is_list({counter + 1, AllOf(Ge(60'000'000), Le(micros_of(raw) - counter))}));
}

TEST(acquire_script_alone, says_since_when_a_lock_of_ours_is_held) {
  auto raw = empty_server().raw();
  raw.command(eval(acquire(try_request(rival, 65))));
  raw.command({"DECRBY", names::token_counter(lock_name), "5000000"});
  auto const reply = raw.command(eval(acquire(try_request(caller))));
  ASSERT_EQ(reply.elements.size(), 6u);
  EXPECT_EQ(reply.elements[4].text, rival);
  EXPECT_THAT(reply.elements[5].integer, AllOf(Ge(5'000'000), Le(65'000'000)));
}

/// It was lost, and an INCR of the fast path found nothing; see docs/decisions/0021.
TEST(acquire_script_alone, lets_a_counter_that_was_made_anew_live_for_a_day_though_the_lock_is_busy) {
  for (auto const ask : {acquire, fair_acquire}) {
    for (auto const& request : {try_request(caller), join_request(caller)}) {
      auto raw = empty_server().raw();
      prepare(raw, {.lock = rival, .counter = 1});
      EXPECT_THAT(raw.command(eval(ask(request, lock_name))).elements, testing::SizeIs(6));
      EXPECT_THAT(raw.pttl(names::token_counter(lock_name)), AllOf(Gt(day - minute), Le(day)));
    }
  }
}

TEST(acquire_script_alone, says_that_it_does_not_know_since_when_a_lock_without_a_counter_is_held) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = rival, .counter = {}});
  EXPECT_EQ(raw.command(eval(acquire(try_request(caller)))).elements.at(5).integer, -1);
}

TEST(acquire_script_alone, gives_growing_tokens_though_the_counter_is_lost_after_each_block) {
  auto raw = empty_server().raw();
  std::int64_t last = 0;
  for (int round = 0; round < 50; ++round) {
    for (int block_of_this_round = 0; block_of_this_round < 4; ++block_of_this_round) {
      auto const reply = raw.command(eval(acquire(try_request(caller, 65))));
      ASSERT_THAT(reply, is_list({Gt(last), Ge(1)}));
      last = reply.elements[0].integer + reply.elements[1].integer - 1;
    }
    raw.command({"DEL", names::token_counter(lock_name)});
  }
}

TEST(acquire_script_alone, hands_out_the_time_of_joining_as_ticket) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = rival});
  auto const before = micros_of(raw);
  auto const reply = raw.command(eval(acquire(join_request(caller))));
  EXPECT_THAT(reply, is_busy(_, 0, AllOf(Ge(before), Le(micros_of(raw))), rival));
  EXPECT_EQ(ticket_of(raw, caller), std::to_string(reply.elements.at(2).integer));
}

TEST(acquire_script_alone, hands_out_a_ticket_that_is_one_more_than_the_last_when_clocks_went_back) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = rival, .queue = {{anna, -60'000}}});
  auto const reply = raw.command(eval(acquire(join_request(caller))));
  EXPECT_EQ(reply.elements.at(2).integer, std::stoll(ticket_of(raw, anna)) + 1);
}

TEST(acquire_script_alone, answers_the_same_ticket_when_it_is_sent_twice) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = rival});
  auto const first = raw.command(eval(acquire(join_request(caller))));
  auto const second = raw.command(eval(acquire(join_request(caller))));
  EXPECT_EQ(second.elements.at(2).integer, first.elements.at(2).integer);
}

TEST(acquire_script_alone, lets_the_queue_live_a_minute_after_the_last_who_asked) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = rival, .queue = {{caller}}, .setup = {{"PEXPIRE", names::queue(lock_name), "5000"}}});
  raw.command(eval(acquire(join_request(caller))));
  EXPECT_THAT(raw.pttl(names::queue(lock_name)), AllOf(Gt(minute / 2), Le(minute)));
}

TEST(acquire_script_alone, leaves_nothing_behind_when_its_counter_is_of_another_type) {
  expect_refused_without_a_change(acquire, {"HSET", names::token_counter(lock_name), "field", "1"},
                                  "WRONGTYPE Operation");
}

TEST(acquire_script_alone, leaves_nothing_behind_when_its_counter_is_no_number) {
  expect_refused_without_a_change(acquire, {"SET", names::token_counter(lock_name), "many"},
                                  "WRONGTYPE the token counter is no number");
}

TEST(acquire_script_alone, leaves_nothing_behind_when_its_queue_is_of_another_type) {
  expect_refused_without_a_change(acquire, {"SET", names::queue(lock_name), "1"}, "WRONGTYPE Operation");
  expect_refused_without_a_change(acquire, {"RPUSH", names::queue(lock_name), std::string{caller}},
                                  "WRONGTYPE Operation");
}

TEST(acquire_script_alone, leaves_nothing_else_behind) {
  auto raw = empty_server().raw();
  raw.command(eval(acquire(try_request(caller))));
  EXPECT_THAT(raw.keys(),
              testing::UnorderedElementsAre(std::string{lock_name}, names::token_counter(lock_name)));
}

}  // namespace holdfast::contract::acquire_test
