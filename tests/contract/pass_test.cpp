#include "contract/contract.hpp"
#include "script/names.hpp"

namespace holdfast::contract::pass_test {

using testing::Gt;
namespace names = holdfast::names;

auto const nearly_2_s = testing::AllOf(Gt(1'000), testing::Le(2'000));

class pass_script : public testing::TestWithParam<row> {};
TEST_P(pass_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    contract, pass_script,
    testing::ValuesIn(std::vector<row>{
        {.name = "gives_the_lock_to_the_next_when_nobody_else_waits",
         .given = {.lock = caller},
         .call = pass(caller, sibling),
         .expect = {.reply = is_list({1, last_token + 1, 1}), .lock = sibling, .counter = last_token + 1},
         .again = expect{.reply = is_list({1, last_token + 2, 1}), .lock = sibling}},
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
        {.name = "does_nothing_for_the_next_when_the_lock_is_gone",
         .given = {.queue = {{anna}}, .listening = {anna}},
         .call = pass(caller, sibling),
         .expect = {.reply = is_list({0}), .queue = {anna}}},
        {.name = "does_nothing_for_the_next_when_the_lock_is_foreign",
         .given = {.lock = rival, .queue = {{anna}}, .listening = {anna}},
         .call = pass(caller, sibling),
         .expect = {.reply = is_list({-1}), .lock = rival, .ttl = 20'000, .queue = {anna}}},
        {.name = "leaves_a_key_of_another_type_alone",
         .given = {.setup = {{"SADD", "orders:42", "1"}}},
         .call = pass(caller, sibling),
         .expect = {.reply = is_list({-1})}},
        {.name = "finds_that_the_next_holds_already_and_gives_it_a_full_ttl",
         .given = {.lock = sibling, .ttl = 2'000, .queue = {{anna}}, .listening = {anna}},
         .call = pass(caller, sibling),
         .expect = {.reply = is_list({1, last_token + 1, 1}),
                    .lock = sibling,
                    .counter = last_token + 1,
                    .queue = {anna}}},
    }),
    name_of);

TEST(pass_script_alone, gives_the_lock_to_the_next_without_the_right_to_publish) {
  auto raw = empty_server().raw();
  prepare(raw, {.lock = caller, .queue = {{anna}}});
  raw.command({"ACL", "SETUSER", "mute", "on", "nopass", "~*", "resetchannels", "+@all"});
  raw.command({"AUTH", "mute", "any"});
  EXPECT_THAT(raw.command(eval(pass(caller, sibling))), is_list({1, last_token + 2, 1}));
  EXPECT_EQ(raw.get(std::string{lock_name}), sibling);
  EXPECT_EQ(raw.command({"ZCARD", names::queue(lock_name)}).integer, 1);
}

}  // namespace holdfast::contract::pass_test
