// What threads say that wait for one another's locks, and how it is seen. Each request is sent twice.

#include "scripts/deadlock.hpp"
#include "contract/contract.hpp"
#include "script/names.hpp"

namespace holdfast::contract::deadlock_test {

namespace lua = holdfast::scripts::deadlock;
using testing::_;
using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;

constexpr std::string_view wait = "11111111-1111-4111-8111-111111111111:9 1 w 1:b";
constexpr std::string_view other_wait = "11111111-1111-4111-8111-111111111111:10 1 w 1:c";

class deadlock_scripts : public testing::Test {
 protected:
  using reply_matcher = testing::Matcher<raw_reply const&>;

  void say(std::int64_t number, std::string_view text = wait, std::string_view former = {},
           std::vector<std::string> const& owners = {std::string{caller}}) {
    std::vector<std::string> names;
    for (auto const& owner : owners) names.push_back(names::blocked(name_, owner));
    std::vector<key> keys;
    for (auto const& each : names) keys.push_back({each});
    auto const script =
        lua::say{.keys = keys, .wait = text, .number = number, .ttl_ms = minute, .former = former}();
    EXPECT_THAT(raw_.command(eval(script)), is(1));
    auto const before = said(owners.front());
    EXPECT_THAT(raw_.command(eval(script)), is(1));
    EXPECT_EQ(said(owners.front()), before);
  }
  words said(std::string_view owner = caller) {
    words all;
    for (auto const& each :
         raw_.command({"ZRANGE", names::blocked(name_, owner), "0", "-1", "WITHSCORES"}).elements)
      all.push_back(each.text);
    return all;
  }
  void expect_seen(std::string_view held, std::vector<reply_matcher> const& holders) {
    auto const readers = names::readers(name_);
    auto const blocked = names::blocked(name_);
    std::vector<reply_matcher> all{is_number(Gt(1'700'000'000'000'000)), is_text(held)};
    all.insert(all.end(), holders.begin(), holders.end());
    auto const before = raw_.keys();
    EXPECT_THAT(raw_.command(eval(lua::look{.lock = {name_}, .readers = {readers}, .blocked = {blocked}}())),
                is_array(all));
    EXPECT_EQ(raw_.keys(), before);
  }
  static reply_matcher texts(std::vector<std::string_view> const& wanted) {
    std::vector<reply_matcher> all;
    for (auto const each : wanted) all.push_back(is_text(each));
    return is_array(all);
  }
  void hold_alone() { raw_.command({"SET", name_, std::string{caller}}); }
  void read(std::vector<std::pair<std::string_view, std::int64_t>> const& readers) {
    raw_.command({"SET", name_, "holdfast_readers"});
    for (auto const& [owner, end] : readers)
      raw_.command({"ZADD", names::readers(name_), std::to_string(end), std::string{owner}});
  }

  std::string const name_ = "orders";
  raw_redis raw_ = empty_server().raw();
};

TEST_F(deadlock_scripts, say_how_often_it_was_said_and_keep_it_for_a_time) {
  say(1);
  EXPECT_THAT(said(), ElementsAre(wait, "1"));
  EXPECT_THAT(raw_.pttl(names::blocked(name_, caller)), AllOf(Gt(minute / 2), Le(minute)));
  say(2, wait, {}, {std::string{caller}, std::string{sibling}});
  EXPECT_THAT(said(), ElementsAre(wait, "2"));
  EXPECT_THAT(said(sibling), ElementsAre(wait, "2"));
}

TEST_F(deadlock_scripts, put_what_a_wait_is_called_now_in_place_of_the_former) {
  say(7);
  say(1, other_wait, wait);
  EXPECT_THAT(said(), ElementsAre(other_wait, "1"));
}

TEST_F(deadlock_scripts, take_back_that_and_nothing_else) {
  say(1);
  say(1, other_wait);
  say(0);
  EXPECT_THAT(said(), ElementsAre(other_wait, "1"));
  say(0, other_wait);
  EXPECT_THAT(raw_.keys(), IsEmpty());
}

TEST_F(deadlock_scripts, see_for_what_the_holder_waits) {
  hold_alone();
  expect_seen("alone", {});
  say(3);
  say(1, other_wait);
  say(5, other_wait, {}, {std::string{rival}});  // who doesn't have the lock
  expect_seen("alone", {texts({caller, other_wait, "1", wait, "3"})});
}

TEST_F(deadlock_scripts, see_for_what_readers_wait_whose_time_is_not_over) {
  read({{anna_reads, 9'000'000'000'000}, {rival, 9'000'000'000'000}, {ben, 1}});
  say(3, wait, {}, {std::string{anna_reads}});
  say(4, wait, {}, {std::string{ben}});
  expect_seen("by readers", {texts({anna_reads, wait, "3"})});
}

TEST_F(deadlock_scripts, see_nothing_where_something_else_stands) {
  expect_seen("", {});
  raw_.command({"HSET", name_, "a", "b"});
  expect_seen("", {});
  raw_.del(name_);
  hold_alone();
  raw_.command({"SET", names::blocked(name_, caller), "garbage"});
  expect_seen("alone", {});
  raw_.del(names::blocked(name_, caller));
  raw_.command({"ZADD", names::blocked(name_, caller), "1", std::string(5000, 'x'), "2", "short"});
  expect_seen("alone", {texts({caller, "short", "2"})});
  read({});
  expect_seen("by readers", {});
  raw_.command({"SET", names::readers(name_), "garbage"});
  expect_seen("by readers", {});
}

TEST_F(deadlock_scripts, see_no_more_than_a_few_of_many) {
  hold_alone();
  words many{"ZADD", names::blocked(name_, caller)};
  for (auto i = 0; i < 1000; ++i) many.insert(many.end(), {std::to_string(i), "w" + std::to_string(i)});
  raw_.command(many);
  auto const readers = names::readers(name_);
  auto const blocked = names::blocked(name_);
  auto const seen =
      raw_.command(eval(lua::look{.lock = {name_}, .readers = {readers}, .blocked = {blocked}}()));
  EXPECT_EQ(seen.elements.at(2).elements.size(), 17u);
}

}  // namespace holdfast::contract::deadlock_test
