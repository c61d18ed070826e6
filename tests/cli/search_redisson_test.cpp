// `holdfast ls`, `watch` and `release --force` on Redisson's wire.
#include "objects_of_java.hpp"

#include <chrono>
#include <set>

namespace {

using namespace holdfast::test;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
namespace of_redisson = holdfast::names::redisson;

class ls_redisson : public objects_of_java {
 protected:
  words found(words const& more) {
    words arguments{"ls", "--names"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    auto command = start(arguments);
    EXPECT_EQ(command.wait(), 0) << command.err();
    words names;
    std::istringstream lines{command.out()};
    for (std::string line; std::getline(lines, line);) names.push_back(line);
    return names;
  }
};

TEST_F(ls_redisson, finds_every_kind_and_nothing_else) {
  lock("orders");
  read("prices", java);
  permits("licenses", 1);
  take("licenses", 'a');
  permits("a{x}b", 1);
  take("a{x}b", 'a');
  permits("waited for", 0);
  listen(of_redisson::semaphore_channel("waited for"));
  permits("latch", 1);
  listen(of_redisson::latch_channel("latch"));
  permits("idle", 5);
  permits("all in", 5);
  redis.command({"HSET", "session:1", "user", "anna"});
  redis.command({"HSET", "settings", "mode", "read", "path", "/"});
  redis.command({"ZADD", "{nobody's}:timeout", "1", "x"});
  listen("redisson_sc:");
  listen("redisson_x");
  EXPECT_THAT(found({"--wire", "redisson"}),
              UnorderedElementsAre("orders", "prices", "licenses", "a{x}b", "waited for", "latch"));
}

TEST_F(ls_redisson, shows_a_name_once_that_was_held_on_the_plain_wire_before) {
  hold("orders");
  redis.del("orders");
  lock("orders");
  EXPECT_THAT(found({}), ElementsAre("orders"));
}

TEST_F(ls_redisson, looks_a_whole_name_up_without_a_search) {
  permits("idle", 5);
  EXPECT_THAT(found({"--wire", "redisson", "idle"}), ElementsAre("idle"));
  EXPECT_EQ(redis.calls_of("scan"), 0U);
  for (auto const* const name : {"orders:1", "orders:2", "stock"}) lock(name);
  permits("orders:3", 1);
  take("orders:3", 'a');
  EXPECT_THAT(found({"--wire", "redisson", "orders:*"}),
              UnorderedElementsAre("orders:1", "orders:2", "orders:3"));
}

TEST_F(ls_redisson, finds_all_among_many_keys_and_never_asks_for_all_at_once) {
  std::vector<words> all;
  for (int i = 0; i != 5'000; ++i) all.push_back({"HSET", "session:" + std::to_string(i), "user", "anna"});
  for (int i = 0; i != 200; ++i) all.push_back({"HSET", "job:" + std::to_string(i), java, "1"});
  redis.pipeline(all);
  auto const names = found({"--wire", "redisson"});
  EXPECT_EQ((std::set<std::string>{names.begin(), names.end()}.size()), 200U);
  EXPECT_EQ(redis.calls_of("keys"), 0U);
  EXPECT_LT(redis.calls_of("pttl"), 500U) << "most hashes need no closer look";
}

TEST_F(ls_redisson, shows_numbers_where_there_is_no_one_holder) {
  read("prices", holdfast_owner);
  read("prices", java);
  permits("licenses", 1);
  take("licenses", 'a');
  auto command = start({"ls", "--wire", "redisson"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.out(),
              AllOf(testing::ContainsRegex("prices +read_write +web-3:812 \\+1 +nightly import"),
                    testing::ContainsRegex("licenses +permits +1 of 2 out")));
}

TEST_F(ls_redisson, says_which_wires_there_are) {
  auto command = start({"ls", "--wire", "java"});
  EXPECT_EQ(command.wait(), 64);
  EXPECT_THAT(command.err(), HasSubstr("plain"));
}

class watch_redisson : public objects_of_java {
 protected:
  /// The next event is `event`, with no other event before it.
  testing::AssertionResult prints_next(std::string const& event) {
    expected_.push_back(event);
    words events;
    auto const complete = [&] {
      events.clear();
      for (auto const& object : objects(watcher_.out())) events.push_back(object.at("event"));
      return events.size() >= expected_.size();
    };
    if (eventually(complete) && events == expected_) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "instead of " << event << ": " << watcher_.out() << watcher_.err();
  }
  [[nodiscard]] json last() const { return objects(watcher_.out()).back(); }

 private:
  process watcher_ = start({"watch", "--json", "--interval", "10ms", "orders"});
  words expected_{};
};

TEST_F(watch_redisson, tells_what_happens_to_a_lock) {
  ASSERT_TRUE(prints_next("seen"));
  lock("orders");
  ASSERT_TRUE(prints_next("acquired"));
  redis.command({"HSET", "orders", java, "2"});
  ASSERT_TRUE(prints_next("counted"));
  EXPECT_EQ(last().at("holders")[0].at("count"), 2);
  wait_in_fair_queue("orders", other_java, 300'000);
  ASSERT_TRUE(prints_next("waiting"));
  redis.del("orders");
  ASSERT_TRUE(prints_next("released"));
}

TEST_F(watch_redisson, tells_of_readers_that_come_and_go) {
  ASSERT_TRUE(prints_next("seen"));
  read("orders", java);
  ASSERT_TRUE(prints_next("acquired"));
  read("orders", other_java);
  ASSERT_TRUE(prints_next("joined"));
  EXPECT_EQ(last().at("who").at("owner"), other_java);
  redis.command({"HDEL", "orders", java});
  ASSERT_TRUE(prints_next("left"));
  EXPECT_EQ(last().at("who").at("owner"), java);
  redis.del("orders");
  ASSERT_TRUE(prints_next("released"));
}

TEST_F(watch_redisson, tells_of_permits_and_numbers) {
  ASSERT_TRUE(prints_next("seen"));
  permits("orders", 2);
  ASSERT_TRUE(prints_next("became"));
  permits("orders", 1);
  ASSERT_TRUE(prints_next("counted"));
  take("orders", 'a');
  ASSERT_TRUE(prints_next("joined"));
  redis.command({"ZREM", of_redisson::permits("orders"), std::string(16, 'a')});
  ASSERT_TRUE(prints_next("left"));
  redis.del("orders");
  ASSERT_TRUE(prints_next("became"));
}

class release_redisson : public objects_of_java {
 protected:
  process force(words const& more) const {
    words all{"release", "--force", "--yes", "--grace", "60s"};
    all.insert(all.end(), more.begin(), more.end());
    return start(all);
  }
};

TEST_F(release_redisson, takes_a_lock_from_java_at_once_however_often_it_is_held) {
  lock("orders", java, 2);
  auto command = force({"orders"});
  EXPECT_EQ(command.wait(std::chrono::seconds{40}), 0) << "nobody can be asked, so nobody is waited for";
  EXPECT_THAT(command.err(), HasSubstr("which can't be asked (it is not a known client of Holdfast)"));
  EXPECT_FALSE(redis.exists("orders"));
}

TEST_F(release_redisson, takes_one_reader_or_all) {
  for (auto const* const owner : {java, other_java}) read("prices", owner);
  auto first_release = force({"--owner", java, "prices"});
  EXPECT_EQ(first_release.wait(), 0);
  EXPECT_EQ(inspected("prices").at("holding"), 1);
  auto repeated = force({"--owner", java, "prices"});
  EXPECT_EQ(repeated.wait(), 75);
  read("prices", java);
  auto all = force({"prices"});
  EXPECT_EQ(all.wait(), 0);
  EXPECT_THAT(all.err(), HasSubstr("was taken from all 2 holders"));
  EXPECT_FALSE(redis.exists("prices"));
  write("prices", java);
  EXPECT_EQ(force({"--owner", java, "prices"}).wait(), 0);
  EXPECT_FALSE(redis.exists("prices"));
}

TEST_F(release_redisson, takes_one_permit_or_all) {
  permits("licenses", 0);
  for (char const id : {'a', 'b', 'c'}) take("licenses", id);
  EXPECT_EQ(force({"--owner", "61616161616161616161616161616161", "licenses"}).wait(), 0);
  EXPECT_EQ(redis.get("licenses"), "1");
  EXPECT_EQ(force({"--owner", "61616161616161616161616161616161", "licenses"}).wait(), 75);
  EXPECT_EQ(redis.get("licenses"), "1");
  EXPECT_EQ(force({"licenses"}).wait(), 0);
  EXPECT_EQ(redis.get("licenses"), "3");
  EXPECT_FALSE(redis.exists(of_redisson::permits("licenses")));
}

TEST_F(release_redisson, leaves_counters_alone_and_says_what_to_do_instead) {
  permits("uploads", 3);
  auto command = force({"--foreign", "uploads"});
  EXPECT_EQ(command.wait(), 65);
  EXPECT_THAT(command.err(), AllOf(HasSubstr("the number 3"), HasSubstr("count a latch down")));
  EXPECT_EQ(redis.get("uploads"), "3");
}

TEST_F(release_redisson, leaves_permits_alone_whose_number_is_none) {
  redis.command({"SET", "licenses", "lots"});
  take("licenses", 'a');
  auto command = force({"licenses"});
  EXPECT_EQ(command.wait(), 65);
  EXPECT_THAT(command.err(), HasSubstr("something that is no number"));
}

}  // namespace
