#include "contract/several.hpp"
#include "script/names.hpp"

namespace holdfast::contract::multi_acquire_test {

using testing::_;
using testing::AllOf;
using testing::Gt;
using testing::Le;

constexpr std::int64_t fresh = 1;            // milliseconds in a queue
constexpr std::int64_t goes_short = 15'000;  // keeps what it gets
constexpr std::int64_t pauses = 30'000;      // goes short, too, and keeps nothing for a while

one_name nobodys() { return {}; }
one_name mine(std::int64_t ttl = full_ttl, std::int64_t tokens = 0) {
  return {.lock = me, .ttl = ttl, .tokens = tokens};
}
one_name yours(std::vector<waiting> queue = {}) { return {.lock = you, .queue = std::move(queue)}; }
one_name waited_for(std::vector<waiting> queue) { return {.queue = std::move(queue)}; }

auto const nearly_20_s = AllOf(Gt(10'000), Le(20'000));

class multi_acquire_script : public testing::TestWithParam<several_row> {};
TEST_P(multi_acquire_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    contract, multi_acquire_script,
    testing::ValuesIn(std::vector<several_row>{
        {.name = "takes_all_that_are_free",
         .given = {},
         .call = acquire_all(asks(me)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .then = {mine(full_ttl, 1), mine(full_ttl, 1), mine(full_ttl, 1)}},
         .again = outcome{.reply = is_list({last_token + 2, 1}), .then = {mine(), mine(), mine()}}},
        {.name = "gives_all_the_token_behind_the_newest",
         .given = {one_name{.tokens = 2}, one_name{.tokens = 7}, one_name{.tokens = 5}},
         .call = acquire_all(asks(me)),
         .expect = {.reply = is_list({last_token + 8, 1}),
                    .then = {mine(full_ttl, 8), mine(full_ttl, 8), mine(full_ttl, 8)}}},
        {.name = "takes_what_is_its_own_already_and_the_rest",
         .given = {mine(2'000), nobodys(), mine(2'000)},
         .call = acquire_all(asks(me)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .then = {mine(full_ttl, 1), mine(full_ttl, 1), mine(full_ttl, 1)}}},
        {.name = "leaves_the_queue_when_it_takes_all",
         .given = {waited_for({{anna, 3}, {me, 2}}), waited_for({{ben, 1}}), nobodys()},
         .call = acquire_all(joins(me)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .then = {one_name{.lock = me, .ttl = full_ttl, .queue = {{anna}}, .tokens = 1},
                             one_name{.lock = me, .ttl = full_ttl, .queue = {{ben}}, .tokens = 1},
                             mine(full_ttl, 1)}}},
        {.name = "changes_nothing_when_it_only_asks_and_one_is_busy",
         .given = {waited_for({{anna, fresh}}), yours(), mine(2'000)},
         .listening = {anna},
         .call = acquire_all(asks(me)),
         .expect = {.reply = is_busy(nearly_20_s, -1, 0, you),
                    .then = {waited_for({{anna}}), yours(), mine(2'000)}}},
        {.name = "joins_the_queue_of_the_first_busy_one_and_takes_none",
         .given = {nobodys(), yours({{anna, fresh}}), yours()},
         .call = acquire_all(joins(me)),
         .expect = {.reply = is_busy(nearly_20_s, 1, Gt(0), you),
                    .then = {nobodys(), yours({{anna}, {me}}), yours()}}},
        {.name = "waits_for_a_sibling_of_the_same_process",
         .given = {one_name{.lock = sibling}, nobodys(), nobodys()},
         .call = acquire_all(joins(me)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), sibling),
                    .then = {one_name{.lock = sibling, .queue = {{me}}}, nobodys(), nobodys()}}},
        {.name = "moves_with_its_age_to_the_queue_of_what_is_busy_now",
         .given = {yours({{anna, 4'000}, {ben, 5}}), yours({{me, 2'000}}), nobodys()},
         .call = acquire_all(joins(me)),
         .expect = {.reply = is_busy(nearly_20_s, 1, Gt(0), you),
                    .then = {yours({{anna}, {me}, {ben}}), yours(), nobodys()}}},
        {.name = "tells_the_next_waiter_of_a_free_one_whose_queue_it_leaves",
         .given = {waited_for({{me, 10}, {anna, fresh}}), yours(), nobodys()},
         .listening = {anna},
         .call = acquire_all(joins(me)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), you),
                    .then = {nobodys(), yours({{me}}), nobodys()},
                    .messages = {woken(anna, "a")}}},
        {.name = "passes_on_the_wake_up_that_it_cannot_use",
         .given = {waited_for({{anna, fresh}}), yours(), nobodys()},
         .listening = {anna},
         .call = acquire_all(joins(me, "1000")),
         .expect = {.reply = is_busy(_, 0, 1'000, you),
                    .then = {nobodys(), yours({{me}}), nobodys()},
                    .messages = {woken(anna, "a")}}},
        {.name = "passes_nothing_on_when_it_comes_for_the_first_time",
         .given = {waited_for({{anna, fresh}}), yours(), nobodys()},
         .listening = {anna},
         .call = acquire_all(joins(me)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), you),
                    .then = {waited_for({{anna}}), yours({{me}}), nobodys()}}},
        {.name = "gives_back_what_it_was_granted_while_another_is_busy",
         .given = {mine(2'000), yours(), one_name{.lock = me, .ttl = 2'000, .queue = {{anna, goes_short}}}},
         .listening = {anna},
         .call = acquire_all(joins(me)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), you),
                    .then = {nobodys(), yours({{me}}), one_name{.lock = anna, .ttl = 2'000, .tokens = 1}},
                    .messages = {granted(anna, last_token + 1, 1, "c")}}},
        {.name = "keeps_those_before_the_busy_one_when_it_goes_short_and_asks_to_come_back_soon",
         .given = {nobodys(), mine(1'000), yours({{me, goes_short}})},
         .call = acquire_all(joins(me)),
         .expect = {.reply = is_busy(AllOf(Gt(0), Le(500)), 0, Gt(0), you),
                    .then = {mine(2'000), mine(2'000), yours({{me}})}}},
        {.name = "comes_back_the_sooner_the_more_wait_before_it",
         .given = {nobodys(), nobodys(),
                   yours({{anna, 4 * goes_short}, {ben, 3 * goes_short}, {me, goes_short}})},
         .call = acquire_all(joins(me)),
         .expect = {.reply = is_busy(496, 2, Gt(0), you),
                    .then = {mine(2'000), mine(2'000), yours({{anna}, {ben}, {me}})}}},
        {.name = "keeps_none_behind_the_busy_one_even_when_it_goes_short",
         .given = {nobodys(), yours({{me, goes_short}}), one_name{.lock = me, .queue = {{anna, fresh}}}},
         .listening = {anna},
         .call = acquire_all(joins(me)),
         .expect = {.reply = is_busy(Le(500), 0, Gt(0), you),
                    .then = {mine(2'000), yours({{me}}), nobodys()},
                    .messages = {woken(anna, "c")}}},
        {.name = "keeps_none_in_the_phases_between",
         .given = {mine(2'000), nobodys(), yours({{me, pauses}})},
         .call = acquire_all(joins(me)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), you),
                    .then = {nobodys(), nobodys(), yours({{me}})}}},
    }),
    title_of);

class multi_acquire_script_alone : public testing::Test {
 protected:
  /// Refused for each way to ask, and every key as it was.
  void expect_refused(words const& spoil, std::string const& error) {
    for (auto const& how : {asks(me), joins(me), joins(me, "1000")}) {
      auto raw = empty_server().raw();
      raw.command({"SET", "a", std::string{me}, "PX", "5000"});
      raw.command(spoil);
      auto const before = raw.keys();
      EXPECT_THAT(raw.command(eval(acquire_all(how))), is_error(error)) << spoil[0];
      EXPECT_THAT(raw.keys(), testing::UnorderedElementsAreArray(before));
      EXPECT_THAT(raw.pttl("a"), Le(5'000));
    }
  }
};

TEST_F(multi_acquire_script_alone, names_the_key_that_is_no_lock) {
  expect_refused({"HSET", "b", "field", "1"}, "WRONGTYPE hash b");
}

TEST_F(multi_acquire_script_alone, names_the_lock_whose_side_keys_are_something_else) {
  namespace names = holdfast::names;
  expect_refused({"HSET", names::token_counter("c"), "field", "1"}, "WRONGTYPE beside c");
  expect_refused({"SET", names::token_counter("b"), "many"}, "WRONGTYPE beside b");
  expect_refused({"SET", names::queue("b"), "1"}, "WRONGTYPE beside b");
}

TEST_F(multi_acquire_script_alone, takes_a_block_of_tokens_that_ends_at_the_servers_clock) {
  namespace names = holdfast::names;
  auto raw = empty_server().raw();
  raw.command({"SET", names::token_counter("b"), "1000"});
  auto const reply = raw.command(eval(acquire_all(asks(me, 65))));
  ASSERT_THAT(reply, is_list({Gt(1'000), 65}));
  auto const last = std::to_string(reply.elements[0].integer + 64);
  for (auto const name : three_names) EXPECT_EQ(raw.get(names::token_counter(name)), last) << name;
}

}  // namespace holdfast::contract::multi_acquire_test
