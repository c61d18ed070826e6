#include "contract/rows_of_both_orders.hpp"
#include "script/names.hpp"

namespace holdfast::contract::fair_pass_test {

using namespace std::chrono_literals;
using testing::Gt;
namespace names = holdfast::names;

auto const nearly_2_s = testing::AllOf(Gt(1'000), testing::Le(2'000));

call default_pass(std::string_view owner, std::string_view next) { return fair_pass(owner, next); }

class fair_pass_script : public testing::TestWithParam<row> {};
TEST_P(fair_pass_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(contract_of_both_orders, fair_pass_script,
                         testing::ValuesIn(pass_rows_of_both_orders(default_pass)), name_of);

INSTANTIATE_TEST_SUITE_P(
    contract, fair_pass_script,
    testing::ValuesIn(std::vector<row>{
        {.name = "gives_the_lock_to_the_next_when_it_has_waited_longest",
         .given = {.lock = caller, .queue = {{anna, 20'000}}, .listening = {anna}},
         .call = fair_pass(caller, sibling, 60s),
         .expect = {.reply = is_list({1, last_token + 1, 1}),
                    .lock = sibling,
                    .counter = last_token + 1,
                    .queue = {anna}}},
        {.name = "gives_the_lock_to_the_next_when_those_before_it_are_gone",
         .given = {.lock = caller, .queue = {{anna, 60'000}, {ben, 20'000}}, .listening = {ben}},
         .call = fair_pass(caller, sibling, 40s),
         .expect = {.reply = is_list({1, last_token + 2, 1}),
                    .lock = sibling,
                    .counter = last_token + 2,
                    .queue = {ben}}},
        {.name = "grants_to_the_one_that_has_waited_longest_and_queues_the_next_in_its_place",
         .given = {.lock = caller, .queue = {{anna, 60'000}, {ben, 20'000}}, .listening = {anna, ben}},
         .call = fair_pass(caller, sibling, 40s),
         .expect = {.reply = is_passed_on(nearly_2_s, 0, anna, last_token + 1),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {sibling, ben},
                    .messages = {granted(anna, last_token + 1, 1)}},
         .again = expect{.reply = is_list({-1}), .lock = anna, .ttl = 2'000, .queue = {sibling, ben}}},
        {.name = "grants_to_the_first_that_lives",
         .given = {.lock = caller, .queue = {{anna, 60'000}, {ben, 50'000}}, .listening = {ben}},
         .call = fair_pass(caller, sibling, 40s),
         .expect = {.reply = is_passed_on(nearly_2_s, 0, ben, last_token + 2),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 2,
                    .queue = {sibling},
                    .messages = {granted(ben, last_token + 2, 1)}}},
        {.name = "grants_to_one_whose_ticket_lies_in_the_future",
         .given = {.lock = caller, .queue = {{anna, -60'000}}, .listening = {anna}},
         .call = fair_pass(caller, sibling, 0s),
         .expect = {.reply = is_passed_on(nearly_2_s, 0, anna, last_token + 1),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {sibling},
                    .messages = {granted(anna, last_token + 1, 1)}}},
    }),
    name_of);

TEST(fair_pass_script_alone, gives_the_lock_to_the_next_without_the_right_to_publish) {
  expect_passed_without_publishing(default_pass, {anna, 60'000});
}

TEST(fair_pass_script_alone, changes_nothing_when_a_side_key_is_something_else) {
  for (auto const& spoil :
       {words{"SET", names::queue(lock_name), "1"}, words{"SET", names::token_counter(lock_name), "many"}}) {
    auto raw = empty_server().raw();
    prepare(raw, {.lock = caller, .counter = {}, .setup = {spoil}});
    EXPECT_THAT(raw.command(eval(fair_pass(caller, sibling))), is_error("WRONGTYPE"));
    EXPECT_EQ(raw.get(std::string{lock_name}), caller);
  }
}

}  // namespace holdfast::contract::fair_pass_test
