// Properties of every script.

#include "contract/all_scripts.hpp"
#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "scripts/all.hpp"

namespace holdfast::contract::all_scripts {

TEST(every_script, has_the_sha_1_that_script_load_replies) {
  auto raw = empty_server().raw();
  for (auto const* const script : holdfast::scripts::all) {
    auto const reply = raw.command({"SCRIPT", "LOAD", std::string{script->text}});
    EXPECT_EQ(reply.text, script->sha1) << script->name;
  }
}

/// Logs in as a user with access to the KEYS of a lock of this name and to nothing else.
void become_limited_to(raw_redis& raw, std::string const& name) {
  raw.command({"ACL",
               "SETUSER",
               "limited",
               "reset",
               "on",
               "nopass",
               "~" + name,
               "~" + names::token_counter(name),
               "~" + names::queue(name),
               "~" + names::permit_queue(name),
               "~" + names::permits(name),
               "~" + names::newest_ask(name),
               "~" + names::leader(name),
               "~" + names::readers(name),
               "~" + names::gave_up(name),
               "~" + names::doubt(name),
               "~" + names::blocked(name),
               "~" + names::blocked(name, caller),
               "~" + names::counted(name),
               "~" + names::done_prefix(name) + "*",
               "~" + names::arrived(name),
               "~" + names::condition(name),
               "~" + names::condition_until(name),
               "~" + names::seat(name, uuid, "1"),
               "~" + names::asked(name, caller),
               "~" + names::fence_mark(name),
               "~" + names::last_run(name),
               "~" + names::redisson::fair_queue(name),
               "~" + names::redisson::fair_timeouts(name),
               "~" + names::redisson::token(name),
               "~" + names::redisson::suffixed(name, "*:rwlock_timeout:*"),
               "~" + names::redisson::permits(name),
               "~" + names::redisson::done(name, "*"),
               "~" + names::fence_done(name, uuid, 1),
               "~" + names::fence_done(name, uuid, 2),
               "&*",
               "+@all"});
  raw.command({"AUTH", "limited", "any"});
}

TEST(every_script, touches_no_key_but_its_own) {
  for (std::string const name : {"a", "{x}b", "b{x}", "b{"}) {
    auto& server = empty_server();
    auto raw = server.raw();
    subscription const inboxes{server, {anna, ben}, name, "SUBSCRIBE"};
    become_limited_to(raw, name);
    go_through_redisson(raw, name, publishing::counted);
    go_through_shared(raw, name);
    go_through(raw, name, publishing::counted);
    server.raw().command({"DEL", name});
    go_through_numbers(raw, name, publishing::counted);
    go_through_meetings(raw, name, publishing::counted);
    go_through_condition(raw, name, publishing::counted);
  }
}

TEST(every_script, keeps_to_one_slot_of_a_cluster) {
  auto& server = empty_cluster();
  auto raw = server.raw();
  for (std::string const name : {"a", "{x}b", "b{x}", "orders:42"}) {
    for (auto const mode : {publishing::counted, publishing::sharded}) {
      SCOPED_TRACE(word_of(mode));
      subscription const inboxes{server, {anna, ben}, name, "SUBSCRIBE"};
      subscription const slot_inboxes{server, {anna, ben}, name};
      publishing_scope const scope{mode};
      go_through_redisson(raw, name, mode);
      go_through_shared(raw, name);
      go_through(raw, name, mode);
      raw.command({"FLUSHALL"});
      go_through_numbers(raw, name, mode);
      raw.command({"FLUSHALL"});
      go_through_meetings(raw, name, mode);
      go_through_condition(raw, name, mode);
      raw.command({"FLUSHALL"});
    }
  }
  // The name, the slot of its key, and the slot of its channel.
  struct sample {
    std::string name;
    std::int64_t key;
    std::int64_t channel;
  };
  for (auto const& [name, key, channel] : {sample{"lk", 5002, 5002},
                                           {"a{x}b", 16287, 16287},
                                           {"a{b", 13340, 3200},
                                           {"a}b", 7866, 15495},
                                           {"{}z", 2337, 12733}}) {
    EXPECT_THAT(raw.command({"CLUSTER", "KEYSLOT", name}), is(key));
    EXPECT_THAT(raw.command({"CLUSTER", "KEYSLOT", names::redisson::lock_channel(name)}), is(channel));
    EXPECT_EQ(names::fits_in_a_slot(name), key == channel) << name;
  }
}

}  // namespace holdfast::contract::all_scripts
