#include "contract/contract.hpp"

namespace holdfast::contract::abandon_test {

constexpr std::int64_t starved = 15'000;  // milliseconds in the queue, beyond the limit of 10,000

class abandon_script : public testing::TestWithParam<row> {};
TEST_P(abandon_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    contract, abandon_script,
    testing::ValuesIn(std::vector<row>{
        {.name = "leaves_the_queue",
         .given = {.lock = rival, .queue = {{anna, 3}, {caller, 2}, {ben, 1}}, .listening = {anna, ben}},
         .call = abandon(caller),
         .expect = {.reply = is(0), .lock = rival, .ttl = 20'000, .queue = {anna, ben}}},
        {.name = "leaves_the_queue_of_a_free_lock_without_telling_anybody",
         .given = {.queue = {{caller, 2}, {anna, 1}}, .listening = {anna}},
         .call = abandon(caller),
         .expect = {.reply = is(0), .queue = {anna}},
         .again = expect{.reply = is(0), .messages = {woken(anna)}}},
        {.name = "passes_on_a_wake_up_that_it_did_not_use",
         .given = {.queue = {{anna, 2}, {ben, 1}}, .listening = {anna, ben}},
         .call = abandon(caller),
         .expect = {.reply = is(0), .queue = {ben}, .messages = {woken(anna)}},
         .again = expect{.reply = is(0), .messages = {woken(ben)}}},
        {.name = "passes_on_a_wake_up_as_a_grant_to_a_starved_waiter",
         .given = {.queue = {{anna, starved}}, .listening = {anna}},
         .call = abandon(caller),
         .expect = {.reply = is(0),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .messages = {granted(anna, last_token + 1, 1)}},
         .again = expect{.reply = is(0), .lock = anna, .ttl = 2'000}},
        {.name = "passes_nothing_on_when_somebody_else_was_faster",
         .given = {.lock = rival, .queue = {{anna}}, .listening = {anna}},
         .call = abandon(caller),
         .expect = {.reply = is(0), .lock = rival, .ttl = 20'000, .queue = {anna}}},
        {.name = "gives_a_grant_back",
         .given = {.lock = caller},
         .call = abandon(caller),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "gives_a_grant_back_to_the_next_waiter",
         .given = {.lock = caller, .queue = {{anna, starved}, {ben, 1}}, .listening = {anna, ben}},
         .call = abandon(caller),
         .expect = {.reply = is(1),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {ben},
                    .messages = {granted(anna, last_token + 1, 1)}},
         .again = expect{.reply = is(0), .lock = anna, .ttl = 2'000, .queue = {ben}}},
        {.name = "gives_the_lock_back_and_leaves_the_queue",
         .given = {.lock = caller, .queue = {{caller, 1}}, .listening = {caller}},
         .call = abandon(caller),
         .expect = {.reply = is(1)}},
        {.name = "leaves_a_key_of_another_type_alone",
         .given = {.queue = {{caller}, {anna}}, .listening = {anna}, .setup = {{"LPUSH", "orders:42", "1"}}},
         .call = abandon(caller),
         .expect = {.reply = is(0)}},
    }),
    name_of);

}  // namespace holdfast::contract::abandon_test
