/// The scripts of a voting master.
#include "wire/plain/quorum.hpp"
#include "contract/contract.hpp"
#include "script/names.hpp"

namespace holdfast::contract::quorum_test {

using namespace std::chrono_literals;
using testing::_;

auto const& recipe = holdfast::recipes::plain::quorum;

holdfast::call votes(std::string_view owner, std::string_view ticket = {}, std::int64_t newest = 0,
                     int tokens = 1, std::uint64_t number = 0) {
  return recipe.acquire(lock_name, {.owner = owner,
                                    .ttl = 30s,
                                    .tokens = tokens,
                                    .join = !ticket.empty(),
                                    .ticket = ticket,
                                    .newest = newest,
                                    .number = number});
}
holdfast::call yields(std::string_view owner, std::string_view ticket = {}, std::uint64_t number = 1) {
  return recipe.votes->yield({lock_name, owner}, ticket, number);
}
holdfast::call leaves(std::string_view owner) { return recipe.votes->leave({lock_name, owner}); }
/// An earlier request with this number has been granted.
words marked(std::string_view owner, int number) {
  return {"SET", names::newest_ask(lock_name), std::string{owner} + ' ' + std::to_string(number)};
}
holdfast::call raises(std::string_view owner, std::int64_t token) {
  return recipe.votes->raise({lock_name, owner}, token);
}

holdfast::call releases(std::string_view owner) { return recipe.release({lock_name, owner}, {}); }
holdfast::call abandons(std::string_view owner) { return recipe.abandon({lock_name, owner}, {}); }

/// Long before the server's clock.
constexpr std::int64_t early = 1'000'000;

class quorum_scripts : public testing::TestWithParam<row> {};
TEST_P(quorum_scripts, keep_their_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    contract, quorum_scripts,
    testing::ValuesIn(std::vector<row>{
        {.name = "a_vote_takes_the_tokens_behind_the_counter",
         .given = {.counter = early},
         .call = votes(caller, {}, 0, 65),
         .expect = {.reply = is_list({early + 1, 65}), .lock = caller, .counter = early + 65},
         .again = expect{.reply = is_list({early + 66, 65}), .lock = caller}},
        {.name = "a_vote_takes_the_tokens_behind_the_newest_one_of_elsewhere",
         .given = {.counter = early},
         .call = votes(caller, {}, early + 1'000, 65),
         .expect = {.reply = is_list({early + 1'001, 65}), .lock = caller, .counter = early + 1'065},
         .again = expect{.reply = is_list({early + 1'066, 65}), .lock = caller}},
        {.name = "a_vote_takes_one_token_where_the_counter_is_ahead_of_the_clock",
         .given = {},
         .call = votes(caller, {}, early, 65),
         .expect = {.reply = is_list({last_token + 1, 1}), .lock = caller, .counter = last_token + 1},
         .again = expect{.reply = is_list({last_token + 2, 1}), .lock = caller}},
        {.name = "a_vote_is_denied_while_the_lock_is_held",
         .given = {.lock = rival},
         .call = votes(caller),
         .expect = {.reply = is_busy(_, -1, 0, rival), .lock = rival, .ttl = 20'000}},
        {.name = "a_vote_that_is_denied_keeps_the_place_that_it_brings",
         .given = {.lock = rival, .queue = {{anna, 5'000}}},
         .call = votes(caller, "1000"),
         .expect =
             {.reply = is_busy(_, 0, 1'000, rival), .lock = rival, .ttl = 20'000, .queue = {caller, anna}}},
        {.name = "a_counter_is_raised",
         .given = {.lock = caller, .counter = early},
         .call = raises(caller, early + 500),
         .expect = {.reply = is(early + 500), .lock = caller, .ttl = 20'000, .counter = early + 500}},
        {.name = "a_counter_is_never_lowered",
         .given = {.lock = caller},
         .call = raises(caller, early),
         .expect = {.reply = is(last_token), .lock = caller, .ttl = 20'000}},
        {.name = "a_counter_that_is_gone_is_made_again",
         .given = {.lock = caller, .counter = std::nullopt},
         .call = raises(caller, last_token),
         .expect = {.reply = is(last_token), .lock = caller, .ttl = 20'000}},
        {.name = "a_counter_is_raised_by_nobody_who_doesnt_have_the_vote",
         .given = {.lock = rival, .counter = early},
         .call = raises(caller, early + 500),
         .expect = {.reply = is(0), .lock = rival, .ttl = 20'000, .counter = early}},
        {.name = "a_vote_is_given_back_and_nobody_told",
         .given = {.lock = caller, .queue = {{anna, 5'000}}, .listening = {anna}},
         .call = yields(caller),
         .expect = {.reply = is(1), .queue = {anna}},
         .again = expect{.reply = is(0), .queue = {anna}}},
        {.name = "a_vote_is_given_back_for_the_place_in_the_queue",
         .given = {.lock = caller, .queue = {{anna, 5'000}}, .listening = {anna, caller}},
         .call = yields(caller, "1000"),
         .expect = {.reply = is(1), .queue = {caller, anna}},
         .again = expect{.reply = is(0), .queue = {caller, anna}}},
        {.name = "a_place_at_a_master_that_wasnt_needed_is_given_up",
         .given = {.lock = rival, .queue = {{caller, 6'000}, {anna, 5'000}}, .listening = {anna}},
         .call = yields(caller),
         .expect = {.reply = is(0), .lock = rival, .ttl = 20'000, .queue = {anna}}},
        {.name = "a_place_is_given_up_and_the_vote_left_alone",
         .given = {.lock = caller, .queue = {{caller, 6'000}, {anna, 5'000}}, .listening = {anna}},
         .call = leaves(caller),
         .expect = {.reply = is(1), .lock = caller, .ttl = 20'000, .queue = {anna}},
         .again = expect{.reply = is(0), .lock = caller, .ttl = 20'000, .queue = {anna}}},
        {.name = "a_vote_is_given_back_by_a_newer_request_than_took_it",
         .given = {.lock = caller, .setup = {marked(caller, 7)}},
         .call = yields(caller, {}, 8),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "a_vote_that_was_taken_again_is_not_given_back_by_a_late_copy",
         .given = {.lock = caller, .queue = {{anna, 5'000}}, .setup = {marked(caller, 7)}},
         .call = yields(caller, {}, 6),
         .expect = {.reply = is(0), .lock = caller, .ttl = 20'000, .queue = {anna}}},
        {.name = "a_place_that_was_taken_again_is_not_given_up_by_a_late_copy",
         .given = {.lock = rival, .queue = {{caller, 6'000}}, .setup = {marked(caller, 7)}},
         .call = yields(caller, {}, 6),
         .expect = {.reply = is(0), .lock = rival, .ttl = 20'000, .queue = {caller}}},
        {.name = "a_vote_is_given_back_whatever_others_asked",
         .given = {.lock = caller, .setup = {marked(rival, 7)}},
         .call = yields(caller, {}, 6),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "a_vote_is_not_taken_again_by_a_late_copy_of_an_ask",
         .given = {.setup = {marked(caller, 7)}},
         .call = votes(caller, {}, 0, 1, 6),
         .expect = {.reply = is_busy(-2, -1, 0, caller, -1, 0)}},
        {.name = "a_place_is_not_taken_again_by_a_late_copy_of_an_ask",
         .given = {.lock = rival, .setup = {marked(caller, 7)}},
         .call = votes(caller, "1000", 0, 1, 0),
         .expect = {.reply = is_busy(_, -1, 0, caller, -1, 0), .lock = rival, .ttl = 20'000}},
        {.name = "a_vote_is_taken_by_the_same_ask_sent_again",
         .given = {.counter = early, .setup = {marked(caller, 7)}},
         .call = votes(caller, {}, 0, 1, 7),
         .expect = {.reply = is_list({early + 1, 1}), .lock = caller, .counter = early + 1},
         .again = expect{.reply = is_list({early + 2, 1}), .lock = caller}},
        {.name = "a_vote_of_somebody_else_is_left_alone",
         .given = {.lock = rival, .queue = {{anna}}},
         .call = yields(caller, "1000"),
         .expect = {.reply = is(0), .lock = rival, .ttl = 20'000, .queue = {anna}}},
        {.name = "a_vote_that_is_released_is_kept_without_tokens_for_the_first_who_hears_it",
         .given = {.lock = caller, .queue = {{rival, 3}, {anna, 2}, {ben, 1}}, .listening = {anna, ben}},
         .call = releases(caller),
         .expect =
             {.reply = is(1), .lock = anna, .ttl = 500, .queue = {ben}, .messages = {granted(anna, 0, 0)}},
         .again = expect{.reply = is(-1), .lock = anna, .ttl = 500, .queue = {ben}}},
        {.name = "a_vote_that_is_released_with_nobody_waiting_is_free",
         .given = {.lock = caller},
         .call = releases(caller),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "a_vote_that_was_kept_is_taken_with_its_tokens",
         .given = {.lock = anna, .counter = early},
         .call = votes(anna, {}, early + 65, 65),
         .expect = {.reply = is_list({early + 66, 65}), .lock = anna, .counter = early + 130},
         .again = expect{.reply = is_list({early + 131, 65}), .lock = anna}},
        {.name = "a_vote_that_was_kept_goes_to_the_next_one_when_its_waiter_leaves",
         .given = {.lock = caller, .queue = {{anna, 2}, {ben, 1}}, .listening = {anna, ben}},
         .call = abandons(caller),
         .expect =
             {.reply = is(1), .lock = anna, .ttl = 500, .queue = {ben}, .messages = {granted(anna, 0, 0)}},
         .again = expect{.reply = is(0), .lock = anna, .ttl = 500, .queue = {ben}}},
        {.name = "a_waiter_that_leaves_takes_nothing_from_others",
         .given = {.lock = rival, .queue = {{caller, 2}, {anna, 1}}, .listening = {anna}},
         .call = abandons(caller),
         .expect = {.reply = is(0), .lock = rival, .ttl = 20'000, .queue = {anna}}},
    }),
    name_of);

}  // namespace holdfast::contract::quorum_test
