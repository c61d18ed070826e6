#include "contract/rows_of_both_orders.hpp"

namespace holdfast::contract::pass_test {

using testing::Gt;

auto const nearly_2_s = testing::AllOf(Gt(1'000), testing::Le(2'000));

call default_pass(std::string_view owner, std::string_view next) { return pass(owner, next); }

class pass_script : public testing::TestWithParam<row> {};
TEST_P(pass_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(contract_of_both_orders, pass_script,
                         testing::ValuesIn(pass_rows_of_both_orders(default_pass)), name_of);

INSTANTIATE_TEST_SUITE_P(
    contract, pass_script,
    testing::ValuesIn(std::vector<row>{
        {.name = "reserves_one_token_when_the_counter_is_ahead_of_the_servers_clock",
         .given = {.lock = caller},
         .call = pass(caller, sibling, 65),
         .expect = {.reply = is_list({1, last_token + 1, 1}), .lock = sibling, .counter = last_token + 1}},
        {.name = "gives_the_lock_to_the_next_when_all_others_are_gone",
         .given = {.lock = caller, .queue = {{anna, 2}, {ben, 1}}},
         .call = pass(caller, sibling),
         .expect = {.reply = is_list({1, last_token + 3, 1}), .lock = sibling, .counter = last_token + 3}},
        {.name = "grants_to_the_first_of_the_others_however_short_it_waits_and_queues_the_next_behind_them",
         .given = {.lock = caller, .queue = {{anna, 0}, {ben, -1}}, .listening = {anna, ben}},
         .call = pass(caller, sibling),
         .expect = {.reply = is_passed_on(nearly_2_s, 1, anna),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {ben, sibling},
                    .messages = {granted(anna, last_token + 1, 1)}},
         .again = expect{.reply = is_list({-1}), .lock = anna, .ttl = 2'000, .queue = {ben, sibling}}},
        {.name = "grants_to_the_first_of_the_others_that_lives",
         .given = {.lock = caller, .queue = {{anna, 2}, {ben, 1}}, .listening = {ben}},
         .call = pass(caller, sibling),
         .expect = {.reply = is_passed_on(nearly_2_s, 0, ben),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 2,
                    .queue = {sibling},
                    .messages = {granted(ben, last_token + 2, 1)}},
         .again = expect{.reply = is_list({-1}), .lock = ben, .ttl = 2'000, .queue = {sibling}}},
        {.name = "grants_to_one_whose_ticket_lies_in_the_future",
         .given = {.lock = caller, .queue = {{anna, -60'000}}, .listening = {anna}},
         .call = pass(caller, sibling),
         .expect = {.reply = is_passed_on(nearly_2_s, 0, anna),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {sibling},
                    .messages = {granted(anna, last_token + 1, 1)}}},
    }),
    name_of);

TEST(pass_script_alone, gives_the_lock_to_the_next_without_the_right_to_publish) {
  expect_passed_without_publishing(default_pass, {anna});
}

}  // namespace holdfast::contract::pass_test
