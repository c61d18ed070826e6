#include "scripts/inspect.hpp"
#include "contract/contract.hpp"
#include "inspect/states.hpp"
#include "inspect/view.hpp"
#include "script/names.hpp"

namespace holdfast::contract::inspect_test {

namespace lua = holdfast::scripts::inspect;
namespace names = holdfast::names;

holdfast::call ask_call(std::string_view owner, std::string_view mode = "ask") {
  auto const request_key = names::asked(lock_name, owner);
  return lua::ask{.lock = {lock_name}, .asked = {request_key}, .owner = owner, .mode = mode}();
}

holdfast::call force(std::string_view owner) {
  return lua::force{.lock = {lock_name},
                    .counter = {counter_key},
                    .queue = {queue_key},
                    .owner = owner,
                    .grant_ms = 2000,
                    .publish = "PUBLISH"}();
}

holdfast::call look_call(std::int64_t queue_entries = 0) {
  return holdfast::inspection::look_at(lock_name, holdfast::engine::publishing::counted, queue_entries);
}

std::string asked_message(std::string_view owner) {
  return names::hints(owner.substr(0, 36)) + " asked " + std::string{owner.substr(37)};
}

auto const clock_now = is_number(testing::Gt(1'700'000'000'000'000));

/// What a leader has said.
std::vector<words> said_by(std::string_view owner, std::string_view next = rival) {
  return {{"HSET", names::leader(lock_name), "owner", std::string{owner}, "term", "7", "value", "old", "next",
           std::string{next}}};
}

/// The reply of `state` with an empty queue.
testing::Matcher<raw_reply const&> is_state(std::string const& type, std::string_view holder,
                                            testing::Matcher<std::int64_t> const& pttl,
                                            std::int64_t counter) {
  return is_array(
      {is_text(type), is_text(holder), is_number(pttl), is(counter), is(0), clock_now, is_array({})});
}

auto const nearly_20_s = testing::AllOf(testing::Gt(10'000), testing::Le(20'000));

class state_script : public testing::TestWithParam<row> {};
TEST_P(state_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    contract, state_script,
    testing::ValuesIn(std::vector<row>{
        {.name = "shows_a_free_lock",
         .call = look_call(),
         .expect = {.reply = is_state("none", "", -2, last_token)}},
        {.name = "shows_that_there_never_was_one",
         .given = {.counter = {}},
         .call = look_call(),
         .expect = {.reply = is_state("none", "", -2, 0), .counter = {}}},
        {.name = "shows_a_held_lock",
         .given = {.lock = caller},
         .call = look_call(),
         .expect = {.reply = is_state("string", caller, nearly_20_s, last_token),
                    .lock = caller,
                    .ttl = 20'000}},
        {.name = "shows_a_foreign_lock_without_a_ttl",
         .given = {.lock = "somebody", .ttl = no_ttl},
         .call = look_call(),
         .expect = {.reply = is_state("string", "somebody", -1, last_token),
                    .lock = "somebody",
                    .ttl = no_ttl}},
        {.name = "shows_a_key_that_is_no_lock",
         .given = {.setup = {{"HSET", lock_key, "field", "value"}}},
         .call = look_call(10),
         .expect = {.reply = is_state("hash", "", -1, last_token)}},
        {.name = "shows_what_a_leader_says",
         .given = {.lock = caller, .setup = said_by(caller)},
         .call = look_call(10),
         .expect = {.reply = is_array(
                        {is_text("string"),
                         is_array({is_text(caller), is_text("leader"), is_text("7"), is_text("old")}),
                         is_number(nearly_20_s), is(last_token), is(0), clock_now, is_array({})}),
                    .lock = caller,
                    .ttl = 20'000}},
        {.name = "shows_of_a_long_value_the_beginning_in_lists",
         .given = {.lock = caller,
                   .setup = {{"HSET", names::leader(lock_name), "owner", std::string{caller}, "term", "7",
                              "value", std::string(2000, 'v')}}},
         .call = look_call(0),
         .expect = {.reply = is_array({is_text("string"),
                                       is_array({is_text(caller), is_text("leader"), is_text("7"),
                                                 is_text(std::string(1024, 'v'))}),
                                       is_number(nearly_20_s), is(last_token), is(0), clock_now,
                                       is_array({})}),
                    .lock = caller,
                    .ttl = 20'000}},
        {.name = "shows_nothing_that_a_former_leader_said",
         .given = {.lock = caller, .setup = said_by(rival)},
         .call = look_call(10),
         .expect = {.reply = is_state("string", caller, nearly_20_s, last_token),
                    .lock = caller,
                    .ttl = 20'000}},
        {.name = "counts_the_queue_and_leaves_it_out",
         .given = {.lock = caller, .queue = {{anna, 9}, {ben, 5}}, .listening = {anna}},
         .call = look_call(),
         .expect = {.reply = is_array({is_text("string"), is_text(caller), is_number(nearly_20_s),
                                       is(last_token), is(2), clock_now, is_array({})}),
                    .lock = caller,
                    .ttl = 20'000,
                    .queue = {anna, ben}}},
        {.name = "shows_the_first_of_the_queue",
         .given = {.lock = caller, .queue = {{ben, 5}, {anna, 9}, {rival, 1}}},
         .call = look_call(2),
         .expect = {.reply = is_array({is_text("string"), is_text(caller), is_number(nearly_20_s),
                                       is(last_token), is(3), clock_now,
                                       is_array({is_text(anna), testing::_, is_text(ben), testing::_})}),
                    .lock = caller,
                    .ttl = 20'000,
                    .queue = {anna, ben, rival}}},
    }),
    name_of);

TEST(state_script_alone, brings_no_more_of_a_long_string_than_a_lock_can_have) {
  auto raw = empty_server().raw();
  raw.command({"SET", lock_key, std::string(1'000'000, 'x')});
  auto const reply = raw.command(eval(look_call()));
  EXPECT_EQ(reply.elements.at(1).text, std::string(1024, 'x'));
}

TEST(state_script_alone, takes_a_counter_that_is_no_number_for_none) {
  auto raw = empty_server().raw();
  raw.command({"SET", counter_key, "many"});
  EXPECT_THAT(raw.command(eval(look_call())), is_state("none", "", -2, 0));
  raw.del(counter_key);
  raw.command({"RPUSH", counter_key, "1"});
  EXPECT_THAT(raw.command(eval(look_call())), is_state("none", "", -2, 0));
}

TEST(state_script_alone, takes_a_queue_of_another_type_for_an_empty_one) {
  auto raw = empty_server().raw();
  raw.command({"SET", queue_key, "full"});
  EXPECT_THAT(raw.command(eval(look_call(10))), is_state("none", "", -2, 0));
}

TEST(record_script, replies_what_is_there_and_nothing_for_what_is_no_record) {
  auto raw = empty_server().raw();
  auto const read = [&raw] { return raw.command(eval(lua::record{.record = {"holdfast_client:x"}}())); };
  EXPECT_THAT(read(), is_array({}));
  raw.command({"HSET", "holdfast_client:x", "host", "web-3"});
  EXPECT_THAT(read(), is_array({is_text("host"), is_text("web-3")}));
  raw.command({"SET", "holdfast_client:x", "web-3"});
  EXPECT_THAT(read(), is_array({}));
}

TEST(records_script, replies_of_each_what_is_there) {
  auto raw = empty_server().raw();
  raw.command({"HSET", "holdfast_client:x", "host", "web-3"});
  raw.command({"SET", "holdfast_client:y", "web-3"});
  auto const looks =
      lua::records{.records = {{"holdfast_client:x"}, {"holdfast_client:y"}, {"holdfast_client:z"}}}();
  EXPECT_THAT(raw.command(eval(looks)),
              is_array({is_array({is_text("host"), is_text("web-3")}), is_array({}), is_array({})}));
}

/// Of a lock that `prepare` has made.
auto heard_by(std::int64_t listeners) { return is_array({is(listeners), is_number(nearly_20_s)}); }

class ask_script : public testing::TestWithParam<row> {};
TEST_P(ask_script, keeps_its_contract) { check(GetParam()); }

// A holder that gets the release request twice releases once.
INSTANTIATE_TEST_SUITE_P(
    contract, ask_script,
    testing::ValuesIn(std::vector<row>{
        {.name = "tells_the_holder",
         .given = {.lock = rival, .listening = {rival, anna}},
         .call = ask_call(rival),
         .expect = {.reply = heard_by(1), .lock = rival, .ttl = 20'000, .messages = {asked_message(rival)}},
         .again =
             expect{.reply = heard_by(1), .lock = rival, .ttl = 20'000, .messages = {asked_message(rival)}}},
        {.name = "says_that_nobody_heard",
         .given = {.lock = rival, .listening = {anna}},
         .call = ask_call(rival),
         .expect = {.reply = heard_by(0), .lock = rival, .ttl = 20'000}},
        {.name = "only_looks",
         .given = {.lock = rival, .listening = {rival}},
         .call = ask_call(rival, "look"),
         .expect = {.reply = heard_by(0), .lock = rival, .ttl = 20'000}},
        {.name = "finds_the_lock_gone",
         .given = {.listening = {rival}},
         .call = ask_call(rival),
         .expect = {.reply = is(-1)}},
        {.name = "asks_nobody_else",
         .given = {.lock = anna, .listening = {rival, anna}},
         .call = ask_call(rival),
         .expect = {.reply = is(-2), .lock = anna, .ttl = 20'000}},
        {.name = "finds_no_lock",
         .given = {.listening = {rival}, .setup = {{"HSET", lock_key, "field", "value"}}},
         .call = ask_call(rival),
         .expect = {.reply = is(-2)}},
    }),
    name_of);

TEST(ask_script_alone, counts_as_unheard_without_the_right_to_publish) {
  auto& server = empty_server();
  auto raw = server.raw();
  prepare(raw, {.lock = rival});
  subscription inboxes{server, {rival}};
  raw.command({"ACL", "SETUSER", "mute", "on", "nopass", "~*", "resetchannels", "+@all"});
  raw.command({"AUTH", "mute", "any"});
  EXPECT_THAT(raw.command(eval(ask_call(rival))), heard_by(0));
  EXPECT_THAT(inboxes.take(), testing::IsEmpty());
}

class force_script : public testing::TestWithParam<row> {};
TEST_P(force_script, keeps_its_contract) { check(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    contract, force_script,
    testing::ValuesIn(std::vector<row>{
        {.name = "deletes_the_lock",
         .given = {.lock = rival},
         .call = force(rival),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "gives_it_to_the_first_waiter_however_short_it_has_waited",
         .given = {.lock = rival, .queue = {{anna, 9}, {ben, 5}}, .listening = {rival, anna, ben}},
         .call = force(rival),
         .expect = {.reply = is(1),
                    .lock = anna,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {ben},
                    .messages = {granted(anna, last_token + 1, 1)}},
         .again = expect{.reply = is(-1), .lock = anna, .ttl = 2'000, .queue = {ben}}},
        {.name = "gives_it_to_the_candidate_that_a_leader_has_named",
         .given = {.lock = rival,
                   .queue = {{anna, 9}, {ben, 5}},
                   .listening = {anna, ben},
                   .setup = said_by(rival, ben)},
         .call = force(rival),
         .expect = {.reply = is(1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 1,
                    .queue = {anna},
                    .messages = {granted(ben, last_token + 1, 1)}},
         .again = expect{.reply = is(-1), .lock = ben, .ttl = 2'000, .queue = {anna}}},
        {.name = "passes_over_a_waiter_that_died",
         .given = {.lock = rival, .queue = {{anna, 9}, {ben, 5}}, .listening = {ben}},
         .call = force(rival),
         .expect = {.reply = is(1),
                    .lock = ben,
                    .ttl = 2'000,
                    .counter = last_token + 2,
                    .messages = {granted(ben, last_token + 2, 1)}},
         .again = expect{.reply = is(-1), .lock = ben, .ttl = 2'000}},
        {.name = "deletes_a_foreign_lock_without_a_ttl",
         .given = {.lock = "somebody", .ttl = no_ttl},
         .call = force("somebody"),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "finds_the_lock_gone",
         .given = {.queue = {{anna}}, .listening = {anna}},
         .call = force(rival),
         .expect = {.reply = is(0), .queue = {anna}}},
        {.name = "leaves_another_holder_alone",
         .given = {.lock = anna, .queue = {{ben}}, .listening = {ben}},
         .call = force(rival),
         .expect = {.reply = is(-1), .lock = anna, .ttl = 20'000, .queue = {ben}}},
        {.name = "leaves_readers_alone_that_came_since_it_saw_none",
         .given = {.lock = names::held_by_readers, .readers = {{anna_reads}}},
         .call = force(names::held_by_readers),
         .expect = {.reply = is(-1),
                    .lock = names::held_by_readers,
                    .ttl = 20'000,
                    .readers = {{anna_reads, 20'000}}}},
        {.name = "deletes_the_lock_of_readers_whose_set_is_lost",
         .given = {.lock = names::held_by_readers},
         .call = force(names::held_by_readers),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
        {.name = "leaves_another_type_alone",
         .given = {.queue = {{ben}}, .listening = {ben}, .setup = {{"HSET", lock_key, "field", "value"}}},
         .call = force(rival),
         .expect = {.reply = is(-1), .queue = {ben}}},
        {.name = "deletes_the_lock_whatever_became_of_the_queue",
         .given = {.lock = rival, .setup = {{"SET", queue_key, "full"}}},
         .call = force(rival),
         .expect = {.reply = is(1)},
         .again = expect{.reply = is(0)}},
    }),
    name_of);

TEST(states_script, replies_of_each_what_state_replies) {
  auto raw = empty_server().raw();
  raw.command({"SET", lock_key, std::string{caller}, "PX", "20000"});
  raw.command({"SET", counter_key, "7"});
  std::vector<std::string> const both{lock_key, "another"};
  auto const looks = holdfast::inspection::look_at_several(both, holdfast::engine::publishing::counted,
                                                           holdfast::inspection::look_for::holder);
  EXPECT_THAT(raw.command(eval(looks)),
              is_array({is_state("string", caller, nearly_20_s, 7), is_state("none", "", -2, 0)}));
}

TEST(states_script, replies_with_the_first_waiters) {
  auto raw = empty_server().raw();
  raw.command({"SET", lock_key, std::string{caller}, "PX", "20000"});
  raw.command({"ZADD", names::queue(lock_name), "5", std::string{anna}, "6", std::string{ben}});
  std::vector<std::string> const name{lock_key};
  auto const looks = holdfast::inspection::look_at_several(name, holdfast::engine::publishing::counted,
                                                           holdfast::inspection::look_for::holder, 1);
  auto const reply = raw.command(eval(looks));
  ASSERT_EQ(reply.elements.size(), 1U);
  EXPECT_EQ(reply.elements[0].elements[4].integer, 2);
  EXPECT_THAT(reply.elements[0].elements[6], is_array({is_text(std::string{anna}), is_text("5")}));
}

TEST(sift_sets_script, finds_the_permits_among_sorted_sets) {
  auto raw = empty_server().raw();
  raw.command({"ZADD", "slots", "-2", "holdfast_permits:3", "5", std::string{anna}});
  raw.command({"ZADD", "scores", "-2", "anna", "1", "holdfast_permits:3"});
  raw.command({"ZADD", "words", "-2", "holdfast_permits:many"});
  raw.command({"SET", "string", "x"});
  auto const question = lua::sift_sets{.sets = {{"scores"}, {"slots"}, {"words"}, {"string"}, {"gone"}}}();
  EXPECT_THAT(raw.command(eval(question)), is_array({is(2)}));
  raw.command({"ACL", "SETUSER", "default", "-zrange"});
  auto const refused = raw.command(eval(question));
  raw.command({"ACL", "SETUSER", "default", "+@all"});
  EXPECT_TRUE(refused.is_error());
}

}  // namespace holdfast::contract::inspect_test
