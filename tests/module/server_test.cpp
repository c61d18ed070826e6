// What the server knows of the module's commands, and when it refuses them.

#include <future>

#include "module/module_test.hpp"
#include "support/eventually.hpp"

namespace holdfast::module_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

words texts(raw_reply const& reply) {
  words all;
  for (auto const& element : reply.elements) all.push_back(element.text);
  return all;
}

class server_with_module : public testing::Test {
 protected:
  static void SetUpTestSuite() { server = std::make_unique<test::redis_server>(arguments()); }
  static void TearDownTestSuite() { server.reset(); }
  void SetUp() override { raw_.command({"FLUSHALL"}); }
  raw_reply command(words const& command_words) { return raw_.command(command_words); }

  static inline std::unique_ptr<test::redis_server> server;
  raw_redis raw_ = server->raw();
};

TEST_F(server_with_module, says_its_version_and_the_scripts_that_it_serves) {
  auto const reply = texts(command({"HOLDFAST.VERSION"}));
  ASSERT_FALSE(reply.empty());
  EXPECT_THAT(reply[0], testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  for (auto const* const name : {"take",
                                 "give",
                                 "exclusive.acquire",
                                 "exclusive.release",
                                 "exclusive.pass",
                                 "exclusive.abandon",
                                 "exclusive.renew",
                                 "exclusive.release_unwanted",
                                 "fair.acquire",
                                 "fair.pass",
                                 "take_shared",
                                 "give_shared",
                                 "shared.acquire",
                                 "shared.release",
                                 "shared.renew",
                                 "take_permits",
                                 "give_permits",
                                 "permits.acquire",
                                 "permits.release",
                                 "permits.renew",
                                 "redisson_lock.acquire",
                                 "redisson_lock.release",
                                 "redisson_lock.pass",
                                 "redisson_lock.abandon",
                                 "redisson_lock.renew"})
    EXPECT_THAT(reply, Contains(name));
}

TEST_F(server_with_module, is_not_loaded_twice_and_goes_on) {
  EXPECT_TRUE(command({"MODULE", "LOAD", module_file()}).is_error());
  EXPECT_THAT(command(acquire(caller)), is_list_of(2));
}

TEST_F(server_with_module, knows_the_keys_of_each_command) {
  auto get_keys = words{"COMMAND", "GETKEYS"};
  for (auto const& word : acquire(caller)) get_keys.push_back(word);
  EXPECT_THAT(texts(command(get_keys)), ElementsAre("a", "{a}:holdfast_token", "{a}:holdfast_queue"));
  EXPECT_THAT(
      texts(command({"COMMAND", "GETKEYS", "HOLDFAST.EXCLUSIVE.RENEW", "2", "a", "b", "1", "x", "y"})),
      ElementsAre("a", "b"));
  EXPECT_THAT(texts(command({"COMMAND", "GETKEYS", "CAD", "a", "x"})), ElementsAre("a"));
  EXPECT_THAT(texts(command({"COMMAND", "GETKEYS", "HOLDFAST.TAKE", "a", "x", "1"})), ElementsAre("a"));
  EXPECT_THAT(texts(command({"COMMAND", "GETKEYS", "HOLDFAST.SHARED.RELEASE", "4", "a", "b", "c", "d", "x",
                             "0", "1", "PUBLISH"})),
              ElementsAre("a", "b", "c", "d"));
  for (auto const* const number : {"0", "-1", "4611686018427387904", "x", "99"}) {
    EXPECT_TRUE(command({"COMMAND", "GETKEYS", "HOLDFAST.EXCLUSIVE.RENEW", number, "a", "1", "x"}).is_error())
        << number;
  }
}

// tests/contract holds these two to the tables in this form; here is what they mean when words are left out.
TEST_F(server_with_module, takes_and_gives_in_few_words_and_finds_the_side_keys_by_the_name) {
  for (auto const& [name, counter] : {std::pair{"a", "{a}:holdfast_token"},
                                      {"{a}", "{a}::holdfast_token"},
                                      {"x}", "x}::holdfast_token"},
                                      {"", "{}:holdfast_token"}}) {
    auto const taken = command({"HOLDFAST.TAKE", name, caller, "30000"});
    ASSERT_THAT(taken, is_list_of(2)) << name;
    EXPECT_THAT(taken.elements[1], is(1));
    EXPECT_EQ(raw_.get(name), caller);
    EXPECT_EQ(raw_.get(counter), std::to_string(taken.elements[0].integer));
    EXPECT_THAT(command({"HOLDFAST.TAKE", name, rival, "30000", "1", "ask"}), is_list_of(6));
    EXPECT_THAT(command({"HOLDFAST.GIVE", name, rival}), is(-1));
    EXPECT_THAT(command({"HOLDFAST.GIVE", name, caller}), is(1));
    EXPECT_FALSE(raw_.exists(name));
    command({"DEL", counter});
  }
  command({"HOLDFAST.TAKE", "a", caller, "30000"});
  command({"HOLDFAST.TAKE", "a", waiter, "30000"});
  EXPECT_THAT(command({"ZRANGE", "{a}:holdfast_queue", "0", "-1"}), is_list_of(1));
}

TEST_F(server_with_module, leaves_readers_and_permits_to_the_script_where_somebody_waits) {
  auto const reader = std::string{caller} + ":r";
  EXPECT_THAT(command({"HOLDFAST.TAKE_SHARED", "a", reader, "30000"}), is_list_of(2));
  EXPECT_EQ(raw_.get("a"), "holdfast_readers");
  EXPECT_THAT(command({"HOLDFAST.TAKE_PERMITS", "p", caller, "2", "30000", "2"}), is_list_of(2));
  EXPECT_THAT(command({"HOLDFAST.TAKE_PERMITS", "p", rival, "1", "30000", "2"}), is_error("BYSCRIPT"));
  for (auto const* const queue : {"{a}:holdfast_queue", "{p}:holdfast_permit_queue"})
    command({"ZADD", queue, "1", waiter});
  auto const before = command({"DEBUG", "DIGEST"}).text;
  for (auto const& call : {words{"TAKE_SHARED", "a", reader, "30000"},
                           {"GIVE_SHARED", "a", reader},
                           {"TAKE_PERMITS", "p", caller, "1", "30000", "9"},
                           {"GIVE_PERMITS", "p", caller}}) {
    auto prefixed = call;
    prefixed[0].insert(0, "HOLDFAST.");
    EXPECT_THAT(command(prefixed), is_error("BYSCRIPT")) << call[0];
  }
  EXPECT_EQ(command({"DEBUG", "DIGEST"}).text, before);
  for (auto const* const queue : {"{a}:holdfast_queue", "{p}:holdfast_permit_queue"}) command({"DEL", queue});
  EXPECT_THAT(command({"HOLDFAST.GIVE_SHARED", "a", reader}), is(1));
  EXPECT_THAT(command({"HOLDFAST.GIVE_PERMITS", "p", caller}), is(1));
  EXPECT_FALSE(raw_.exists("a") || raw_.exists("{a}:holdfast_readers") || raw_.exists("p"));
}

/// More of them than it keeps texts for.
TEST_F(server_with_module, gives_permits_of_many_sizes_back) {
  constexpr int sizes = 9;
  auto const name = [](int size) { return "p" + std::to_string(size); };
  for (int size = 1; size <= sizes; ++size)
    EXPECT_THAT(command({"HOLDFAST.TAKE_PERMITS", name(size), caller, "1", "30000", std::to_string(size)}),
                is_list_of(2));
  for (int size = 1; size <= sizes; ++size) {
    EXPECT_THAT(command({"HOLDFAST.GIVE_PERMITS", name(size), rival}), is(0));
    EXPECT_THAT(command({"HOLDFAST.GIVE_PERMITS", name(size), caller}), is(1));
    EXPECT_FALSE(raw_.exists(name(size)));
  }
}

TEST_F(server_with_module, documents_each_command) {
  for (auto const& name : texts(command({"HOLDFAST.VERSION"}))) {
    if (name.find('_') == std::string::npos && name.find("acquire") == std::string::npos) continue;
    auto const docs = command({"COMMAND", "DOCS", "holdfast." + name});
    ASSERT_EQ(docs.elements.size(), 2u) << name;
    auto const facts = texts(docs.elements[1]);
    EXPECT_THAT(facts, Contains("summary")) << name;
    EXPECT_THAT(facts, Contains("arguments")) << name;
  }
}

TEST_F(server_with_module, shows_what_it_has_done) {
  auto const count = [this](std::string const& field) {
    auto const text = raw_.info("holdfast", "holdfast_" + field);
    return text.empty() ? -1 : std::stoll(text);
  };
  auto const taken = count("taken");
  auto const busy = count("busy");
  auto const released = count("released");
  auto const renewed = count("renewed");
  auto const lost = count("lost");
  ASSERT_GE(taken, 0);
  command(acquire(caller));
  command(acquire(rival, "ask"));
  command(renew(caller));
  command(renew(rival));
  command(release(caller));
  EXPECT_EQ(count("taken"), taken + 1);
  EXPECT_EQ(count("busy"), busy + 1);
  EXPECT_EQ(count("renewed"), renewed + 1);
  EXPECT_EQ(count("lost"), lost + 1);
  EXPECT_EQ(count("released"), released + 1);
}

TEST_F(server_with_module, obeys_the_rights_of_its_caller_to_keys_and_commands) {
  command({"ACL", "SETUSER", "tenant", "reset", "on", "nopass", "~a", "~{a}:*", "+@all",
           "-holdfast.exclusive.renew"});
  auto tenant = server->raw();
  tenant.command({"AUTH", "tenant", "any"});
  EXPECT_THAT(tenant.command(acquire(caller)), is_list_of(2));
  EXPECT_THAT(tenant.command(renew(caller)), is_error("NOPERM"));
  EXPECT_THAT(tenant.command({"HOLDFAST.EXCLUSIVE.ACQUIRE", "3", "a", "{a}:holdfast_token",
                              "{b}:holdfast_queue", caller, "30000", "1", "join", ""}),
              is_error("NOPERM"));
}

// A channel is an argument on Redisson's wire: without a check anybody could say anything anywhere.
TEST_F(server_with_module, tells_nobody_on_channels_that_its_caller_has_no_right_to) {
  command({"ACL", "SETUSER", "tenant", "reset", "on", "nopass", "~*", "+@all", "resetchannels", "&mine"});
  auto tenant = server->raw();
  tenant.command({"AUTH", "tenant", "any"});
  auto const published = raw_.calls_of("publish");
  for (auto const* const channel : {"mine", "foreign"}) {
    tenant.command({"HOLDFAST.REDISSON_LOCK.ACQUIRE", "1", "a", caller, "30000", "1"});
    EXPECT_THAT(tenant.command({"HOLDFAST.REDISSON_LOCK.RELEASE", "1", "a", caller, "PUBLISH", channel}),
                is(1));
  }
  EXPECT_EQ(raw_.calls_of("publish"), published + 1);
}

TEST_F(server_with_module, works_inside_transactions_and_scripts) {
  command({"MULTI"});
  command(acquire(caller));
  command(release(caller));
  EXPECT_THAT(command({"EXEC"}).elements, ElementsAre(is_list_of(2), is(1)));
  EXPECT_THAT(
      command({"EVAL", "return redis.call('HOLDFAST.EXCLUSIVE.RENEW', 1, KEYS[1], 1000, 'x')", "1", "a"}),
      is_list_of(1));
}

// Whoever asks for a busy lock doesn't disturb those who watch it.
TEST_F(server_with_module, aborts_a_transaction_only_when_a_watched_key_has_changed) {
  command(acquire(rival));
  auto other = server->raw();
  command({"WATCH", "a"});
  other.command(acquire(caller, "ask"));
  other.command(release(caller));
  command({"MULTI"});
  command({"PING"});
  EXPECT_THAT(command({"EXEC"}), is_list_of(1));
  command({"WATCH", "a"});
  other.command(renew(rival));
  command({"MULTI"});
  command({"PING"});
  EXPECT_TRUE(command({"EXEC"}).is_nil());
}

TEST_F(server_with_module, tells_of_keyspace_events_as_the_plain_commands_would) {
  command({"CONFIG", "SET", "notify-keyspace-events", "KA"});
  EXPECT_THAT(command(acquire(caller)), is_list_of(2));
  EXPECT_THAT(command(release(caller)), is(1));
  command({"CONFIG", "SET", "notify-keyspace-events", ""});
}

TEST_F(server_with_module, compares_and_sets_and_deletes_with_the_syntax_of_tair_string) {
  EXPECT_THAT(command({"CAS", "k", "x", "y"}), is(-1));
  EXPECT_THAT(command({"CAD", "k", "x"}), is(-1));
  command({"SET", "k", "x", "PX", "60000"});
  EXPECT_THAT(command({"CAS", "k", "other", "y"}), is(0));
  EXPECT_THAT(command({"CAS", "k", "x", "y", "keepttl"}), is(1));
  EXPECT_EQ(raw_.get("k"), "y");
  EXPECT_GT(raw_.pttl("k"), 30'000);
  EXPECT_THAT(command({"CAS", "k", "y", "y", "PX", "20000"}), is(1));
  EXPECT_THAT(raw_.pttl("k"), testing::AllOf(testing::Gt(10'000), testing::Le(20'000)));
  EXPECT_THAT(command({"CAS", "k", "y", "12", "EX", "5"}), is(1));
  EXPECT_THAT(command({"CAS", "k", "12", "13"}), is(1));
  EXPECT_EQ(raw_.pttl("k"), -1);
  EXPECT_THAT(command({"CAS", "k", "13", "14", "PXAT", "4102444800000"}), is(1));
  EXPECT_GT(raw_.pttl("k"), 60'000);
  for (auto const& end : {words{"PX"}, {"PX", "0"}, {"PX", "x"}, {"NX"}, {"PX", "1", "KEEPTTL"}}) {
    words call{"CAS", "k", "14", "z"};
    call.insert(call.end(), end.begin(), end.end());
    EXPECT_TRUE(command(call).is_error()) << end[0];
  }
  EXPECT_THAT(command({"CAD", "k", "z"}), is(0));
  EXPECT_THAT(command({"CAD", "k", "14"}), is(1));
  EXPECT_FALSE(raw_.exists("k"));
  command({"RPUSH", "list", "x"});
  EXPECT_THAT(command({"CAS", "list", "x", "y"}), is_error("WRONGTYPE"));
  EXPECT_THAT(command({"CAD", "list", "x"}), is_error("WRONGTYPE"));
}

TEST(module_of_a_server, leaves_cas_and_cad_to_others_when_it_is_told_to) {
  test::redis_server const server{arguments({"no-cas"})};
  EXPECT_THAT(server.raw().command({"CAS", "k", "x", "y"}), is_error("ERR unknown command"));
  EXPECT_THAT(server.raw().command(acquire(caller)), is_list_of(2));
}

TEST(module_of_a_server, refuses_other_arguments) {
  EXPECT_THROW(test::redis_server const server{arguments({"no-such-thing"})}, std::runtime_error);
}

/// FOUND 488: what it replicated by that name was dropped without a word.
TEST(module_of_a_server, refuses_a_server_whose_replicas_would_lack_what_it_does) {
  auto words = arguments({});
  words.insert(words.end(), {"--rename-command", "PEXPIREAT", "hidden"});
  EXPECT_THROW(test::redis_server const server{words}, std::runtime_error);
}

TEST(module_of_a_server, is_loaded_and_unloaded_while_locks_are_held) {
  test::redis_server const server{{"--enable-module-command", "yes"}};
  auto raw = server.raw();
  for (auto round = 0; round < 3; ++round) {
    EXPECT_THAT(raw.command(acquire(caller)), is_error("ERR unknown command"));
    EXPECT_FALSE(raw.command({"MODULE", "LOAD", module_file()}).is_error());
    EXPECT_TRUE(raw.command({"MODULE", "LOAD", module_file()}).is_error());
    EXPECT_THAT(raw.command(acquire(caller)), is_list_of(2));
    EXPECT_FALSE(raw.command({"MODULE", "UNLOAD", "holdfast"}).is_error());
    EXPECT_EQ(raw.get("a"), caller);
  }
}

/// FOUND 555: the server reads what it has freed for the connections whose last command was the module's, in
/// CLIENT LIST, and for those that have queued one, at EXEC.
TEST(module_of_a_server, closes_connections_in_which_its_commands_are_remembered_when_it_is_unloaded) {
  test::redis_server const server{arguments({"--enable-module-command", "yes"})};
  std::vector<raw_redis> open;
  auto const connection_after = [&](std::vector<words> const& commands) {
    open.push_back(server.raw());
    auto const id = open.back().command({"CLIENT", "ID"}).integer;
    open.back().pipeline(commands);
    return "id=" + std::to_string(id) + " ";
  };
  std::vector const callers{connection_after({{"HOLDFAST.VERSION"}}), connection_after({{"CAD", "k", "x"}}),
                            connection_after({acquire(caller)}),
                            connection_after({{"MULTI"}, acquire(waiter), {"PING"}})};
  auto const bystander =
      connection_after({acquire(rival), {"CLIENT", "SETNAME", "cmd=cad"}, {"CLIENT", "GETNAME"}});

  auto raw = server.raw();
  raw.pipeline({{"MULTI"}, {"MODULE", "UNLOAD", "holdfast"}, {"EXEC"}});
  EXPECT_THAT(raw.command({"HOLDFAST.VERSION"}), is_error("ERR unknown command"));
  auto const left = raw.command({"CLIENT", "LIST"}).text;
  for (auto const& each : callers) EXPECT_THAT(left, testing::Not(testing::HasSubstr(each)));
  EXPECT_THAT(left, testing::HasSubstr(bystander));
}

TEST(module_of_a_server, closes_a_connection_whose_transaction_waits_for_the_end_of_a_pause) {
  test::redis_server const server{arguments({"--enable-module-command", "yes"})};
  auto raw = server.raw();
  auto asks = server.raw();
  asks.pipeline({{"MULTI"}, acquire(waiter)});
  raw.command({"CLIENT", "PAUSE", "60000", "WRITE"});
  auto waits = std::async(std::launch::async, [&] { return asks.command({"EXEC"}); });
  auto const is_there = [&] {
    return raw.command({"CLIENT", "LIST"}).text.find(" cmd=exec ") != std::string::npos;
  };
  ASSERT_TRUE(test::eventually(is_there));
  raw.command({"MODULE", "UNLOAD", "holdfast"});
  EXPECT_FALSE(is_there());
  raw.command({"CLIENT", "UNPAUSE"});
  EXPECT_THROW(waits.get(), std::runtime_error);
}

TEST(module_of_a_server, stays_where_it_cannot_know_who_remembers_its_commands) {
  auto words = arguments({});
  words.insert(words.end(), {"--rename-command", "CLIENT", "hidden", "--enable-module-command", "yes"});
  test::redis_server const server{words};
  auto raw = server.raw();
  EXPECT_TRUE(raw.command({"MODULE", "UNLOAD", "holdfast"}).is_error());
  EXPECT_FALSE(raw.command({"HOLDFAST.VERSION"}).is_error());
}

// What gives memory back, or takes none, works at maxmemory; the first write of an acquisition doesn't.
TEST(module_of_a_server, gives_back_and_renews_where_memory_is_used_up) {
  test::redis_server const server{arguments()};
  auto raw = server.raw();
  raw.command({"SET", "k", "x"});
  raw.command({"SET", "l", "x"});
  raw.command({"HOLDFAST.REDISSON_LOCK.ACQUIRE", "1", "r", caller, "30000", "1"});
  raw.command(acquire(caller));
  raw.command(acquire(waiter));
  raw.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_THAT(
      raw.command({"HOLDFAST.EXCLUSIVE.ACQUIRE", "3", "b", "c", "d", caller, "30000", "1", "ask", ""}),
      is_error("OOM"));
  EXPECT_THAT(raw.command({"HOLDFAST.REDISSON_LOCK.ACQUIRE", "1", "s", caller, "30000", "1"}),
              is_error("OOM"));
  EXPECT_THAT(raw.command({"HOLDFAST.REDISSON_LOCK.ACQUIRE", "1", "r", rival, "30000", "1"}), is_list_of(6));
  EXPECT_THAT(raw.command({"HOLDFAST.REDISSON_LOCK.ACQUIRE", "1", "r", caller, "30000", "1"}), is(1));
  EXPECT_THAT(raw.command(renew(caller)), is_list_of(0));
  EXPECT_THAT(raw.command(release(caller, "0")), is(1));
  EXPECT_THAT(raw.command({"CAS", "k", "x", "x", "PX", "10000"}), is(1));
  EXPECT_THAT(raw.command({"CAS", "k", "x", "y", "PX", "10000"}), is_error("OOM"));
  EXPECT_THAT(raw.command({"CAD", "k", "x"}), is(1));
  EXPECT_THAT(raw.command({"HOLDFAST.FAIR.ACQUIRE", "3", "b", "c", "d", caller, "30000", "1", "join", "", "0",
                           "2000", "PUBLISH"}),
              is_error("OOM"));
}

}  // namespace
}  // namespace holdfast::module_test
