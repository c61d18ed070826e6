#include "contract/several.hpp"
#include "script/names.hpp"

namespace holdfast::contract::multi_acquire_test {

using testing::_;
using testing::AllOf;
using testing::Gt;
using testing::Le;

constexpr std::int64_t fresh = 1;          // milliseconds in a queue
constexpr std::int64_t starving = 15'000;  // starved: keeps the locks that it gets
constexpr std::int64_t pausing = 30'000;   // starved too, but keeps nothing for a while

name_state free_lock() { return {}; }
name_state held_by_caller(std::int64_t ttl = full_ttl, std::int64_t tokens = 0) {
  return {.lock = caller, .ttl = ttl, .tokens = tokens};
}
name_state held_by_rival(std::vector<waiter> queue = {}) {
  return {.lock = rival, .queue = std::move(queue)};
}
name_state free_with_queue(std::vector<waiter> queue) { return {.queue = std::move(queue)}; }

auto const nearly_20_s = AllOf(Gt(10'000), Le(20'000));

class multi_acquire_script : public testing::TestWithParam<several_row> {};
TEST_P(multi_acquire_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    contract, multi_acquire_script,
    testing::ValuesIn(std::vector<several_row>{
        {.name = "takes_all_that_are_free",
         .given = {},
         .call = acquire_all(try_request(caller)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .after = {held_by_caller(full_ttl, 1), held_by_caller(full_ttl, 1),
                              held_by_caller(full_ttl, 1)}},
         .again = outcome{.reply = is_list({last_token + 2, 1}),
                          .after = {held_by_caller(), held_by_caller(), held_by_caller()}}},
        {.name = "gives_all_the_token_behind_the_newest",
         .given = {name_state{.tokens = 2}, name_state{.tokens = 7}, name_state{.tokens = 5}},
         .call = acquire_all(try_request(caller)),
         .expect = {.reply = is_list({last_token + 8, 1}),
                    .after = {held_by_caller(full_ttl, 8), held_by_caller(full_ttl, 8),
                              held_by_caller(full_ttl, 8)}}},
        {.name = "takes_what_is_its_own_already_and_the_rest",
         .given = {held_by_caller(2'000), free_lock(), held_by_caller(2'000)},
         .call = acquire_all(try_request(caller)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .after = {held_by_caller(full_ttl, 1), held_by_caller(full_ttl, 1),
                              held_by_caller(full_ttl, 1)}}},
        {.name = "leaves_the_queue_when_it_takes_all",
         .given = {free_with_queue({{anna, 3}, {caller, 2}}), free_with_queue({{ben, 1}}), free_lock()},
         .call = acquire_all(join_request(caller)),
         .expect = {.reply = is_list({last_token + 1, 1}),
                    .after = {name_state{.lock = caller, .ttl = full_ttl, .queue = {{anna}}, .tokens = 1},
                              name_state{.lock = caller, .ttl = full_ttl, .queue = {{ben}}, .tokens = 1},
                              held_by_caller(full_ttl, 1)}}},
        {.name = "changes_nothing_when_it_only_asks_and_one_is_busy",
         .given = {free_with_queue({{anna, fresh}}), held_by_rival(), held_by_caller(2'000)},
         .listening = {anna},
         .call = acquire_all(try_request(caller)),
         .expect = {.reply = is_busy(nearly_20_s, -1, 0, rival),
                    .after = {free_with_queue({{anna}}), held_by_rival(), held_by_caller(2'000)}}},
        {.name = "joins_the_queue_of_the_first_busy_one_and_takes_none",
         .given = {free_lock(), held_by_rival({{anna, fresh}}), held_by_rival()},
         .call = acquire_all(join_request(caller)),
         .expect = {.reply = is_busy(nearly_20_s, 1, Gt(0), rival),
                    .after = {free_lock(), held_by_rival({{anna}, {caller}}), held_by_rival()}}},
        {.name = "waits_for_a_sibling_of_the_same_process",
         .given = {name_state{.lock = sibling}, free_lock(), free_lock()},
         .call = acquire_all(join_request(caller)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), sibling),
                    .after = {name_state{.lock = sibling, .queue = {{caller}}}, free_lock(), free_lock()}}},
        {.name = "moves_with_its_age_to_the_queue_of_what_is_busy_now",
         .given = {held_by_rival({{anna, 4'000}, {ben, 5}}), held_by_rival({{caller, 2'000}}), free_lock()},
         .call = acquire_all(join_request(caller)),
         .expect = {.reply = is_busy(nearly_20_s, 1, Gt(0), rival),
                    .after = {held_by_rival({{anna}, {caller}, {ben}}), held_by_rival(), free_lock()}}},
        {.name = "lets_readers_in_that_waited_behind_it_in_the_queue_that_it_leaves",
         .given = {held_by_rival(),
                   name_state{.lock = names::held_by_readers, .queue = {{caller, 10}, {anna_reads, fresh}}},
                   free_lock()},
         .listening = {anna},
         .call = acquire_all(join_request(caller)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), rival),
                    .after = {held_by_rival({{caller}}),
                              name_state{.lock = names::held_by_readers, .ttl = 2'000, .tokens = 1},
                              free_lock()},
                    .messages = {granted(anna, last_token + 1, 1, "b")}}},
        {.name = "tells_the_next_waiter_of_a_free_one_whose_queue_it_leaves",
         .given = {free_with_queue({{caller, 10}, {anna, fresh}}), held_by_rival(), free_lock()},
         .listening = {anna},
         .call = acquire_all(join_request(caller)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), rival),
                    .after = {free_lock(), held_by_rival({{caller}}), free_lock()},
                    .messages = {woken(anna, "a")}}},
        {.name = "passes_on_the_wake_up_that_it_cannot_use",
         .given = {free_with_queue({{anna, fresh}}), held_by_rival(), free_lock()},
         .listening = {anna},
         .call = acquire_all(join_request(caller, "1000")),
         .expect = {.reply = is_busy(_, 0, 1'000, rival),
                    .after = {free_lock(), held_by_rival({{caller}}), free_lock()},
                    .messages = {woken(anna, "a")}}},
        {.name = "passes_nothing_on_when_it_comes_for_the_first_time",
         .given = {free_with_queue({{anna, fresh}}), held_by_rival(), free_lock()},
         .listening = {anna},
         .call = acquire_all(join_request(caller)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), rival),
                    .after = {free_with_queue({{anna}}), held_by_rival({{caller}}), free_lock()}}},
        {.name = "gives_back_what_it_was_granted_while_another_is_busy",
         .given = {held_by_caller(2'000), held_by_rival(),
                   name_state{.lock = caller, .ttl = 2'000, .queue = {{anna, starving}}}},
         .listening = {anna},
         .call = acquire_all(join_request(caller)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), rival),
                    .after = {free_lock(), held_by_rival({{caller}}),
                              name_state{.lock = anna, .ttl = 2'000, .tokens = 1}},
                    .messages = {granted(anna, last_token + 1, 1, "c")}}},
        {.name = "keeps_those_before_the_busy_one_when_it_goes_short_and_asks_to_come_back_soon",
         .given = {free_lock(), held_by_caller(1'000), held_by_rival({{caller, starving}})},
         .call = acquire_all(join_request(caller)),
         .expect = {.reply = is_busy(AllOf(Gt(0), Le(500)), 0, Gt(0), rival),
                    .after = {held_by_caller(2'000), held_by_caller(2'000), held_by_rival({{caller}})}}},
        {.name = "comes_back_the_sooner_the_more_wait_before_it",
         .given = {free_lock(), free_lock(),
                   held_by_rival({{anna, 4 * starving}, {ben, 3 * starving}, {caller, starving}})},
         .call = acquire_all(join_request(caller)),
         .expect = {.reply = is_busy(496, 2, Gt(0), rival),
                    .after = {held_by_caller(2'000), held_by_caller(2'000),
                              held_by_rival({{anna}, {ben}, {caller}})}}},
        {.name = "keeps_none_behind_the_busy_one_even_when_it_goes_short",
         .given = {free_lock(), held_by_rival({{caller, starving}}),
                   name_state{.lock = caller, .queue = {{anna, fresh}}}},
         .listening = {anna},
         .call = acquire_all(join_request(caller)),
         .expect = {.reply = is_busy(Le(500), 0, Gt(0), rival),
                    .after = {held_by_caller(2'000), held_by_rival({{caller}}), free_lock()},
                    .messages = {woken(anna, "c")}}},
        {.name = "keeps_none_in_the_phases_between",
         .given = {held_by_caller(2'000), free_lock(), held_by_rival({{caller, pausing}})},
         .call = acquire_all(join_request(caller)),
         .expect = {.reply = is_busy(nearly_20_s, 0, Gt(0), rival),
                    .after = {free_lock(), free_lock(), held_by_rival({{caller}})}}},
    }),
    title_of);

class multi_acquire_script_alone : public testing::Test {
 protected:
  /// Expects each kind of request to be refused, with no key changed.
  void expect_refused(words const& spoil, std::string const& error) {
    for (auto const& request : {try_request(caller), join_request(caller), join_request(caller, "1000")}) {
      auto raw = empty_server().raw();
      raw.command({"SET", "a", std::string{caller}, "PX", "5000"});
      raw.command(spoil);
      auto const before = raw.keys();
      EXPECT_THAT(raw.command(eval(acquire_all(request))), is_error(error)) << spoil[0];
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
  auto const reply = raw.command(eval(acquire_all(try_request(caller, 65))));
  ASSERT_THAT(reply, is_list({Gt(1'000), 65}));
  auto const last = std::to_string(reply.elements[0].integer + 64);
  for (auto const name : three_names) EXPECT_EQ(raw.get(names::token_counter(name)), last) << name;
}

}  // namespace holdfast::contract::multi_acquire_test
