// What goes on without scripts, in several steps.
#include "unit/translating.hpp"
#include "wire/plain/quorum.hpp"

namespace holdfast::scripting::translator_test {

TEST_F(translating, does_without_scripts_where_they_are_refused_or_unwanted) {
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  EXPECT_EQ(words_of(begin(acquire(), false)), "MULTI");
  connect({"DELIFEQ"}, {}, false);
  EXPECT_TRUE(translator_->scriptless());
  EXPECT_EQ(words_of(begin(acquire(), false)), "MULTI");
  connect({}, {}, false);
  auto const now = begin(acquire(), false);
  EXPECT_THAT(now.note, HasSubstr("no compare-and-delete"));
  EXPECT_THAT(now.note, HasSubstr("+eval"));
  auto const fair = to_run(call{scripts::fair::pass::source, {{"orders"}}, {}}, {});
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  EXPECT_THAT(begin(fair, false).note, HasSubstr("needs one"));
}

TEST_F(translating, goes_on_without_scripts_when_they_are_refused_in_the_middle) {
  connect({"DELIFEQ"});
  auto const refusal = error_reply("NOPERM User default has no permissions to run the 'evalsha' command");
  EXPECT_TRUE(server_->reconsiders(acquire(), refusal));
  EXPECT_EQ(words_of(begin(acquire(), false)), "MULTI");
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
  auto const now = begin(request, false);
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
  auto const found = read(request, begin(request, false), busy_after_taking());
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
  auto const found = read(request, begin(request, false), busy_after_taking());
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
  auto const refused = read(request, begin(request, false), replies);
  EXPECT_THAT(refused.reply.text, HasSubstr("'multi'"));
  EXPECT_TRUE(refused.carried_out);
  replies[0] = text_reply("OK");
  replies[1] = error_reply("MOVED 7 127.0.0.1:7001");
  replies.back() = error_reply("EXECABORT Transaction discarded because of previous errors.");
  EXPECT_FALSE(read(request, begin(request, false), replies).carried_out);
}

TEST_F(translating, follows_a_slot_in_the_middle_of_its_steps) {
  auto const ask = [] { return error_reply("ASK 7 127.0.0.1:7001"); };
  connect({"DELIFEQ"});
  auto const request = release();
  auto found = read(request, begin(request, false), {integer_reply(1), ask()});
  ASSERT_EQ(found.type, kind::more);
  EXPECT_TRUE(read(request, found.next, {ask()}).reply.is_error("ASK"));
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  found = read(request, begin(request, false), {integer_reply(1), ask(), ask()});
  ASSERT_EQ(found.type, kind::more) << "the queue may be where the slot goes to";
  found = read(request, found.next, {ask()});
  EXPECT_TRUE(found.reply.is_error("ASK"));
  EXPECT_TRUE(found.carried_out);
}

TEST_F(translating, does_not_call_lost_what_is_on_another_node) {
  connect({"DELIFEQ"});
  auto const two =
      to_run(lua::renew{.locks = {{"{a}1"}, {"{a}2"}}, .ttl_ms = 30'000, .owners = {"me", "me"}}(), {});
  auto const found = read(two, begin(two, false), {text_reply("OK"), error_reply("ASK 7 127.0.0.1:7001")});
  EXPECT_TRUE(found.reply.is_error("TRYAGAIN")) << "each is renewed by itself then";
}

TEST_F(translating, gives_back_a_lock_whose_counter_is_no_number) {
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  auto const request = acquire();
  auto const found = read(request, begin(request, false),
                          after_taking({text_reply("OK"), text_reply("me"), integer_reply(30'000),
                                        text_reply("string"), error_reply("ERR value is not an integer"),
                                        integer_reply(1), integer_reply(0), clock_at("1002")}));
  ASSERT_EQ(found.type, kind::more);
  EXPECT_EQ(words_of(found.next), "DELIFEQ orders me");
  EXPECT_THAT(read(request, found.next, {integer_reply(1)}).reply.text, HasSubstr("WRONGTYPE"));
}

TEST_F(translating, gives_a_vote_back_and_keeps_its_place_in_the_queue) {
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  auto const yield = [](std::string_view ticket) {
    return to_run(recipes::plain::quorum.votes->yield({"orders", "me"}, ticket, 1), {});
  };
  auto const leaving = yield("");
  auto const now = begin(leaving, false);
  EXPECT_EQ(now.replies, 2u);
  EXPECT_EQ(read(leaving, now, {integer_reply(1), integer_reply(1)}).reply, integer_reply(1));
  auto const waiting = yield("1002000000");
  auto const later = begin(waiting, false);
  EXPECT_EQ(later.replies, 3u) << "the place, and how long the queue lasts";
  EXPECT_EQ(read(waiting, later, {integer_reply(1), integer_reply(0), integer_reply(1)}).reply,
            integer_reply(1));
}

TEST_F(translating, tells_waiters_one_after_the_other_until_one_hears_it) {
  connect({"DELIFEQ"}, {.scripts = script_trial::unwanted});
  auto const request = release();
  auto const waiter = std::string(36, 'a') + ":7";
  auto found = read(request, begin(request, false), {integer_reply(1), integer_reply(0), integer_reply(1)});
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

}  // namespace holdfast::scripting::translator_test
