// What becomes of checked writes whose answers are lost, and whose copies come late.

#include "store.hpp"
#include "support/eventually.hpp"
#include "support/failure_of.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/fence.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

constexpr auto written = fence_result::written;
constexpr auto refused_stale = fence_result::refused_stale;

class etcd_fence_faults : public testing::Test {
 protected:
  etcd_fence_faults() { the_store().set_terms(1, 1); }

  /// What another writer makes of a mark.
  static auto noted(std::string const& token, int writers) {
    return [token, writers](std::string const& before) {
      auto text = "holdfast fence " + token;
      for (int i = 0; i != writers; ++i) text += "\nother:" + std::to_string(i) + " 1";
      auto const line = before.find('\n');
      if (writers != 16 && line != std::string::npos) text += before.substr(line);
      return text;
    };
  }

  client etcd_{"etcd://memory", {.patience = wait_limit}};
  client other_{"etcd://memory", {.patience = wait_limit}};
};

TEST_F(etcd_fence_faults, a_write_whose_answer_is_lost_is_made_once) {
  fence orders{etcd_, "lost"};
  for (int i = 0; i != 3; ++i) {  // the first one makes the mark
    the_store().next_put(store::fate::lost);
    EXPECT_EQ(orders.append("lost.log", "x", 7), written);
    EXPECT_EQ(orders.increment("lost.count", 2, 7), written);
    the_store().next_put(store::fate::lost);
    EXPECT_EQ(orders.increment("lost.count", 3, 7), written);
  }
  EXPECT_EQ(the_store().value("lost.log"), "xxx");
  EXPECT_EQ(the_store().value("lost.count"), "15");
}

/// FOUND 471. It would be forgotten though somebody wanted it remembered for ever.
TEST_F(etcd_fence_faults, a_mark_that_another_one_has_made_meanwhile_keeps_its_time) {
  fence orders{etcd_, "meanwhile", {.remember = 1h}};
  etcd::put const mark{.key = "meanwhile:holdfast_fence", .value = "holdfast fence 3\nother:1 1"};
  the_store().next_put(store::fate::held_back, mark);
  EXPECT_EQ(orders.set("meanwhile.total", "1", 7), written);
  EXPECT_EQ(the_store().lease_of("meanwhile:holdfast_fence"), 0);
}

TEST_F(etcd_fence_faults, a_copy_that_comes_late_changes_nothing) {
  fence orders{etcd_, "late"};
  fence elsewhere{other_, "late"};
  the_store().hold_back_next_put();
  EXPECT_EQ(orders.set("late.total", "1", 7), written);
  ASSERT_TRUE(the_store().holds_back());
  EXPECT_EQ(elsewhere.set("late.total", "2", 7), written);
  the_store().carry_out();
  EXPECT_EQ(the_store().value("late.total"), "2");
  the_store().hold_back_next_put();
  EXPECT_EQ(orders.append("late.total", "1", 7), written);
  ASSERT_TRUE(the_store().holds_back());
  the_store().carry_out();
  EXPECT_EQ(the_store().value("late.total"), "21");
  the_store().hold_back_next_put();
  EXPECT_EQ(orders.erase("late.total", 7), written);
  ASSERT_TRUE(the_store().holds_back());
  EXPECT_EQ(orders.set("late.total", "3", 7), written);
  the_store().carry_out();
  EXPECT_EQ(the_store().value("late.total"), "3");
}

/// The old value comes back, and the mark is as it was: by the value alone the copy would fit.
TEST_F(etcd_fence_faults, a_copy_for_an_old_value_that_has_come_back_changes_nothing) {
  fence orders{etcd_, "back"};
  EXPECT_EQ(orders.set("back.count", "1", 7), written);
  the_store().hold_back_next_put();
  the_store().change_meanwhile("back.count", [](std::string const&) { return "5"; });
  EXPECT_EQ(orders.increment("back.count", 1, 7), written);
  ASSERT_TRUE(the_store().holds_back());
  EXPECT_EQ(the_store().value("back.count"), "6");
  EXPECT_EQ(orders.set("back.count", "1", 7), written);
  the_store().carry_out();
  EXPECT_EQ(the_store().value("back.count"), "1");
}

TEST_F(etcd_fence_faults, a_write_was_made_though_a_newer_token_has_come_before_it_was_asked_about) {
  fence orders{etcd_, "before"};
  EXPECT_EQ(orders.claim(7), written);
  the_store().next_put(store::fate::lost);
  the_store().change_meanwhile("before:holdfast_fence", noted("9", 3));
  EXPECT_EQ(orders.append("before.log", "x", 7), written);
  EXPECT_EQ(the_store().value("before.log"), "x");
  EXPECT_EQ(orders.append("before.log", "y", 7), refused_stale);
  EXPECT_EQ(orders.newest(), 9);
}

TEST_F(etcd_fence_faults, a_write_that_was_not_made_is_made_or_refused_by_what_has_come_since) {
  fence orders{etcd_, "since"};
  EXPECT_EQ(orders.claim(7), written);
  the_store().hold_back_next_put();
  the_store().change_meanwhile("since:holdfast_fence", noted("7", 2));
  EXPECT_EQ(orders.append("since.log", "x", 7), written);
  ASSERT_TRUE(the_store().holds_back());
  the_store().carry_out();
  EXPECT_EQ(the_store().value("since.log"), "x");
  the_store().hold_back_next_put();
  the_store().change_meanwhile("since:holdfast_fence", noted("8", 2));
  EXPECT_EQ(orders.append("since.log", "y", 7), refused_stale);
  the_store().carry_out();
  EXPECT_EQ(the_store().value("since.log"), "x");
}

TEST_F(etcd_fence_faults, says_that_a_write_may_have_been_made_when_the_mark_tells_it_no_more) {
  fence orders{etcd_, "many"};
  EXPECT_EQ(orders.claim(7), written);
  the_store().next_put(store::fate::lost);
  the_store().change_meanwhile("many:holdfast_fence", noted("7", 16));
  auto const [code, what] = failure_of([&] { (void)orders.append("many.log", "x", 7); });
  EXPECT_EQ(code, errc::unreachable);
  EXPECT_THAT(what, HasSubstr("many.log"));
  EXPECT_THAT(what, HasSubstr("look before you try again"));
  EXPECT_EQ(orders.append("many.log", "y", 7), written);
  EXPECT_EQ(the_store().value("many.log"), "xy");
  // Without a lost answer it doesn't matter how many write.
  the_store().hold_back_next_put();
  EXPECT_EQ(orders.append("many.log", "z", 7), written);
  EXPECT_EQ(the_store().value("many.log"), "xyz");
  the_store().carry_out();
}

TEST_F(etcd_fence_faults, a_key_that_changes_in_between_is_read_again) {
  fence orders{etcd_, "between"};
  EXPECT_EQ(orders.set("between.log", "a", 7), written);
  the_store().hold_back_next_put();
  the_store().change_meanwhile("between.log", [](std::string const& before) { return before + "b"; });
  EXPECT_EQ(orders.append("between.log", "c", 7), written);
  EXPECT_EQ(the_store().value("between.log"), "abc");
  the_store().carry_out();
  EXPECT_EQ(the_store().value("between.log"), "abc");
}

/// FOUND 475.
TEST_F(etcd_fence_faults, writes_that_wait_for_others_do_not_wait_for_their_time_outs_too) {
  constexpr std::size_t count = 8;
  std::mutex guard;
  std::multiset<int> requests_until_failure;
  client etcd{"etcd://memory", {.connect_timeout = 500ms, .reply_timeout = 1s}};
  fence orders{etcd, "outage"};
  the_store().answer_transactions(false);
  for (std::size_t i = 0; i != count; ++i) {
    orders.async_set("outage.total", "1", 7, [&](std::optional<fence_result>, std::exception_ptr const& why) {
      EXPECT_TRUE(why);
      std::lock_guard const hold{guard};
      requests_until_failure.insert(the_store().transactions_without_answer());
    });
  }
  EXPECT_TRUE(eventually([&] {
    std::lock_guard const hold{guard};
    return requests_until_failure.size() == count;
  }));
  the_store().answer_transactions(true);
  // Most fail without a request of their own.
  EXPECT_LE(std::set<int>(requests_until_failure.begin(), requests_until_failure.end()).size(), count / 2);
}

/// FOUND 475.
TEST_F(etcd_fence_faults, a_write_ends_though_others_write_all_the_time) {
  client etcd{"etcd://memory", {.connect_timeout = 100ms, .reply_timeout = 200ms}};
  fence orders{etcd, "crowd"};
  auto const until = std::chrono::steady_clock::now() + wait_limit;
  std::atomic<bool> too_long = false;
  the_store().before_puts([&, number = 0]() mutable -> etcd::operation {
    too_long = std::chrono::steady_clock::now() > until;
    if (too_long) return etcd::range{.key = "crowd"};
    return etcd::put{.key = "crowd:holdfast_fence",
                     .value = "holdfast fence 7\nother:1 " + std::to_string(++number)};
  });
  auto const [code, what] = failure_of([&] { (void)orders.set("crowd.total", "1", 7); });
  the_store().before_puts({});
  EXPECT_FALSE(too_long);
  EXPECT_EQ(code, errc::refused);
  EXPECT_THAT(what, HasSubstr("others write to it all the time"));
  EXPECT_EQ(the_store().value("crowd.total"), "");
}

}  // namespace
}  // namespace holdfast::test
