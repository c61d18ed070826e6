#include "script/translator.hpp"

#include "resp/command.hpp"
#include "script/runner.hpp"
#include "scripts/exclusive.hpp"
#include "scripts/fair.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace holdfast::scripting::translator_test {

namespace lua = scripts::exclusive;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using kind = net::meaning::kind;

resp::reply nil() { return {}; }

/// The reply to COMMAND INFO of a server that has these commands.
resp::reply info_of(std::vector<std::string_view> const& names) {
  std::vector<resp::reply> all;
  auto const probe = probe_of(script_trial::unwanted);
  auto const asked = resp::arguments_of(probe.bytes);
  for (std::size_t i = 2; i < asked.size() && asked[i] != "TIME"; ++i) {
    if (asked[i].starts_with('*')) break;
    all.push_back(std::ranges::find(names, asked[i]) == names.end()
                      ? nil()
                      : array_reply({text_reply(std::string{asked[i]}), integer_reply(-3), array_reply({}),
                                     integer_reply(1), integer_reply(1), integer_reply(1)}));
  }
  return array_reply(std::move(all));
}

/// A client, and one server of it.
class translating : public testing::Test {
 protected:
  void connect(std::vector<std::string_view> const& commands, command_translator::choice choice = {},
               bool scripts = true) {
    translator_ = std::make_unique<command_translator>(choice, lua::abandon::source, counts_,
                                                       [this](log_level level, std::string const& text) {
                                                         if (level == log_level::warning)
                                                           warnings_.push_back(text);
                                                       });
    std::vector<resp::reply> replies{info_of(commands), array_reply({text_reply("1000"), text_reply("5")})};
    if (choice.scripts == script_trial::wanted)
      replies.push_back(
          scripts ? integer_reply(1)
                  : error_reply("NOPERM User default has no permissions to run the 'eval' command"));
    server_ = translator_->learn(replies);
  }

  static net::request release() {
    return to_run(lua::release{.lock = {"orders"},
                               .counter = {"{orders}:holdfast_token"},
                               .queue = {"{orders}:holdfast_queue"},
                               .owner = "me",
                               .starvation_us = 100'000,
                               .grant_ms = 2'000,
                               .publish = "PUBLISH"}(),
                  {});
  }
  static net::request acquire() {
    return to_run(lua::acquire{.lock = {"orders"},
                               .counter = {"{orders}:holdfast_token"},
                               .queue = {"{orders}:holdfast_queue"},
                               .owner = "me",
                               .ttl_ms = 30'000,
                               .tokens = 65,
                               .mode = "join",
                               .ticket = ""}(),
                  {});
  }
  static net::request renew() {
    return to_run(lua::renew{.locks = {{"orders"}}, .ttl_ms = 30'000, .owners = {"me"}}(), {});
  }
  /// The command, or the first of several.
  static std::string words_of(net::exchange const& now) {
    std::string all;
    for (auto const word : resp::arguments_of(now.bytes)) all.append(all.empty() ? "" : " ").append(word);
    return all;
  }
  net::meaning read(net::request const& request, net::exchange const& now, std::vector<resp::reply> replies,
                    bool resent = false) {
    return server_->read(request, now, replies, resent);
  }

  client_stats counts_;
  std::vector<std::string> warnings_;
  std::unique_ptr<command_translator> translator_;
  std::unique_ptr<net::translation> server_;
};

TEST_F(translating, leaves_scripts_as_they_are_where_there_is_nothing_else) {
  connect({});
  EXPECT_THAT(server_->begin(release(), false).bytes, IsEmpty());
  EXPECT_THAT(server_->begin(renew(), false).bytes, IsEmpty());
  EXPECT_EQ(counts_.way, cas::lua);
  EXPECT_EQ(counts_.by_script, 2U);
}

TEST_F(translating, releases_and_renews_in_the_servers_dialect) {
  connect({"DELEX"});
  EXPECT_EQ(words_of(server_->begin(release(), false)), "DELEX orders IFEQ me");
  EXPECT_EQ(words_of(server_->begin(renew(), false)), "SET orders me IFEQ me PX 30000");
  connect({"DELIFEQ"});
  EXPECT_EQ(words_of(server_->begin(release(), false)), "DELIFEQ orders me");
  connect({"CAD", "CAS"});
  EXPECT_EQ(words_of(server_->begin(release(), false)), "CAD orders me");
  EXPECT_EQ(words_of(server_->begin(renew(), false)), "CAS orders me me PX 30000");
  EXPECT_EQ(counts_.way, cas::native);
  connect({"CAD"});  // something else
  EXPECT_THAT(server_->begin(release(), false).bytes, IsEmpty());
}

TEST_F(translating, answers_as_the_script_would) {
  connect({"DELEX"});
  auto const request = release();
  auto const now = server_->begin(request, false);
  auto const released = read(request, now, {integer_reply(1), integer_reply(0)});
  EXPECT_EQ(released.type, kind::answered);
  EXPECT_EQ(released.reply, integer_reply(1));
  EXPECT_EQ(
      read(request, now, {error_reply("ERR Key should be of string type if …"), integer_reply(0)}).reply,
      integer_reply(-1));
  EXPECT_EQ(read(request, now, {error_reply("READONLY You can't write"), integer_reply(0)}).reply.text,
            "READONLY You can't write");
}

TEST_F(translating, wakes_a_waiter_by_the_script_for_that_and_releases_by_script_for_a_while) {
  connect({"DELEX"});
  auto const request = release();
  auto const found = read(request, server_->begin(request, false), {integer_reply(1), integer_reply(1)});
  ASSERT_EQ(found.type, kind::more);
  EXPECT_THAT(words_of(found.next),
              HasSubstr("EVALSHA " + std::string{lua::abandon::source.sha1} + " 3 orders"));
  auto const forgotten = read(request, found.next, {error_reply("NOSCRIPT No matching script")});
  ASSERT_EQ(forgotten.type, kind::more);
  EXPECT_THAT(words_of(forgotten.next), HasSubstr("EVAL "));
  EXPECT_EQ(read(request, forgotten.next, {integer_reply(0)}).reply, integer_reply(1));
  EXPECT_THAT(server_->begin(release(), false).bytes, IsEmpty());
}

TEST_F(translating, asks_the_script_whose_lock_it_is_that_was_not_the_callers) {
  connect({"DELIFEQ"});
  auto const request = release();
  auto const found = read(request, server_->begin(request, false), {integer_reply(0), integer_reply(0)});
  EXPECT_EQ(found.type, kind::unsuited);
  EXPECT_THAT(server_->begin(request, false).bytes, IsEmpty());
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(translating, tells_the_waiter_that_an_earlier_copy_did_not) {
  connect({"DELEX"});
  auto const request = release();
  auto const found =
      read(request, server_->begin(request, false), {integer_reply(0), integer_reply(1)}, true);
  EXPECT_EQ(found.type, kind::more);
}

/// The earlier copy may have deleted the lock by another connection, and told nobody.
TEST_F(translating, tells_the_waiter_by_script_what_a_copy_in_steps_did_not) {
  connect({});
  EXPECT_THAT(server_->begin(release(), true).bytes, IsEmpty()) << "no request has gone in steps";
  connect({"DELEX"});
  (void)server_->begin(release(), false);
  server_ = translator_->learn({});  // as after a failover to an older server
  auto const request = release();
  EXPECT_THAT(server_->begin(request, false).bytes, IsEmpty());
  auto const now = server_->begin(request, true);
  EXPECT_THAT(words_of(now), StartsWith("EVALSHA " + std::string{lua::abandon::source.sha1} + " 3 orders"));
  auto const again = read(request, now, {error_reply("NOSCRIPT No matching script.")}, true);
  ASSERT_EQ(again.type, kind::more);
  EXPECT_THAT(words_of(again.next), StartsWith("EVAL "));
  EXPECT_EQ(read(request, again.next, {integer_reply(0)}, true).reply.integer, 0);
  EXPECT_TRUE(read(request, now, {error_reply("LOADING wait")}, true).reply.is_error()) << "it may be held";
}

TEST_F(translating, goes_by_script_when_a_command_fails_and_warns_once) {
  connect({"DELEX"});
  auto const request = release();
  EXPECT_EQ(read(request, server_->begin(request, false),
                 {error_reply("NOPERM no DELEX for you"), integer_reply(0)})
                .type,
            kind::unsuited);
  EXPECT_THAT(server_->begin(request, false).bytes, IsEmpty());
  EXPECT_EQ(counts_.way, cas::lua);
  connect({"DELEX"});
  auto const renewal = renew();
  EXPECT_EQ(read(renewal, server_->begin(renewal, false), {error_reply("OOM command not allowed")}).type,
            kind::unsuited);
  EXPECT_THAT(server_->begin(renewal, false).bytes, IsEmpty());
  EXPECT_EQ(words_of(server_->begin(release(), false)), "DELEX orders IFEQ me");
  EXPECT_THAT(warnings_, SizeIs(2));
}

TEST_F(translating, says_by_renewals_which_are_gone_and_which_are_foreign) {
  connect({"DELEX"});
  auto const request = renew();
  auto const found = read(request, server_->begin(request, false), {nil()});
  ASSERT_EQ(found.type, kind::more);
  EXPECT_EQ(words_of(found.next), "EXISTS orders");
  EXPECT_EQ(read(request, found.next, {integer_reply(1)}).reply, array_reply({integer_reply(-1)}));
  EXPECT_EQ(read(request, found.next, {integer_reply(0)}).reply, array_reply({integer_reply(1)}));
}

TEST_F(translating, does_not_release_in_steps_what_must_be_granted_at_once) {
  connect({"DELEX"});
  auto request = release();
  request.in_steps = false;
  EXPECT_THAT(server_->begin(request, false).bytes, IsEmpty());
}

TEST_F(translating, says_by_the_module_what_that_serves) {
  connect({"HOLDFAST.EXCLUSIVE.RELEASE", "DELEX"});
  auto const request = release();
  auto const now = server_->begin(request, false);
  EXPECT_EQ(words_of(now),
            "HOLDFAST.EXCLUSIVE.RELEASE 3 orders {orders}:holdfast_token {orders}:holdfast_queue me 100000 "
            "2000 PUBLISH");
  EXPECT_EQ(counts_.way, cas::module);
  EXPECT_EQ(read(request, now, {integer_reply(1)}).reply, integer_reply(1));
  EXPECT_EQ(read(request, now, {error_reply("ERR unknown command 'HOLDFAST.EXCLUSIVE.RELEASE'")}).type,
            kind::unsuited);
  EXPECT_EQ(words_of(server_->begin(request, false)), "DELEX orders IFEQ me");
  EXPECT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(server_->begin(acquire(), false).bytes, IsEmpty());  // of an older module
}

TEST_F(translating, refuses_to_take_a_lock_where_the_wanted_way_is_not_there) {
  connect({}, {.way = cas::native});
  auto const request = acquire();
  auto const now = server_->begin(request, false);
  EXPECT_EQ(words_of(now), "PING");
  EXPECT_THAT(read(request, now, {text_reply("PONG")}).reply.text, HasSubstr("cas=native"));
  EXPECT_THAT(server_->begin(release(), false).bytes, IsEmpty());
  connect({"DELEX"}, {.way = cas::module});
  EXPECT_EQ(words_of(server_->begin(acquire(), false)), "PING");
  connect({"DELEX"}, {.way = cas::lua});
  EXPECT_THAT(server_->begin(release(), false).bytes, IsEmpty());
}

TEST_F(translating, does_without_scripts_where_they_are_refused_or_unwanted) {
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  EXPECT_EQ(words_of(server_->begin(acquire(), false)), "MULTI");
  connect({"DELIFEQ"}, {}, false);
  EXPECT_TRUE(translator_->scriptless());
  EXPECT_EQ(words_of(server_->begin(acquire(), false)), "MULTI");
  connect({}, {}, false);
  auto const now = server_->begin(acquire(), false);
  EXPECT_THAT(now.note, HasSubstr("no compare-and-delete"));
  EXPECT_THAT(now.note, HasSubstr("+eval"));
  auto const fair = to_run(call{scripts::fair::pass::source, {{"orders"}}, {}}, {});
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  EXPECT_THAT(server_->begin(fair, false).note, HasSubstr("needs one"));
}

TEST_F(translating, goes_on_without_scripts_when_they_are_refused_in_the_middle) {
  connect({"DELIFEQ"});
  auto const refusal = error_reply("NOPERM User default has no permissions to run the 'evalsha' command");
  EXPECT_TRUE(server_->reconsiders(acquire(), refusal));
  EXPECT_EQ(words_of(server_->begin(acquire(), false)), "MULTI");
  EXPECT_THAT(warnings_, SizeIs(1));
  connect({"DELIFEQ"});
  EXPECT_FALSE(
      server_->reconsiders(acquire(), error_reply("NOPERM no permissions to run the 'zadd' command")));
}

/// The replies to MULTI, eight commands and EXEC.
std::vector<resp::reply> after_taking(std::vector<resp::reply> results) {
  std::vector<resp::reply> replies(9, text_reply("QUEUED"));
  replies.push_back(array_reply(std::move(results)));
  return replies;
}
resp::reply clock_at(std::string seconds) {
  return array_reply({text_reply(std::move(seconds)), text_reply("0")});
}
/// The same where another one holds the lock.
std::vector<resp::reply> busy_after_taking() {
  return after_taking({nil(), text_reply("other"), integer_reply(900), text_reply("string"), integer_reply(5),
                       integer_reply(1), integer_reply(0), clock_at("1002")});
}

TEST_F(translating, raises_a_counter_that_is_older_than_the_connection_before_it_believes_a_token) {
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});  // at 1000 s
  auto const request = acquire();
  auto const now = server_->begin(request, false);
  auto const taken = [](std::int64_t token) {
    return after_taking({text_reply("OK"), text_reply("me"), integer_reply(30'000), text_reply("string"),
                         integer_reply(token), integer_reply(1), integer_reply(0), clock_at("1002")});
  };
  EXPECT_EQ(read(request, now, taken(1'001'000'000)).reply,
            array_reply({integer_reply(1'001'000'000), integer_reply(1)}));
  auto const old = read(request, now, taken(7));
  ASSERT_EQ(old.type, kind::more);
  EXPECT_EQ(words_of(old.next), "INCRBY {orders}:holdfast_token 1001999993");
  EXPECT_EQ(read(request, old.next, {integer_reply(1'002'000'000)}).reply,
            array_reply({integer_reply(1'002'000'000), integer_reply(1)}));
}

TEST_F(translating, queues_up_without_scripts_and_tries_once_more_if_the_lock_came_free_meanwhile) {
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  auto const request = acquire();
  auto const found = read(request, server_->begin(request, false), busy_after_taking());
  ASSERT_EQ(found.type, kind::more);
  EXPECT_EQ(words_of(found.next), "ZADD {orders}:holdfast_queue 1002000000 me");
  EXPECT_EQ(
      read(request, found.next,
           {integer_reply(1), integer_reply(1), integer_reply(2), text_reply("other"), integer_reply(800)})
          .reply,
      array_reply({integer_reply(800), integer_reply(2), integer_reply(1'002'000'000), integer_reply(5),
                   text_reply("other"), integer_reply(-1)}));
  auto const freed = read(request, found.next,
                          {integer_reply(1), integer_reply(1), integer_reply(0), nil(), integer_reply(-2)});
  ASSERT_EQ(freed.type, kind::more);
  EXPECT_EQ(words_of(freed.next), "MULTI");
}

/// A script of somebody else has granted it the lock between the steps.
TEST_F(translating, takes_the_lock_that_it_was_granted_while_it_queued_up) {
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  auto const request = acquire();
  auto const found = read(request, server_->begin(request, false), busy_after_taking());
  auto const given = read(request, found.next,
                          {integer_reply(1), integer_reply(1), nil(), text_reply("me"), integer_reply(2000)});
  ASSERT_EQ(given.type, kind::more);
  EXPECT_EQ(words_of(given.next), "MULTI");
}

TEST_F(translating, may_have_taken_a_lock_where_no_transaction_was_begun) {
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  auto const request = acquire();
  std::vector<resp::reply> replies(9, integer_reply(1));
  replies[0] = error_reply("NOPERM User jobs has no permissions to run the 'multi' command");
  replies.push_back(error_reply("ERR EXEC without MULTI"));
  auto const refused = read(request, server_->begin(request, false), replies);
  EXPECT_THAT(refused.reply.text, HasSubstr("'multi'"));
  EXPECT_TRUE(refused.carried_out);
  replies[0] = text_reply("OK");
  replies[1] = error_reply("MOVED 7 127.0.0.1:7001");
  replies.back() = error_reply("EXECABORT Transaction discarded because of previous errors.");
  EXPECT_FALSE(read(request, server_->begin(request, false), replies).carried_out);
}

TEST_F(translating, follows_a_slot_in_the_middle_of_its_steps) {
  auto const ask = [] { return error_reply("ASK 7 127.0.0.1:7001"); };
  connect({"DELIFEQ"});
  auto const request = release();
  auto found = read(request, server_->begin(request, false), {integer_reply(1), ask()});
  ASSERT_EQ(found.type, kind::more);
  EXPECT_TRUE(read(request, found.next, {ask()}).reply.is_error("ASK"));
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  found = read(request, server_->begin(request, false), {integer_reply(1), ask(), ask()});
  ASSERT_EQ(found.type, kind::more) << "the queue may be where the slot goes to";
  found = read(request, found.next, {ask()});
  EXPECT_TRUE(found.reply.is_error("ASK"));
  EXPECT_TRUE(found.carried_out);
}

TEST_F(translating, does_not_call_lost_what_is_on_another_node) {
  connect({"DELIFEQ"});
  auto const two =
      to_run(lua::renew{.locks = {{"{a}1"}, {"{a}2"}}, .ttl_ms = 30'000, .owners = {"me", "me"}}(), {});
  auto const found =
      read(two, server_->begin(two, false), {text_reply("OK"), error_reply("ASK 7 127.0.0.1:7001")});
  EXPECT_TRUE(found.reply.is_error("TRYAGAIN")) << "each is renewed by itself then";
}

TEST_F(translating, gives_back_a_lock_whose_counter_is_no_number) {
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  auto const request = acquire();
  auto const found = read(request, server_->begin(request, false),
                          after_taking({text_reply("OK"), text_reply("me"), integer_reply(30'000),
                                        text_reply("string"), error_reply("ERR value is not an integer"),
                                        integer_reply(1), integer_reply(0), clock_at("1002")}));
  ASSERT_EQ(found.type, kind::more);
  EXPECT_EQ(words_of(found.next), "DELIFEQ orders me");
  EXPECT_THAT(read(request, found.next, {integer_reply(1)}).reply.text, HasSubstr("WRONGTYPE"));
}

TEST_F(translating, tells_waiters_one_after_the_other_until_one_hears_it) {
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  auto const request = release();
  auto const waiter = std::string(36, 'a') + ":7";
  auto found =
      read(request, server_->begin(request, false), {integer_reply(1), integer_reply(0), integer_reply(1)});
  EXPECT_EQ(words_of(found.next), "ZPOPMIN {orders}:holdfast_queue");
  found = read(request, found.next, {array_reply({text_reply(waiter), text_reply("5")})});
  EXPECT_EQ(words_of(found.next),
            "PUBLISH {orders}:holdfast_inbox:" + std::string(36, 'a') + " woken 7 orders");
  auto const gone = read(request, found.next, {integer_reply(0)});
  EXPECT_EQ(words_of(gone.next), "ZPOPMIN {orders}:holdfast_queue");
  EXPECT_EQ(read(request, found.next, {integer_reply(1)}).reply, integer_reply(1));
  auto const mute = read(request, found.next, {error_reply("NOPERM no channel")});
  EXPECT_EQ(words_of(mute.next), "ZADD {orders}:holdfast_queue 5 " + waiter);
  EXPECT_EQ(read(request, gone.next, {array_reply({})}).reply, integer_reply(1));
}

TEST(contended_lock, lasts_for_a_number_of_releases) {
  contended_locks all;
  EXPECT_FALSE(all.take("orders"));
  all.note("orders");
  auto taken = 0;
  while (all.take("orders")) ++taken;
  EXPECT_GT(taken, 0);
  EXPECT_FALSE(all.take("orders"));
}

TEST_F(translating, says_a_lock_in_the_fewest_words_that_the_module_has_for_it) {
  connect({"HOLDFAST.TAKE", "HOLDFAST.GIVE", "HOLDFAST.EXCLUSIVE.ACQUIRE", "HOLDFAST.EXCLUSIVE.RELEASE"});
  EXPECT_EQ(words_of(server_->begin(release(), false)), "HOLDFAST.GIVE orders me");
  EXPECT_EQ(words_of(server_->begin(acquire(), false)), "HOLDFAST.TAKE orders me 30000 65");
}

// Two are on their way when the first is refused.
TEST_F(translating, says_it_in_full_when_the_brief_command_may_not_be_used) {
  connect({"HOLDFAST.TAKE", "HOLDFAST.GIVE", "HOLDFAST.EXCLUSIVE.ACQUIRE", "HOLDFAST.EXCLUSIVE.RELEASE"});
  auto const request = release();
  auto const first = server_->begin(request, false);
  auto const second = server_->begin(request, false);
  for (auto const* const now : {&first, &second})
    EXPECT_EQ(
        read(request, *now, {error_reply("NOPERM no permissions to run the 'holdfast.give' command")}).type,
        kind::unsuited);
  EXPECT_THAT(words_of(server_->begin(request, false)),
              testing::StartsWith("HOLDFAST.EXCLUSIVE.RELEASE 3 orders"));
  EXPECT_EQ(words_of(server_->begin(acquire(), false)), "HOLDFAST.TAKE orders me 30000 65");
  EXPECT_THAT(warnings_, SizeIs(1));
}

TEST(capabilities, are_read_from_refusals_too) {
  std::vector<resp::reply> const replies{error_reply("NOPERM no COMMAND"), error_reply("ERR unknown command"),
                                         integer_reply(1)};
  auto const found = read_capabilities(script_trial::wanted, replies);
  EXPECT_EQ(found.native, dialect::none);
  EXPECT_FALSE(found.has_module());
  EXPECT_TRUE(found.scripts);
  EXPECT_EQ(found.connected_us, 0);
}

}  // namespace holdfast::scripting::translator_test
