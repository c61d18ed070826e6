// The ends and renewals of leases of several names: release, abandon, pass, renew.

#include "contract/several.hpp"
#include "script/names.hpp"

namespace holdfast::contract::multi_release_test {

using testing::AllOf;
using testing::Gt;
using testing::Le;

constexpr std::int64_t starved = 15'000;

name_state free_lock() { return {}; }
name_state held_by(std::string_view owner, std::vector<waiter> queue = {}) {
  return {.lock = owner, .queue = std::move(queue)};
}
name_state held_by_next(std::int64_t tokens) { return {.lock = sibling, .ttl = full_ttl, .tokens = tokens}; }

class multi_release_script : public testing::TestWithParam<several_row> {};
TEST_P(multi_release_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    contract, multi_release_script,
    testing::ValuesIn(std::vector<several_row>{
        {.name = "deletes_all_when_nobody_waits",
         .given = {held_by(caller), held_by(caller), held_by(caller)},
         .call = release_all(caller),
         .expect = {.reply = is(1)},
         .again = outcome{.reply = is(0)}},
        {.name = "tells_the_first_waiter_of_each",
         .given = {held_by(caller, {{anna, 2}, {ben, 1}}), held_by(caller), held_by(caller, {{ben, 1}})},
         .listening = {anna, ben},
         .call = release_all(caller),
         .expect = {.reply = is(1),
                    .after = {name_state{.queue = {{ben}}}, free_lock(), free_lock()},
                    .messages = {woken(anna, "a"), woken(ben, "c")}}},
        {.name = "grants_each_to_a_starved_waiter",
         .given = {held_by(caller, {{anna, starved}}), held_by(caller, {{ben, starved}}), held_by(caller)},
         .listening = {anna, ben},
         .call = release_all(caller),
         .expect = {.reply = is(1),
                    .after = {name_state{.lock = anna, .ttl = 2'000, .tokens = 1},
                              name_state{.lock = ben, .ttl = 2'000, .tokens = 1}, free_lock()},
                    .messages = {granted(anna, last_token + 1, 1, "a"),
                                 granted(ben, last_token + 1, 1, "b")}},
         .again = outcome{.reply = is(-1),
                          .after = {name_state{.lock = anna, .ttl = 2'000},
                                    name_state{.lock = ben, .ttl = 2'000}, free_lock()}}},
        {.name = "gives_back_the_others_when_one_is_gone",
         .given = {held_by(caller), free_lock(), held_by(caller, {{anna, 1}})},
         .listening = {anna},
         .call = release_all(caller),
         .expect = {.reply = is(0), .messages = {woken(anna, "c")}}},
        {.name = "gives_back_the_others_when_one_is_foreign",
         .given = {held_by(rival, {{anna, 1}}), held_by(caller), held_by(caller)},
         .listening = {anna},
         .call = release_all(caller),
         .expect = {.reply = is(-1), .after = {held_by(rival, {{anna}}), free_lock(), free_lock()}}},
    }),
    title_of);

class multi_abandon_script : public testing::TestWithParam<several_row> {};
TEST_P(multi_abandon_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    contract, multi_abandon_script,
    testing::ValuesIn(std::vector<several_row>{
        {.name = "leaves_the_queue_and_tells_nobody",
         .given = {name_state{.queue = {{anna, 1}}}, held_by(rival, {{caller, 2}, {ben, 1}}), free_lock()},
         .listening = {anna, ben},
         .call = abandon_all(caller),
         .expect = {.reply = is(0),
                    .after = {name_state{.queue = {{anna}}}, held_by(rival, {{ben}}), free_lock()}},
         .again = outcome{.reply = is(0),
                          .after = {free_lock(), held_by(rival, {{ben}}), free_lock()},
                          .messages = {woken(anna, "a")}}},
        {.name = "lets_readers_in_that_waited_behind_it",
         .given = {free_lock(), held_by(names::held_by_readers, {{caller, 2}, {anna_reads, 1}}), free_lock()},
         .listening = {anna},
         .call = abandon_all(caller),
         .expect = {.reply = is(0),
                    .after = {free_lock(),
                              name_state{.lock = names::held_by_readers, .ttl = 2'000, .tokens = 1},
                              free_lock()},
                    .messages = {granted(anna, last_token + 1, 1, "b")}}},
        {.name = "passes_on_a_wake_up_that_it_did_not_use",
         .given = {held_by(rival, {{ben, 1}}), name_state{.queue = {{anna, 1}}}, free_lock()},
         .listening = {anna, ben},
         .call = abandon_all(caller),
         .expect = {.reply = is(0),
                    .after = {held_by(rival, {{ben}}), free_lock(), free_lock()},
                    .messages = {woken(anna, "b")}}},
        {.name = "gives_back_what_it_was_granted_or_kept_and_tells_those_who_wait",
         .given = {held_by(caller, {{anna, 1}}), held_by(caller, {{ben, starved}}),
                   held_by(rival, {{caller, 5}})},
         .listening = {anna, ben},
         .call = abandon_all(caller),
         .expect = {.reply = is(1),
                    .after = {free_lock(), name_state{.lock = ben, .ttl = 2'000, .tokens = 1},
                              held_by(rival)},
                    .messages = {woken(anna, "a"), granted(ben, last_token + 1, 1, "b")}},
         .again = outcome{.reply = is(0),
                          .after = {free_lock(), name_state{.lock = ben, .ttl = 2'000}, held_by(rival)}}},
        {.name = "gives_all_back",
         .given = {held_by(caller), held_by(caller), held_by(caller)},
         .call = abandon_all(caller),
         .expect = {.reply = is(1)},
         .again = outcome{.reply = is(0)}},
    }),
    title_of);

class multi_pass_script : public testing::TestWithParam<several_row> {};
TEST_P(multi_pass_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    contract, multi_pass_script,
    testing::ValuesIn(std::vector<several_row>{
        {.name = "gives_all_to_the_next_when_nobody_else_waits",
         .given = {held_by(caller), held_by(caller), held_by(caller)},
         .call = pass_all(caller, sibling),
         .expect = {.reply = is_list({1, last_token + 1, 1}),
                    .after = {held_by_next(1), held_by_next(1), held_by_next(1)}},
         .again = outcome{.reply = is_list({1, last_token + 2, 1}),
                          .after = {held_by_next(0), held_by_next(0), held_by_next(0)}}},
        {.name = "gives_all_to_the_next_when_the_others_are_gone",
         .given = {held_by(caller), held_by(caller, {{anna, 2}}), held_by(caller)},
         .call = pass_all(caller, sibling),
         .expect = {.reply = is_list({1, last_token + 2, 1}),
                    .after = {held_by_next(2), held_by_next(2), held_by_next(2)}}},
        {.name = "grants_one_to_who_waits_for_it_and_queues_the_next_behind",
         .given = {held_by(caller), held_by(caller, {{anna, 2}, {ben, 1}}), held_by(caller)},
         .listening = {anna, ben},
         .call = pass_all(caller, sibling),
         .expect = {.reply = testing::Field("elements", &raw_reply::elements, testing::SizeIs(7)),
                    .after = {free_lock(),
                              name_state{
                                  .lock = anna, .ttl = 2'000, .queue = {{ben}, {sibling}}, .tokens = 1},
                              free_lock()},
                    .messages = {granted(anna, last_token + 1, 1, "b")}},
         .again = outcome{.reply = is_list({0}),
                          .after = {free_lock(),
                                    name_state{.lock = anna, .ttl = 2'000, .queue = {{ben}, {sibling}}},
                                    free_lock()}}},
        {.name = "does_nothing_for_the_next_when_one_is_foreign",
         .given = {held_by(caller, {{anna, 1}}), held_by(rival), held_by(caller)},
         .listening = {anna},
         .call = pass_all(caller, sibling),
         .expect = {.reply = is_list({-1}),
                    .after = {name_state{.lock = anna, .ttl = 2'000, .tokens = 1}, held_by(rival),
                              free_lock()},
                    .messages = {granted(anna, last_token + 1, 1, "a")}},
         .again = outcome{.reply = is_list({-1}),
                          .after = {name_state{.lock = anna, .ttl = 2'000}, held_by(rival), free_lock()}}},
        {.name = "does_nothing_for_the_next_when_one_is_gone",
         .given = {held_by(caller), held_by(caller), free_lock()},
         .call = pass_all(caller, sibling),
         .expect = {.reply = is_list({0})}},
    }),
    title_of);

class multi_renew_script : public testing::Test {
 protected:
  raw_redis raw_ = empty_server().raw();

  void hold(std::string const& name, std::string_view owner) {
    raw_.command({"SET", name, std::string{owner}, "PX", "5000"});
  }
  auto is_renewed(std::string const& name) { return raw_.pttl(name) > full_ttl / 2; }
};

TEST_F(multi_renew_script, renews_all_names_of_each_lease) {
  for (auto const* const name : {"a", "b", "c"}) hold(name, caller);
  hold("d", rival);
  EXPECT_THAT(raw_.command(eval(renew_all({{{"a", "b", "c"}, caller}, {{"d"}, rival}}))), is_list({}));
  for (auto const* const name : {"a", "b", "c", "d"}) EXPECT_TRUE(is_renewed(name)) << name;
}

TEST_F(multi_renew_script, tells_which_leases_have_lost_a_name_and_renews_none_of_theirs) {
  for (auto const* const name : {"a", "c", "e", "f"}) hold(name, caller);
  hold("d", rival);
  raw_.command({"RPUSH", "list", "1"});
  // One name is gone, one has another owner, one lease is whole, one key is not a lock.
  auto const renewal =
      renew_all({{{"a", "b"}, caller}, {{"c", "d"}, caller}, {{"e"}, caller}, {{"f", "list"}, caller}});
  for (auto round = 0; round < 2; ++round) {
    EXPECT_THAT(raw_.command(eval(renewal)), is_list({1, -2, -4}));
    EXPECT_TRUE(is_renewed("e"));
    for (auto const* const name : {"a", "c", "d", "f"}) EXPECT_FALSE(is_renewed(name)) << name;
  }
  EXPECT_FALSE(raw_.exists("b"));
}

}  // namespace holdfast::contract::multi_release_test
