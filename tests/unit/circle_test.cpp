#include "engine/deadlock/circle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "resp/make_reply.hpp"

namespace holdfast::engine::circle_test {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using step = suspicion::step;

std::string uuid(char digit) {
  std::string text{"00000000-0000-4000-8000-000000000000"};
  text.back() = digit;
  return text;
}

/// A process with one thread that waits for `names`; it began as many seconds after the others.
blocked_wait wait_of(char process, std::vector<std::string> names, std::chrono::microseconds since = 0s) {
  return {.id = uuid(process) + ":100", .since = since, .names = std::move(names)};
}

/// What stands beside locks, as a reading finds it.
class locks {
 public:
  /// The thread of that wait holds the lock.
  void hold(std::string const& name, blocked_wait const& by, std::int64_t statements = 1,
            bool reading = false) {
    all_[name].push_back({.name = name,
                          .owner = by.id.substr(0, 36) + ":1",
                          .by_readers = reading,
                          .wait = by,
                          .statements = statements});
  }
  void drop(std::string const& name) { all_.erase(name); }
  void say_again(int times = 1) {
    for (auto& [name, holds] : all_) {
      for (auto& each : holds) each.statements += times;
    }
  }
  [[nodiscard]] std::vector<blocked_hold> read(blocked_wait const& from) const {
    circle_search search{from};
    while (auto const name = search.next()) {
      auto const known = all_.find(*name);
      search.found(known == all_.end() ? std::vector<blocked_hold>{} : known->second);
    }
    return search.circle();
  }
  std::vector<blocked_hold>& at(std::string const& name) { return all_[name]; }

 private:
  std::map<std::string, std::vector<blocked_hold>> all_;
};

std::vector<std::string> names_in(std::vector<blocked_hold> const& circle) {
  std::vector<std::string> names;
  for (auto const& hold : circle) names.push_back(hold.name);
  return names;
}

/// Two threads in opposite order: `older` holds a and wants b, `younger` holds b and wants a.
struct pair_of_threads {
  blocked_wait older = wait_of('1', {"b"}, 1s);
  blocked_wait younger = wait_of('2', {"a"}, 2s);
  locks world;

  pair_of_threads() {
    world.hold("a", older);
    world.hold("b", younger);
  }
};

TEST(circle_search, finds_the_way_back_to_the_wait_that_it_began_with) {
  pair_of_threads two;
  EXPECT_THAT(names_in(two.world.read(two.younger)), ElementsAre("a", "b"));
  EXPECT_THAT(names_in(two.world.read(two.older)), ElementsAre("b", "a"));
}

TEST(circle_search, goes_through_any_number_of_threads_and_by_the_shortest_way) {
  auto const first = wait_of('1', {"b"});
  auto const second = wait_of('2', {"c", "d"});
  auto const third = wait_of('3', {"d"});
  auto const fourth = wait_of('4', {"a"});
  locks world;
  world.hold("a", first);
  world.hold("b", second);
  world.hold("c", third);
  world.hold("d", fourth);
  EXPECT_THAT(names_in(world.read(first)), ElementsAre("b", "d", "a"));
}

TEST(circle_search, finds_a_thread_that_waits_for_itself) {
  auto const alone = wait_of('1', {"a"});
  locks world;
  world.hold("a", alone);
  EXPECT_THAT(names_in(world.read(alone)), ElementsAre("a"));
}

TEST(circle_search, finds_nothing_for_a_thread_outside_of_the_circle_that_it_waits_for) {
  pair_of_threads two;
  EXPECT_THAT(two.world.read(wait_of('3', {"a"})), IsEmpty());
}

TEST(circle_search, finds_nothing_where_the_last_holder_does_not_wait) {
  pair_of_threads two;
  two.world.drop("b");
  EXPECT_THAT(two.world.read(two.younger), IsEmpty());
}

TEST(circle_search, lets_a_writer_wait_for_each_of_the_readers_and_a_reader_for_none) {
  auto reader = wait_of('1', {"b"});
  auto other = wait_of('2', {"x"});
  auto waiting = wait_of('3', {"a"});
  locks world;
  world.hold("a", other, 1, true);
  world.hold("a", reader, 1, true);
  world.hold("b", waiting);
  EXPECT_THAT(names_in(world.read(waiting)), ElementsAre("a", "b"));
  waiting.blocked_by = blocked_by::writer;
  EXPECT_THAT(world.read(waiting), IsEmpty());
}

TEST(circle_search, lets_who_wants_the_upgrade_lease_wait_for_who_has_it_and_that_one_for_the_others) {
  auto const upgrading = wait_of('1', {"b"});
  auto const reading = wait_of('2', {"b"});
  auto waiting = wait_of('3', {"a"});
  auto const world_with = [&waiting](blocked_wait const& by, char const* suffix) {
    locks world;
    world.hold("a", by, 1, true);
    world.at("a").front().owner += suffix;
    world.hold("b", waiting);
    return world;
  };
  waiting.blocked_by = blocked_by::upgrade;
  EXPECT_THAT(names_in(world_with(upgrading, ":u").read(waiting)), ElementsAre("a", "b"));
  EXPECT_THAT(world_with(reading, ":r").read(waiting), IsEmpty());
  waiting.blocked_by = blocked_by::others;
  EXPECT_THAT(world_with(upgrading, ":u").read(waiting), IsEmpty());
  EXPECT_THAT(names_in(world_with(reading, ":r").read(waiting)), ElementsAre("a", "b"));
}

TEST(circle_search, ends_whatever_stands_in_the_keys) {
  locks world;
  for (auto i = 0; i < 5000; ++i) {
    world.hold("n" + std::to_string(i / 50),
               {.id = uuid('1') + ":" + std::to_string(i), .names = {"n" + std::to_string(i % 200), "n7"}});
  }
  EXPECT_THAT(world.read(wait_of('2', {"n0"})), IsEmpty());
}

/// The youngest of a circle, reading by reading.
struct reader_of {
  locks& world;
  blocked_wait const& own;
  suspicion suspected{};
  suspicion::reader by = suspicion::reader::looks_at_it;
  step operator()() { return suspected.judge(world.read(own), own.id, by); }
};

TEST(a_circle, counts_when_all_in_it_have_said_twice_more_that_they_wait) {
  pair_of_threads two;
  reader_of look{two.world, two.younger};
  EXPECT_EQ(look(), step::read_again);
  EXPECT_EQ(look(), step::wait);
  EXPECT_EQ(look(), step::wait);
  two.world.say_again();
  EXPECT_EQ(look(), step::wait);
  two.world.at("b").front().statements += 10;
  EXPECT_EQ(look(), step::wait);
  two.world.at("a").front().statements += 1;
  EXPECT_EQ(look(), step::certain);
}

TEST(a_circle, is_ended_when_those_who_only_look_at_it_have_seen_it) {
  pair_of_threads two;
  reader_of look{.world = two.world, .own = two.younger, .by = suspicion::reader::ends_it};
  EXPECT_EQ(look(), step::read_again);
  EXPECT_EQ(look(), step::wait);
  two.world.say_again(2);
  EXPECT_EQ(look(), step::wait);
  two.world.say_again();
  EXPECT_EQ(look(), step::certain);
}

TEST(a_circle, is_none_if_somebody_gives_up_between_the_readings) {
  pair_of_threads two;
  reader_of look{two.world, two.younger};
  EXPECT_EQ(look(), step::read_again);
  two.world.drop("a");  // says nothing any more
  EXPECT_EQ(look(), step::none);
}

TEST(a_circle, is_none_as_long_as_somebody_says_nothing_any_more_and_is_still_there) {
  pair_of_threads two;
  reader_of look{two.world, two.younger};
  EXPECT_EQ(look(), step::read_again);
  for (auto i = 0; i < 20; ++i) {
    EXPECT_EQ(look(), step::wait);
    two.world.at("b").front().statements += 1;  // the other one is dead, or its end is on its way
  }
}

TEST(a_circle, begins_anew_if_a_wait_is_another_one) {
  pair_of_threads two;
  reader_of look{two.world, two.younger};
  EXPECT_EQ(look(), step::read_again);
  EXPECT_EQ(look(), step::wait);
  two.world.say_again(9);
  two.world.at("a").front().wait.id = two.older.id + "7";  // it gave up, and waits once more
  EXPECT_EQ(look(), step::read_again);
  EXPECT_EQ(look(), step::wait);
  two.world.say_again(2);
  EXPECT_EQ(look(), step::certain);
}

TEST(a_circle, begins_anew_if_a_holder_has_another_lease) {
  pair_of_threads two;
  reader_of look{two.world, two.younger};
  EXPECT_EQ(look(), step::read_again);
  EXPECT_EQ(look(), step::wait);
  two.world.say_again(2);
  two.world.at("a").front().owner += "7";
  EXPECT_EQ(look(), step::read_again);
}

TEST(a_circle, is_ended_by_its_youngest_and_by_the_next_if_that_one_does_not) {
  pair_of_threads two;
  reader_of younger{two.world, two.younger};
  reader_of older{two.world, two.older};
  for (auto const& look : {&younger, &older}) {
    EXPECT_EQ((*look)(), step::read_again);
    EXPECT_EQ((*look)(), step::wait);
  }
  two.world.say_again(2);
  EXPECT_EQ(older(), step::wait);
  EXPECT_EQ(younger(), step::certain);
  two.world.say_again(4);
  EXPECT_EQ(older(), step::certain);
}

TEST(a_circle, has_one_youngest_if_two_began_together) {
  auto const first = wait_of('1', {"b"});
  auto const second = wait_of('2', {"a"});
  EXPECT_NE(first.younger_than(second), second.younger_than(first));
}

TEST(what_a_thread_waits_for, is_read_as_it_was_written) {
  blocked_wait const wait{.id = uuid('1') + ":7",
                          .since = 1'700'000'000'000'000us,
                          .blocked_by = blocked_by::writer,
                          .names = {"a", "3:b 4:", std::string{"\0\n", 2}}};
  auto const read = blocked_wait::from_text(wait.to_text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, wait.id);
  EXPECT_EQ(read->since, wait.since);
  EXPECT_EQ(read->blocked_by, wait.blocked_by);
  EXPECT_EQ(read->names, wait.names);
}

TEST(what_a_thread_waits_for, says_for_whom_it_waits) {
  for (auto const by : {blocked_by::all, blocked_by::writer, blocked_by::upgrade, blocked_by::others}) {
    auto wait = wait_of('1', {"a"}, 5s);
    wait.blocked_by = by;
    auto const read = blocked_wait::from_text(wait.to_text());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->blocked_by, by);
  }
}

TEST(what_a_thread_waits_for, is_nothing_where_something_else_stands) {
  auto const id = uuid('1') + ":7";
  for (auto const& text : std::vector<std::string>{"",
                                                   " ",
                                                   id,
                                                   id + " ",
                                                   id + " 1",
                                                   id + " 1 ",
                                                   id + " 1 w",
                                                   id + " 1 w ",
                                                   id + " x w 1:a",
                                                   id + " 1 q 1:a",
                                                   id + " 1 w 2:a",
                                                   id + " 1 w 1:ab",
                                                   id + " 1 w :a",
                                                   id + " 1 w -1:a",
                                                   id + " 1 w 99999999999999999999:a",
                                                   id + " 1 w 1a",
                                                   "web-1:7 1 w 1:a",
                                                   id + " 99999999999999999999 w 1:a",
                                                   id + " -9223372036854775808 w 1:a",
                                                   id + " 0 w 1:a",
                                                   std::string(70000, ' ')}) {
    EXPECT_FALSE(blocked_wait::from_text(text)) << text;
  }
}

TEST(what_a_thread_waits_for, is_read_from_a_reply_and_the_rest_of_it_ignored) {
  auto const wait = wait_of('1', {"b"}, 5s).to_text();
  auto const list = [](std::vector<std::string> const& texts) {
    std::vector<resp::reply> all;
    for (auto const& each : texts) all.push_back(resp::make_text(each));
    return resp::make_array(std::move(all));
  };
  auto const reply =
      resp::make_array({resp::make_integer(7), resp::make_text("by readers"),
                        list({uuid('1') + ":1", wait, "3", "garbage", "4"}), list({}), list({"x"}),
                        list({"x", wait, "-1", wait, "nan", wait, "1e300", wait}), resp::make_integer(9)});
  auto const found = read_blocked_holds("a", reply);
  EXPECT_EQ(found.now, 7us);
  ASSERT_EQ(found.all.size(), 1u);
  EXPECT_EQ(found.all.front().owner, uuid('1') + ":1");
  EXPECT_TRUE(found.all.front().by_readers);
  EXPECT_EQ(found.all.front().statements, 3);
  EXPECT_EQ(found.all.front().wait.since, 5s);
  EXPECT_THAT(read_blocked_holds("a", {}).all, IsEmpty());
}

}  // namespace holdfast::engine::circle_test
