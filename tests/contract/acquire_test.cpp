#include "contract/contract.hpp"
#include "script/names.hpp"

namespace {

using namespace holdfast::contract;
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

INSTANTIATE_TEST_SUITE_P(
    contract, acquire_script,
    testing::ValuesIn(std::vector<row>{
        {.name = "takes_a_free_lock",
         .given = {},
         .call = acquire(asks(me)),
         .expect = {.reply = is(42), .lock = me, .counter = 42},
         .again = expect{.reply = is(43), .lock = me}},
        {.name = "takes_a_free_lock_and_several_tokens",
         .given = {},
         .call = acquire(asks(me, 65)),
         .expect = {.reply = is(42), .lock = me, .counter = 41 + 65},
         .again = expect{.reply = is(41 + 65 + 1), .lock = me}},
        {.name = "leaves_the_queue_when_it_takes_the_lock",
         .given = {.queue = {{anna, 3}, {me, 2}, {ben, 1}}},
         .call = acquire(joins(me)),
         .expect = {.reply = is(42), .lock = me, .counter = 42, .queue = {anna, ben}}},
        {.name = "barges_in_on_a_free_lock",
         .given = {.queue = {{anna, 5'000}}, .listening = {anna}},
         .call = acquire(asks(me)),
         .expect = {.reply = is(42), .lock = me, .counter = 42, .queue = {anna}}},
        {.name = "gives_its_own_lock_a_full_ttl_and_a_new_token",
         .given = {.lock = me, .ttl = 2'000, .queue = {{me}, {anna}}},
         .call = acquire(asks(me)),
         .expect = {.reply = is(42), .lock = me, .counter = 42, .queue = {anna}}},
        {.name = "changes_nothing_when_it_only_asks_for_a_busy_lock",
         .given = {.lock = you, .queue = {{anna}}},
         .call = acquire(asks(me)),
         .expect = {.reply = is_list({nearly_20_s, -1, 0}), .lock = you, .ttl = 20'000, .queue = {anna}}},
        {.name = "waits_for_a_sibling_of_the_same_process",
         .given = {.lock = sibling},
         .call = acquire(joins(me)),
         .expect =
             {.reply = is_list({nearly_20_s, 0, Gt(0)}), .lock = sibling, .ttl = 20'000, .queue = {me}}},
        {.name = "joins_the_queue_of_a_busy_lock",
         .given = {.lock = you},
         .call = acquire(joins(me)),
         .expect = {.reply = is_list({nearly_20_s, 0, Gt(0)}), .lock = you, .ttl = 20'000, .queue = {me}}},
        {.name = "joins_behind_all_others",
         .given = {.lock = you, .queue = {{ben, 20}, {anna, 10}}},
         .call = acquire(joins(me)),
         .expect = {.reply = is_list({nearly_20_s, 2, Gt(0)}),
                    .lock = you,
                    .ttl = 20'000,
                    .queue = {ben, anna, me}}},
        {.name = "joins_behind_others_whose_tickets_lie_in_the_future",
         .given = {.lock = you, .queue = {{anna, -60'000}, {ben, -70'000}}},
         .call = acquire(joins(me)),
         .expect = {.reply = is_list({nearly_20_s, 2, Gt(0)}),
                    .lock = you,
                    .ttl = 20'000,
                    .queue = {anna, ben, me}}},
        {.name = "keeps_its_place_though_it_comes_without_its_ticket",
         .given = {.lock = you, .queue = {{me, 30}, {anna, 10}}},
         .call = acquire(joins(me)),
         .expect =
             {.reply = is_list({nearly_20_s, 0, Gt(0)}), .lock = you, .ttl = 20'000, .queue = {me, anna}}},
        {.name = "gets_its_place_back_with_its_ticket",
         .given = {.lock = you, .queue = {{anna, 10}}},
         .call = acquire(joins(me, "1000")),
         .expect =
             {.reply = is_list({nearly_20_s, 0, 1'000}), .lock = you, .ttl = 20'000, .queue = {me, anna}}},
        {.name = "says_that_the_other_lock_has_no_ttl",
         .given = {.lock = "of another program", .ttl = no_ttl},
         .call = acquire(joins(me)),
         .expect =
             {.reply = is_list({-1, 0, Gt(0)}), .lock = "of another program", .ttl = no_ttl, .queue = {me}}},
        {.name = "is_refused_by_a_hash",
         .given = {.also = {{"HSET", "orders:42", "field", "1"}}},
         .call = acquire(joins(me)),
         .expect = {.reply = is_error("WRONGTYPE hash")},
         .again = expect{.reply = is_error("WRONGTYPE hash")}},
        {.name = "is_refused_by_a_stream",
         .given = {.also = {{"XADD", "orders:42", "*", "field", "1"}}},
         .call = acquire(asks(me)),
         .expect = {.reply = is_error("WRONGTYPE stream")}},
    }),
    name_of);

TEST(acquire_script_alone, starts_an_absent_counter_at_the_servers_time_in_microseconds) {
  auto raw = empty_server().raw();
  auto const before = micros_of(raw);
  auto const token = raw.command(eval(acquire(asks(me, 3)))).integer;
  EXPECT_THAT(token, AllOf(Gt(before), Le(micros_of(raw) + 1)));
  EXPECT_EQ(raw.get(names::token_counter(lock_name)), std::to_string(token + 2));
  EXPECT_THAT(raw.pttl(names::token_counter(lock_name)), AllOf(Gt(day - minute), Le(day)));
}

TEST(acquire_script_alone, gives_growing_tokens_after_the_counter_was_lost) {
  auto raw = empty_server().raw();
  auto const first = raw.command(eval(acquire(asks(me)))).integer;
  raw.command({"FLUSHALL"});
  EXPECT_GT(raw.command(eval(acquire(asks(me)))).integer, first);
}

TEST(acquire_script_alone, hands_out_the_time_of_joining_as_ticket) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = you});
  auto const before = micros_of(raw);
  auto const reply = raw.command(eval(acquire(joins(me))));
  EXPECT_THAT(reply, is_list({_, 0, AllOf(Ge(before), Le(micros_of(raw)))}));
  EXPECT_EQ(ticket_of(raw, me), std::to_string(reply.elements.at(2).integer));
}

TEST(acquire_script_alone, hands_out_a_ticket_that_is_one_more_than_the_last_when_clocks_went_back) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = you, .queue = {{anna, -60'000}}});
  auto const reply = raw.command(eval(acquire(joins(me))));
  EXPECT_EQ(reply.elements.at(2).integer, std::stoll(ticket_of(raw, anna)) + 1);
}

TEST(acquire_script_alone, answers_the_same_ticket_when_it_is_sent_twice) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = you});
  auto const first = raw.command(eval(acquire(joins(me))));
  auto const second = raw.command(eval(acquire(joins(me))));
  EXPECT_EQ(second.elements.at(2).integer, first.elements.at(2).integer);
}

TEST(acquire_script_alone, lets_the_queue_live_a_minute_after_the_last_who_asked) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = you, .queue = {{me}}, .also = {{"PEXPIRE", names::queue(lock_name), "5000"}}});
  raw.command(eval(acquire(joins(me))));
  EXPECT_THAT(raw.pttl(names::queue(lock_name)), AllOf(Gt(minute / 2), Le(minute)));
}

TEST(acquire_script_alone, takes_nothing_when_its_counter_is_of_another_type) {
  auto raw = empty_server().raw();
  raw.command({"HSET", names::token_counter(lock_name), "field", "1"});
  EXPECT_THAT(raw.command(eval(acquire(asks(me)))), is_error("WRONGTYPE"));
  EXPECT_FALSE(raw.exists(std::string{lock_name}));
}

TEST(acquire_script_alone, leaves_nothing_else_behind) {
  auto raw = empty_server().raw();
  raw.command(eval(acquire(asks(me))));
  EXPECT_THAT(raw.keys(),
              testing::UnorderedElementsAre(std::string{lock_name}, names::token_counter(lock_name)));
}

}  // namespace
