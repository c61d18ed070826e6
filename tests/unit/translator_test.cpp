#include "unit/translating.hpp"

namespace holdfast::scripting::translator_test {

TEST_F(translating, leaves_scripts_as_they_are_where_there_is_nothing_else) {
  connect({});
  EXPECT_THAT(begin(release(), false).bytes, IsEmpty());
  EXPECT_THAT(begin(renew(), false).bytes, IsEmpty());
  EXPECT_EQ(counts_.way, cas::lua);
  EXPECT_EQ(counts_.by_script, 2U);
}

TEST_F(translating, releases_and_renews_in_the_servers_dialect) {
  connect({"DELEX"});
  EXPECT_EQ(words_of(begin(release(), false)), "DELEX orders IFEQ me");
  EXPECT_EQ(words_of(begin(renew(), false)), "SET orders me IFEQ me PX 30000");
  connect({"DELIFEQ"});
  EXPECT_EQ(words_of(begin(release(), false)), "DELIFEQ orders me");
  connect({"CAD", "CAS"});
  EXPECT_EQ(words_of(begin(release(), false)), "CAD orders me");
  EXPECT_EQ(words_of(begin(renew(), false)), "CAS orders me me PX 30000");
  EXPECT_EQ(counts_.way, cas::native);
  connect({"CAD"});  // something else
  EXPECT_THAT(begin(release(), false).bytes, IsEmpty());
}

TEST_F(translating, answers_as_the_script_would) {
  connect({"DELEX"});
  auto const request = release();
  auto const now = begin(request, false);
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
  auto const found = read(request, begin(request, false), {integer_reply(1), integer_reply(1)});
  ASSERT_EQ(found.type, kind::more);
  EXPECT_THAT(words_of(found.next),
              HasSubstr("EVALSHA " + std::string{lua::abandon::source.sha1} + " 3 orders"));
  auto const forgotten = read(request, found.next, {error_reply("NOSCRIPT No matching script")});
  ASSERT_EQ(forgotten.type, kind::more);
  EXPECT_THAT(words_of(forgotten.next), HasSubstr("EVAL "));
  EXPECT_EQ(read(request, forgotten.next, {integer_reply(0)}).reply, integer_reply(1));
  EXPECT_THAT(begin(release(), false).bytes, IsEmpty());
}

TEST_F(translating, asks_the_script_whose_lock_it_is_that_was_not_the_callers) {
  connect({"DELIFEQ"});
  auto const request = release();
  auto const found = read(request, begin(request, false), {integer_reply(0), integer_reply(0)});
  EXPECT_EQ(found.type, kind::unsuited);
  EXPECT_THAT(begin(request, false).bytes, IsEmpty());
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(translating, tells_the_waiter_that_an_earlier_copy_did_not) {
  connect({"DELEX"});
  auto const request = release();
  auto const found = read(request, begin(request, false), {integer_reply(0), integer_reply(1)}, true);
  EXPECT_EQ(found.type, kind::more);
}

/// The earlier copy may have deleted the lock by another connection, and told nobody.
TEST_F(translating, tells_the_waiter_by_script_what_a_copy_in_steps_did_not) {
  connect({});
  EXPECT_THAT(begin(release(), true).bytes, IsEmpty()) << "no request has gone in steps";
  connect({"DELEX"});
  (void)begin(release(), false);
  server_ = translator_->learn({});  // as after a failover to an older server
  auto const request = release();
  EXPECT_THAT(begin(request, false).bytes, IsEmpty());
  auto const now = begin(request, true);
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
  EXPECT_EQ(
      read(request, begin(request, false), {error_reply("NOPERM no DELEX for you"), integer_reply(0)}).type,
      kind::unsuited);
  EXPECT_THAT(begin(request, false).bytes, IsEmpty());
  EXPECT_EQ(counts_.way, cas::lua);
  connect({"DELEX"});
  auto const renewal = renew();
  EXPECT_EQ(read(renewal, begin(renewal, false), {error_reply("OOM command not allowed")}).type,
            kind::unsuited);
  EXPECT_THAT(begin(renewal, false).bytes, IsEmpty());
  EXPECT_EQ(words_of(begin(release(), false)), "DELEX orders IFEQ me");
  EXPECT_THAT(warnings_, SizeIs(2));
}

TEST_F(translating, says_by_renewals_which_are_gone_and_which_are_foreign) {
  connect({"DELEX"});
  auto const request = renew();
  auto const found = read(request, begin(request, false), {nil()});
  ASSERT_EQ(found.type, kind::more);
  EXPECT_EQ(words_of(found.next), "EXISTS orders");
  EXPECT_EQ(read(request, found.next, {integer_reply(1)}).reply, array_reply({integer_reply(-1)}));
  EXPECT_EQ(read(request, found.next, {integer_reply(0)}).reply, array_reply({integer_reply(1)}));
}

TEST_F(translating, does_not_release_in_steps_what_must_be_granted_at_once) {
  connect({"DELEX"});
  auto request = release();
  request.in_steps = false;
  EXPECT_THAT(begin(request, false).bytes, IsEmpty());
}

TEST_F(translating, says_by_the_module_what_that_serves) {
  connect({"HOLDFAST.EXCLUSIVE.RELEASE", "DELEX"});
  auto const request = release();
  auto const now = begin(request, false);
  EXPECT_EQ(words_of(now),
            "HOLDFAST.EXCLUSIVE.RELEASE 3 orders {orders}:holdfast_token {orders}:holdfast_queue me 100000 "
            "2000 PUBLISH");
  EXPECT_EQ(counts_.way, cas::module);
  EXPECT_EQ(read(request, now, {integer_reply(1)}).reply, integer_reply(1));
  EXPECT_EQ(read(request, now, {error_reply("ERR unknown command 'HOLDFAST.EXCLUSIVE.RELEASE'")}).type,
            kind::unsuited);
  EXPECT_EQ(words_of(begin(request, false)), "DELEX orders IFEQ me");
  EXPECT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(begin(acquire(), false).bytes, IsEmpty());  // of an older module
}

TEST_F(translating, refuses_to_take_a_lock_where_the_wanted_way_is_not_there) {
  connect({}, {.way = cas::native});
  auto const request = acquire();
  auto const now = begin(request, false);
  EXPECT_EQ(words_of(now), "PING");
  EXPECT_THAT(read(request, now, {text_reply("PONG")}).reply.text, HasSubstr("cas=native"));
  EXPECT_THAT(begin(release(), false).bytes, IsEmpty());
  connect({"DELEX"}, {.way = cas::module});
  EXPECT_EQ(words_of(begin(acquire(), false)), "PING");
  connect({"DELEX"}, {.way = cas::lua});
  EXPECT_THAT(begin(release(), false).bytes, IsEmpty());
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
  EXPECT_EQ(words_of(begin(release(), false)), "HOLDFAST.GIVE orders me");
  EXPECT_EQ(words_of(begin(acquire(), false)), "HOLDFAST.TAKE orders me 30000 65");
}

// Two are on their way when the first is refused.
TEST_F(translating, says_it_in_full_when_the_brief_command_may_not_be_used) {
  connect({"HOLDFAST.TAKE", "HOLDFAST.GIVE", "HOLDFAST.EXCLUSIVE.ACQUIRE", "HOLDFAST.EXCLUSIVE.RELEASE"});
  auto const request = release();
  auto const first = begin(request, false);
  auto const second = begin(request, false);
  for (auto const* const now : {&first, &second})
    EXPECT_EQ(
        read(request, *now, {error_reply("NOPERM no permissions to run the 'holdfast.give' command")}).type,
        kind::unsuited);
  EXPECT_THAT(words_of(begin(request, false)), testing::StartsWith("HOLDFAST.EXCLUSIVE.RELEASE 3 orders"));
  EXPECT_EQ(words_of(begin(acquire(), false)), "HOLDFAST.TAKE orders me 30000 65");
  EXPECT_THAT(warnings_, SizeIs(1));
}

TEST_F(translating, goes_by_script_for_a_while_where_the_module_leaves_a_request_to_that) {
  for (auto const way : {cas::automatic, cas::module}) {
    connect({"HOLDFAST.TAKE_PERMITS", "HOLDFAST.PERMITS.ACQUIRE"}, {.way = way});
    auto const request = take_permit();
    auto const first = begin(request, false);
    EXPECT_EQ(words_of(first), "HOLDFAST.TAKE_PERMITS orders me 1 30000 3");
    EXPECT_EQ(read(request, first, {error_reply("BYSCRIPT this needs the script")}).type, kind::unsuited);
    auto by_script = 0;
    while (begin(request, false).bytes.empty()) ++by_script;
    EXPECT_GT(by_script, 1);
    EXPECT_THAT(words_of(begin(request, false)), StartsWith("HOLDFAST.TAKE_PERMITS"));
  }
  EXPECT_THAT(warnings_, IsEmpty());
}

// What it leaves to a script nobody could do.
TEST_F(translating, asks_the_module_for_no_permits_where_no_scripts_run) {
  connect({"HOLDFAST.TAKE_PERMITS", "HOLDFAST.PERMITS.ACQUIRE", "DELEX"}, {}, false);
  auto const request = take_permit();
  auto const now = begin(request, false);
  EXPECT_TRUE(read(request, now, {text_reply("PONG")}).reply.is_error());
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
