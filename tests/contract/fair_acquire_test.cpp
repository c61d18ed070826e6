#include "contract/rows_of_both_orders.hpp"
#include "script/names.hpp"

namespace holdfast::contract::fair_acquire_test {

using namespace std::chrono_literals;
namespace names = holdfast::names;
using testing::AllOf;
using testing::Gt;
using testing::Le;

auto const nearly_20_s = AllOf(Gt(10'000), Le(20'000));
auto const nearly_2_s = AllOf(Gt(1'000), Le(2'000));

class fair_acquire_script : public testing::TestWithParam<row> {};
TEST_P(fair_acquire_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(contract_of_both_orders, fair_acquire_script,
                         testing::ValuesIn(acquire_rows_of_both_orders(fair_acquire)), name_of);

INSTANTIATE_TEST_SUITE_P(
    contract, fair_acquire_script,
    testing::ValuesIn(std::vector<row>{
        {.name = "takes_a_free_lock_when_it_is_the_first",
         .given = {.queue = {{caller, 3}, {anna, 2}}, .listening = {anna}},
         .call = fair_acquire(join_request(caller)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = caller,
                    .counter = last_token + 1,
                    .queue = {anna}}},
        {.name = "takes_a_free_lock_when_it_was_first_though_it_had_to_leave_the_queue",
         .given = {.queue = {{anna, 2}}, .listening = {anna}},
         .call = fair_acquire(join_request(caller, "1000")),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = caller,
                    .counter = last_token + 1,
                    .queue = {anna}}},
        {.name = "takes_a_free_lock_when_it_has_waited_longest",
         .given = {.queue = {{anna, 2'000}}, .listening = {anna}},
         .call = fair_acquire(join_request_after(60s, caller)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .lock = caller,
                    .counter = last_token + 1,
                    .queue = {anna}}},
        {.name = "takes_a_free_lock_when_those_ahead_are_gone",
         .given = {.queue = {{anna, 3}, {ben, 2}}},
         .call = fair_acquire(join_request(caller)),
         .expect = {.reply = is_list({last_token + 3, 1}), .lock = caller, .counter = last_token + 3}},
        {.name = "takes_a_free_lock_that_it_only_asks_for_when_those_ahead_are_gone",
         .given = {.queue = {{anna, 3}}},
         .call = fair_acquire(try_request(caller)),
         .expect = {.reply = is_list({last_token + 2, 1}), .lock = caller, .counter = last_token + 2}},
        {.name = "grants_a_free_lock_to_the_first_and_gets_in_line",
         .given = {.queue = {{anna, 3}, {ben, 2}}, .listening = {anna, ben}},
         .call = fair_acquire(join_request(caller)),
         .expect = {.reply = is_busy(nearly_2_s, 1, Gt(0), anna, -1, last_token + 1),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {ben, caller},
                    .messages = {granted(anna, last_token + 1, 1)}},
         .again = expect{.reply = is_busy(nearly_2_s, 1, Gt(0), anna, -1, last_token + 1),
                         .lock = anna,
                         .ttl = 2'000,
                         .queue = {ben, caller}}},
        {.name = "grants_a_free_lock_to_the_first_that_lives",
         .given = {.queue = {{anna, 3}, {ben, 2}}, .listening = {ben}},
         .call = fair_acquire(join_request(caller)),
         .expect = {.reply = is_busy(nearly_2_s, 0, Gt(0), ben, -1, last_token + 2),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 2,
                    .queue = {caller},
                    .messages = {granted(ben, last_token + 2, 1)}}},
        {.name = "grants_a_free_lock_to_the_first_when_it_only_asks",
         .given = {.queue = {{anna, 3}}, .listening = {anna}},
         .call = fair_acquire(try_request(caller)),
         .expect = {.reply = is_busy(nearly_2_s, -1, 0, anna, -1, last_token + 1),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {granted(anna, last_token + 1, 1)}}},
        {.name = "grants_a_free_lock_to_one_whose_ticket_lies_in_the_future",
         .given = {.queue = {{anna, -60'000}}, .listening = {anna}},
         .call = fair_acquire(join_request(caller)),
         .expect = {.reply = is_busy(nearly_2_s, 0, Gt(0), anna, -1, last_token + 1),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {caller},
                    .messages = {granted(anna, last_token + 1, 1)}}},
        {.name = "takes_as_many_tokens_again_for_its_own_lock",
         .given = {.lock = caller, .ttl = 2'000},
         .call = fair_acquire(try_request(caller, 65)),
         .expect = {.reply = is_list({last_token + 1, 1}), .lock = caller, .counter = last_token + 1}},
        {.name = "joins_before_those_that_have_waited_less",
         .given = {.lock = rival, .queue = {{ben, 60'000}, {anna, 20'000}}},
         .call = fair_acquire(join_request_after(40s, caller)),
         .expect = {.reply = is_busy(nearly_20_s, 1, Gt(0), rival),
                    .lock = rival,
                    .ttl = 20'000,
                    .queue = {ben, caller, anna}}},
    }),
    name_of);

TEST(fair_acquire_script_alone, takes_a_free_lock_without_the_right_to_publish) {
  auto raw = empty_server().raw();
  prepare(raw, {.queue = {{anna}}});
  raw.command({"ACL", "SETUSER", "mute", "on", "nopass", "~*", "resetchannels", "+@all"});
  raw.command({"AUTH", "mute", "any"});
  EXPECT_THAT(raw.command(eval(fair_acquire(join_request(caller)))), is_list({last_token + 2, 1}));
  EXPECT_EQ(raw.get(std::string{lock_name}), caller);
  EXPECT_EQ(raw.command({"ZCARD", names::queue(lock_name)}).integer, 1) << "anna asks by herself";
}

TEST(fair_acquire_script_alone, leaves_nothing_behind_when_a_side_key_is_something_else) {
  expect_refused_without_a_change(fair_acquire, {"HSET", names::token_counter(lock_name), "field", "1"},
                                  "WRONGTYPE Operation");
  expect_refused_without_a_change(fair_acquire, {"SET", names::token_counter(lock_name), "many"},
                                  "WRONGTYPE the token counter is no number");
  expect_refused_without_a_change(fair_acquire, {"SET", names::queue(lock_name), "1"}, "WRONGTYPE Operation");
}

TEST(fair_acquire_script_alone, leaves_nothing_else_behind) {
  auto raw = empty_server().raw();
  raw.command(eval(fair_acquire(join_request(caller))));
  EXPECT_THAT(raw.keys(),
              testing::UnorderedElementsAre(std::string{lock_name}, names::token_counter(lock_name)));
}

}  // namespace holdfast::contract::fair_acquire_test
