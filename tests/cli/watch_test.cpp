#include "locks_of_others.hpp"
#include "support/rounds.hpp"

#include <signal.h>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class watch : public raw_locks {
 protected:
  process watching(words const& more = {}) const {
    words all{"watch", "--json", "--interval", "10ms", "orders"};
    all.insert(all.end(), more.begin(), more.end());
    return start(all);
  }

  static std::vector<std::string> events(process const& watcher) {
    std::vector<std::string> all;
    for (auto const& object : objects(watcher.out())) all.push_back(object.at("event"));
    return all;
  }
  /// The next event is `event`, and no other one came.
  static testing::AssertionResult prints_next(process const& watcher, std::vector<std::string>& expected,
                                              std::string const& event) {
    expected.push_back(event);
    if (!eventually([&] { return events(watcher).size() >= expected.size(); }) || events(watcher) != expected)
      return testing::AssertionFailure() << "instead of " << event << ": " << watcher.out() << watcher.err();
    return testing::AssertionSuccess();
  }
};

TEST_F(watch, tells_what_happens_in_order) {
  auto watcher = watching();
  std::vector<std::string> all;
  ASSERT_TRUE(prints_next(watcher, all, "seen"));
  redis.command({"SET", "orders", std::string{uuid} + ":1", "PX", "60000"});
  ASSERT_TRUE(prints_next(watcher, all, "acquired"));
  wait_for("orders");
  ASSERT_TRUE(prints_next(watcher, all, "waiting"));
  redis.command({"SET", "orders", std::string{uuid} + ":2", "PX", "60000"});
  ASSERT_TRUE(prints_next(watcher, all, "passed_on"));
  redis.command({"SET", "orders", std::string{other_uuid} + ":7", "PX", "60000"});
  ASSERT_TRUE(prints_next(watcher, all, "handed_over"));
  redis.del("orders");
  ASSERT_TRUE(prints_next(watcher, all, "released"));
  redis.command({"SET", holdfast::names::token_counter("orders"), "41"});
  ASSERT_TRUE(prints_next(watcher, all, "held_meanwhile"));
  redis.command({"HSET", "orders", "field", "value"});
  ASSERT_TRUE(prints_next(watcher, all, "became"));

  auto const printed = objects(watcher.out());
  EXPECT_EQ(printed[1].at("holder").at("host"), "web-3");
  EXPECT_EQ(printed[1].at("before"), nullptr);
  EXPECT_EQ(printed[2].at("waiting"), 1);
  EXPECT_EQ(printed[4].at("before").at("host"), "web-3");
  EXPECT_EQ(printed[4].at("holder").at("owner"), std::string{other_uuid} + ":7");
  EXPECT_EQ(printed[6].at("token"), 41);
  EXPECT_THAT(printed[0].at("at").get<std::string>(),
              testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}.[0-9]{3}Z"));
  watcher.signal(SIGINT);
  EXPECT_EQ(watcher.wait(), 128 + SIGINT);
}

TEST_F(watch, tells_a_lock_that_ran_out_from_one_given_back) {
  passes_in_one_round_of(5, [&] {  // the watcher must look at least once in the last second
    redis.command({"SET", "orders", std::string{uuid} + ":1", "PX", "60000"});
    auto watcher = watching();
    EXPECT_TRUE(eventually([&] { return events(watcher).size() == 1; }));
    redis.command({"PEXPIRE", "orders", "1000"});
    EXPECT_TRUE(eventually([&] { return events(watcher).size() == 2; }));
    EXPECT_THAT(events(watcher), ElementsAre("seen", "expired"));
  });
}

TEST_F(watch, writes_lines_for_people_and_ends_in_time) {
  hold("orders");
  wait_for("orders");
  auto watcher = start({"watch", "--for", "50ms", "orders"});
  EXPECT_EQ(watcher.wait(), 0);
  EXPECT_THAT(
      watcher.out(),
      testing::MatchesRegex("....-..-..T..:..:..\\....Z  held for 4. s by web-3 pid 812 'nightly import', "
                            "token [0-9]+, 1 waiting\n"));
}

TEST_F(watch, goes_on_when_the_server_comes_back) {
  auto watcher = watching();
  std::vector<std::string> all;
  ASSERT_TRUE(prints_next(watcher, all, "seen"));
  server.stop();
  ASSERT_TRUE(prints_next(watcher, all, "unreachable"));
  server.start();
  ASSERT_TRUE(prints_next(watcher, all, "seen"));
}

TEST_F(watch, is_not_heard_as_a_waiter_or_a_holder) {
  hold("orders");
  auto watcher = watching();
  ASSERT_TRUE(eventually([&] { return events(watcher).size() == 1; }));
  EXPECT_TRUE(redis.client_ids("pubsub").empty());
  EXPECT_EQ(redis.command({"PUBSUB", "NUMPAT"}).integer, 0);
}

TEST_F(watch, ends_when_nobody_reads_though_nothing_happens) {
  for (std::string const trap : {"", "trap '' PIPE; "}) {
    process pipe{{"bash", "-c",
                  trap + HOLDFAST_CLI " watch --interval 10ms --url " + server.url() +
                      " orders | head -1; exit ${PIPESTATUS[0]}"}};
    EXPECT_EQ(pipe.wait(), 128 + SIGPIPE) << trap;
    EXPECT_THAT(pipe.out(), HasSubstr("free")) << trap;
    EXPECT_EQ(pipe.err(), "") << trap;
  }
}

}  // namespace
