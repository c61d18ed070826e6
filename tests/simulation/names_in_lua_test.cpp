/// Scripts, too, build some names of keys and channels: the same as script/names*.hpp.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "base/whole_number.hpp"
#include "memory/dataset.hpp"
#include "memory/lua_scripts.hpp"
#include "resp/command.hpp"
#include "resp/make_reply.hpp"
#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "scripts/all.hpp"
#include "wire/plain/exclusive.hpp"
#include "wire/plain/permits.hpp"
#include "wire/plain/shared.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::simulation {
namespace {

using memory::command;
using memory::dataset;
using memory::lua_scripts;

namespace of_redisson = names::redisson;
using name_set = std::set<std::string>;

constexpr std::string_view uuid_of_other = "22222222-2222-4222-8222-222222222222";
std::string const first_owner = "11111111-1111-4111-8111-111111111111:1";
std::string const other_owner = std::string{uuid_of_other} + ":7";

/// Braces and colons decide how a name is put beside the lock's.
rc::Gen<std::string> name_of_lock() {
  return rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', 'b', '{', '}', ':')));
}

/// A server that records which keys and channels scripts name.
class recording_server {
 public:
  void prepare(std::vector<std::string_view> const& words) { data_.execute(words, now); }

  /// All that the script names, its KEYS among them as far as it uses them.
  name_set named_by(holdfast::call const& script) {
    auto const bytes = "*" + std::to_string(script.parts - 2) + "\r\n" + std::string{script.tail()};
    auto const words = resp::arguments_of(bytes);
    auto const operands = command{words}.subspan(1);
    auto const count = static_cast<std::size_t>(leading_number(words.front()));
    name_set named;
    static lua_scripts lua;
    auto const reply = lua.run(lua.compiled(script.source->text), operands.first(count),
                               operands.subspan(count), [&](command each) { return execute(each, named); });
    EXPECT_FALSE(reply.is_error()) << script.source->name << ": " << reply.text;
    return named;
  }

 private:
  resp::reply execute(command words, name_set& named) {
    auto const verb = words.front();
    if (verb == "DEL" || verb == "EXISTS") {
      named.insert(words.begin() + 1, words.end());
    } else if (verb == "PUBSUB") {
      named.insert(words.begin() + 2, words.end());
    } else if (verb != "TIME") {
      named.emplace(words[1]);
    }
    if (verb == "LLEN" || verb == "SPUBLISH") return resp::make_integer(1);
    if (verb == "PUBSUB")
      return resp::make_array({resp::make_text(std::string{words.back()}), resp::make_integer(0)});
    return data_.execute(words, now);
  }

  static constexpr time_point now{std::chrono::hours{1}};
  dataset data_{[](std::string_view, std::string_view) { return 1; }};
};

RC_GTEST_PROP(names_in_lua, of_a_waiter_s_inbox_are_those_of_cpp, ()) {
  auto const name = *name_of_lock();
  auto const queue = names::queue(name);
  for (auto const starvation : {std::chrono::hours{0}, std::chrono::hours{24}}) {  // granted, woken
    recording_server server;
    server.prepare({"SET", name, first_owner});
    server.prepare({"ZADD", queue, "1", other_owner});
    auto named =
        server.named_by(recipes::plain::exclusive.release({name, first_owner}, {.starvation = starvation}));
    named.erase(names::token_counter(name));
    RC_ASSERT(named == (name_set{name, queue, names::inbox(uuid_of_other, name)}));
  }
}

RC_GTEST_PROP(names_in_lua, of_a_client_s_inbox_are_those_of_cpp, ()) {
  auto const name = *name_of_lock();
  auto const asked = names::asked(name, other_owner);
  recording_server server;
  server.prepare({"SET", name, other_owner});
  auto const named = server.named_by(
      scripts::inspect::ask{.lock = {name}, .asked = {asked}, .owner = other_owner, .mode = "ask"}());
  RC_ASSERT(named == (name_set{name, asked, names::hints(uuid_of_other)}));
}

RC_GTEST_PROP(names_in_lua, of_readers_are_those_of_cpp, ()) {
  auto const name = *name_of_lock();
  auto const queue = names::queue(name);
  recording_server server;
  server.prepare({"SET", name, first_owner});
  server.prepare({"ZADD", queue, "1", other_owner + ":r"});
  auto named = server.named_by(recipes::plain::exclusive.release({name, first_owner}, {}));
  named.erase(names::token_counter(name));
  RC_ASSERT(named == (name_set{name, queue, names::readers(name), names::inbox(uuid_of_other, name)}));

  auto const busy = server.named_by(recipes::plain::exclusive.acquire(name, {.owner = first_owner}));
  RC_ASSERT(busy == (name_set{name, queue, names::token_counter(name), names::readers(name)}));

  auto const asked = names::asked(name, other_owner);
  auto const looked = server.named_by(
      scripts::inspect::ask{.lock = {name}, .asked = {asked}, .owner = other_owner, .mode = "look"}());
  RC_ASSERT(looked == (name_set{name, names::readers(name)}));

  auto const record = names::last_run(name);
  server.prepare({"HSET", record, "owner", other_owner});
  auto const seen = server.named_by(scripts::run::look{.lock = {name}, .record = {record}}());
  RC_ASSERT(seen == (name_set{name, record, names::readers(name)}));
}

RC_GTEST_PROP(names_in_lua, of_a_writer_that_may_stand_still_are_those_of_cpp, ()) {
  auto const name = *name_of_lock();
  auto const queue = names::queue(name);
  recording_server server;
  server.prepare({"SET", name, names::held_by_readers});
  server.prepare({"ZADD", names::readers(name), "9000000000000", first_owner + ":r"});
  server.prepare({"ZADD", queue, "1", other_owner});
  RC_ASSERT(server.named_by(recipes::plain::reader.fast_release({name, first_owner})) ==
            (name_set{name, names::readers(name)}));
  engine::acquire_request const request{
      .owner = first_owner, .join = true, .policy = {.publish = engine::publishing::uncounted}};
  RC_ASSERT(server.named_by(recipes::plain::upgradable.acquire(name, request)) ==
            (name_set{name, names::token_counter(name), queue, names::readers(name), names::doubt(name),
                      names::inbox(uuid_of_other, name)}));
}

RC_GTEST_PROP(names_in_lua, of_what_a_holder_waits_for_are_those_of_cpp, ()) {
  auto const name = *name_of_lock();
  auto const readers = names::readers(name);
  auto const blocked = names::blocked(name);
  auto const look = scripts::deadlock::look{.lock = {name}, .readers = {readers}, .blocked = {blocked}}();
  recording_server server;
  server.prepare({"SET", name, first_owner});
  RC_ASSERT(server.named_by(look) == (name_set{name, names::blocked(name, first_owner)}));
  server.prepare({"SET", name, names::held_by_readers});
  server.prepare({"ZADD", readers, "9000000000", other_owner + ":r"});
  RC_ASSERT(server.named_by(look) == (name_set{name, readers, names::blocked(name, other_owner + ":r")}));
}

RC_GTEST_PROP(names_in_lua, of_permits_are_those_of_cpp, ()) {
  auto const name = *name_of_lock();
  auto const queue = names::permit_queue(name);
  recording_server server;
  server.prepare({"ZADD", name, "-1", std::string{names::permits_marker} + "1", "9000000000", first_owner});
  server.prepare({"ZADD", queue, "1", other_owner});
  auto const released = server.named_by(recipes::plain::permits.release({name, first_owner}, {}));
  RC_ASSERT(released ==
            (name_set{name, queue, names::token_counter(name), names::inbox(uuid_of_other, name)}));

  recording_server waited_for;
  waited_for.prepare({"ZADD", queue, "1", other_owner});
  recipes::plain::keys const keys{name};
  auto const looked = waited_for.named_by(scripts::inspect::state{.lock = {name},
                                                                  .counter = keys.counter,
                                                                  .queue = keys.queue,
                                                                  .most = 10,
                                                                  .publish = "PUBLISH",
                                                                  .scope = "plain"}());
  RC_ASSERT(looked ==
            (name_set{name, names::token_counter(name), names::queue(name), queue, names::permits(name)}));
}

RC_GTEST_PROP(names_in_lua, of_permits_that_were_given_up_are_those_of_cpp, ()) {
  auto const name = *name_of_lock();
  auto const mark = names::done_prefix(name) + first_owner + ":l";
  auto const& kind = recipes::plain::lasting_permits;
  recording_server server;
  RC_ASSERT(server.named_by(kind.abandon({name, first_owner}, {.copied = true})) ==
            (name_set{name, names::permit_queue(name), mark}));
  RC_ASSERT(server.named_by(kind.acquire(name, {.owner = first_owner, .size = 1})) == (name_set{mark}));
}

RC_GTEST_PROP(names_in_lua, of_a_fair_waiter_s_channel_are_those_of_cpp, ()) {
  auto const name = *name_of_lock();
  auto const queue = of_redisson::fair_queue(name);
  auto const timeouts = of_redisson::fair_timeouts(name);
  auto const channel = of_redisson::lock_channel(name);
  recording_server server;
  server.prepare({"HSET", name, first_owner, "1"});
  server.prepare({"RPUSH", queue, other_owner});
  server.prepare({"ZADD", timeouts, "9000000000000", other_owner});
  name_set const expected{name, queue, timeouts, of_redisson::waiter_channel(name, other_owner)};
  RC_ASSERT(server.named_by(recipes::redisson::fair.release({name, first_owner}, {})) == expected);

  server.prepare({"HSET", name, first_owner, "1"});
  auto named = server.named_by(scripts::inspect::force_reentrant{.lock = {name},
                                                                 .queue = {queue},
                                                                 .timeouts = {timeouts},
                                                                 .owner = first_owner,
                                                                 .publish = "PUBLISH",
                                                                 .channel = channel}());
  RC_ASSERT(named.erase(channel) == 1);
  RC_ASSERT(named == expected);
}

RC_GTEST_PROP(names_in_lua, of_a_reader_s_holds_are_those_of_cpp, ()) {
  auto const name = *name_of_lock();
  auto const channel = of_redisson::rw_channel(name);
  auto const lives = of_redisson::suffixed(name, {});
  name_set const expected{name, of_redisson::reader_timeout(name, first_owner, 1),
                          of_redisson::reader_timeout(name, other_owner, 1),
                          of_redisson::reader_timeout(name, other_owner, 2), channel};
  recording_server server;
  server.prepare({"HSET", name, "mode", "read", first_owner, "1", other_owner, "2"});
  RC_ASSERT(server.named_by(recipes::redisson::reader.release({name, first_owner}, {})) == expected);

  server.prepare({"HSET", name, "mode", "read", first_owner, "1", other_owner, "2"});
  RC_ASSERT(server.named_by(scripts::redisson_rw::force{
                .lock = {name}, .field = "", .lives = lives, .publish = "PUBLISH", .channel = channel}()) ==
            expected);
}

RC_GTEST_PROP(names_in_lua, of_redisson_s_objects_are_those_of_cpp, ()) {
  auto const name = *name_of_lock();
  auto const queue = of_redisson::fair_queue(name);
  struct object {
    std::vector<std::string_view> made_by;
    name_set names;
  };
  std::vector<object> const objects{
      {{},
       {queue, of_redisson::fair_timeouts(name), of_redisson::lock_channel(name),
        of_redisson::rw_channel(name), of_redisson::semaphore_channel(name), of_redisson::latch_channel(name),
        names::permit_queue(name)}},
      {{"HSET", name, first_owner, "1"},
       {queue, of_redisson::fair_timeouts(name), of_redisson::lock_channel(name), of_redisson::token(name)}},
      {{"HSET", name, "mode", "read", first_owner, "1", other_owner, "2"},
       {of_redisson::reader_timeout(name, first_owner, 1), of_redisson::reader_timeout(name, other_owner, 1),
        of_redisson::reader_timeout(name, other_owner, 2), of_redisson::rw_channel(name)}},
      {{"SET", name, "3"},
       {of_redisson::permits(name), of_redisson::semaphore_channel(name), of_redisson::latch_channel(name)}},
  };
  recipes::plain::keys const keys{name};
  for (auto const& [made_by, expected] : objects) {
    recording_server server;
    if (!made_by.empty()) server.prepare(made_by);
    server.prepare({"RPUSH", queue, other_owner});
    auto named = server.named_by(scripts::inspect::state{.lock = {name},
                                                         .counter = keys.counter,
                                                         .queue = keys.queue,
                                                         .most = 10,
                                                         .publish = "SPUBLISH",
                                                         .scope = "both"}());
    for (auto const& key : {name, names::token_counter(name), names::queue(name)}) named.erase(key);
    RC_ASSERT(named == expected);
  }
}

RC_GTEST_PROP(names_in_lua, of_what_a_pulse_looks_at_are_those_of_cpp, ()) {
  auto const name = *name_of_lock();
  recipes::plain::keys const keys{name};
  struct object {
    std::vector<std::string_view> made_by;
    name_set beside;
  };
  auto const counter = names::token_counter(name);
  std::vector<object> const objects{
      {{"ZADD", name, "1", first_owner}, {counter, names::permit_queue(name)}},
      {{"SET", name, names::held_by_readers}, {counter, names::readers(name)}},
      {{"SET", name, "holdfast_barrier 1 2"}, {counter, names::arrived(name)}},
      {{"SET", name, first_owner}, {}},
  };
  for (auto [made_by, expected] : objects) {
    recording_server server;
    server.prepare(made_by);
    auto const named =
        server.named_by(scripts::inspect::pulse{.names = {{{name}, keys.queue}}, .scope = "ttl"}());
    expected.insert({name, names::queue(name), names::leader(name)});
    RC_ASSERT(named == expected);
  }
}

/// The quoted texts of a script, of which none has an escape.
void add_quoted(std::string_view script, name_set& all) {
  for (std::size_t i = 0; i < script.size(); ++i) {
    if (script.substr(i, 2) == "--") {
      i = std::min(script.find('\n', i), script.size());
    } else if (script[i] == '\'' || script[i] == '"') {
      auto const end = std::min(script.find(script[i], i + 1), script.size());
      all.emplace(script.substr(i + 1, end - i - 1));
      i = end;
    }
  }
}

TEST(names_in_lua, have_no_parts_but_those_tested_here) {
  name_set parts;
  for (auto const* const script : scripts::all) add_quoted(script->text, parts);
  std::erase_if(parts, [](std::string const& part) {
    return part.find_first_of(":{}") == std::string::npos && part.find("holdfast_") == std::string::npos &&
           part.find("redisson_") == std::string::npos;
  });
  parts.erase(":write");  // of a field
  parts.erase(":write$");
  for (auto const* const side : {":r", ":u", ":w", ":l"}) parts.erase(side);  // of an owner id
  parts.erase(":p");  // of a member of a set, as these
  parts.erase("holdfast_permits:");
  parts.erase("holdfast_permits:%.0f");
  std::erase_if(parts, [](std::string const& part) { return part.find(' ') != std::string::npos; });  // texts
  std::erase_if(parts, [](std::string const& part) {  // what a key holds, and patterns for it
    return part.starts_with("holdfast_latch ") || part.starts_with("holdfast_barrier") ||
           part.starts_with("^holdfast_") || part.starts_with("^%x+%-");
  });
  EXPECT_THAT(parts, testing::UnorderedElementsAre(
                         ":", "{", "}", ":{", "^(.*)asked:", "holdfast_readers",
                         "inbox:", "done:", "holdfast_inbox:", ":rwlock_timeout:", "redisson_lock__channel",
                         "redisson_lock_queue", "redisson_lock_timeout", "redisson_lock_token",
                         "redisson_rwlock", "redisson_sc", "redisson_countdownlatch__channel__{"))
      << "A script that builds another name needs a test here.";
}

}  // namespace
}  // namespace holdfast::simulation
