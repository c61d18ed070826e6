/// Those that wait on a condition, or notify, are killed and frozen, their server is emptied, and their
/// requests are lost, sent twice, and delivered late: each notification ends a wait, and nobody sleeps for
/// ever.
#include "fault.hpp"

#include <holdfast/condition.hpp>

#include <gmock/gmock.h>
#include <future>

#include "scripts/condition.hpp"

namespace holdfast::test {
namespace {

using testing::HasSubstr;

std::string const waiting = "{orders}:holdfast_condition";

class condition_fault : public fault {
 protected:
  using outcome = std::future<std::string>;

  /// Waits once in a thread of its own: "ended", whatever the reason, or the error.
  static outcome wait(mutex& lock, condition& on, std::chrono::milliseconds time = 60s,
                      std::stop_token stop = {}) {
    return std::async(std::launch::async, [&lock, &on, time, stop]() -> std::string {
      try {
        auto held = lock.acquire();
        bool asked = false;
        EXPECT_TRUE(on.wait_for(held, stop, time, [&asked] { return std::exchange(asked, true); }));
        EXPECT_TRUE(held.valid());
        return "ended";
      } catch (error const& failure) {
        return failure.what();
      }
    });
  }
  [[nodiscard]] bool are_waiting(std::int64_t count) {
    return eventually([&] { return raw_.command({"ZCARD", waiting}).integer == count; });
  }
  /// So many wait whose inbox is open.
  [[nodiscard]] bool are_listening(std::size_t count) {
    return eventually([&] {
      auto const all = raw_.command({"ZRANGE", waiting, "0", "-1", "WITHSCORES"}).elements;
      std::size_t listening = 0;
      for (std::size_t i = 1; i < all.size(); i += 2) listening += std::stoll(all[i].text) % 2 == 1 ? 1u : 0u;
      return listening == count;
    });
  }
  [[nodiscard]] worker process() const {
    return worker::session(server_.url(), "mutex_inbox", "orders", 10s);
  }
  void disturb(script const& kind, fate effect) {
    proxy_.once([sha = std::string{kind.sha1}](request const& r) { return kind_of(r) == sha; }, effect);
  }

  flaky_proxy proxy_{server_.socket_path()};
  client redis_{server_.url(), with_long_timeouts()};
  client disturbed_{proxy_.url(), with_long_timeouts({.reply_timeout = 500ms, .cas = cas::lua})};
  mutex lock_{redis_, "orders", {.ttl = 20s}};
  mutex disturbed_lock_{disturbed_, "orders", {.ttl = 20s}};
  condition changed_{redis_, "orders"};
  condition disturbed_changed_{disturbed_, "orders"};
};

TEST_F(condition_fault, passes_over_a_waiter_that_was_killed) {
  auto killed = process();
  killed.write_line("await orders");
  ASSERT_TRUE(are_listening(1));
  auto next = wait(lock_, changed_);
  ASSERT_TRUE(are_waiting(2));
  killed.kill9();
  // Until the server knows that it is gone it may be given one.
  EXPECT_TRUE(eventually([&] {
    (void)changed_.notify_one();
    return next.wait_for(100ms) == std::future_status::ready;
  }));
  EXPECT_EQ(next.get(), "ended");
}

TEST_F(condition_fault, passes_on_what_a_waiter_was_given_that_is_killed_before_it_hears_it) {
  auto killed = process();
  killed.write_line("await orders");
  ASSERT_TRUE(are_listening(1));
  killed.freeze();
  auto next = wait(lock_, changed_);
  ASSERT_TRUE(are_waiting(2));
  EXPECT_EQ(changed_.notify_one(), 1);
  ASSERT_TRUE(are_waiting(1)) << "the killed one was first";
  killed.kill9();
  EXPECT_EQ(next.get(), "ended");
  EXPECT_EQ(changed_.notify_one(), 0);
}

/// Its question is carried out, and takes the last trace of the notification away.
TEST_F(condition_fault, passes_on_what_a_waiter_is_told_that_is_stopped_before_the_reply_comes) {
  client slow{proxy_.url(), with_long_timeouts({.cas = cas::lua})};
  mutex lock{slow, "orders", {.ttl = 60s}};
  condition changed{slow, "orders"};
  std::stop_source stop;
  auto first = wait(lock, changed, 60s, stop.get_token());
  ASSERT_TRUE(are_listening(1));
  auto second = wait(lock_, changed_);
  ASSERT_TRUE(are_listening(2));
  disturb(scripts::condition::ask::source, fate::delay_reply(3s));
  EXPECT_EQ(changed_.notify_one(), 1);
  ASSERT_TRUE(eventually(
      [&] { return raw_.command({"ZCARD", waiting + "_until"}).integer == 1; }));  // that of the second one
  stop.request_stop();
  EXPECT_EQ(first.get(), "ended");
  EXPECT_TRUE(eventually([&] { return second.wait_for(0s) == std::future_status::ready; }));
  changed_.notify_all();
  EXPECT_EQ(second.get(), "ended");
}

TEST_F(condition_fault, passes_on_what_a_frozen_waiter_was_given_and_wakes_it_when_it_is_back) {
  auto frozen = process();
  frozen.write_line("await orders");
  ASSERT_TRUE(are_listening(1));
  frozen.freeze();
  auto next = wait(lock_, changed_);
  ASSERT_TRUE(are_waiting(2));
  EXPECT_EQ(changed_.notify_one(), 1);
  EXPECT_EQ(next.get(), "ended");
  frozen.thaw();
  EXPECT_EQ(frozen.read_line(), "woken");
}

TEST_F(condition_fault, wakes_a_waiter_whose_notifier_is_killed_when_the_lock_is_free) {
  auto notifier = worker::session(server_.url(), "mutex_inbox", "orders", 3s);
  auto waiter = wait(lock_, changed_);
  ASSERT_TRUE(are_waiting(1));
  notifier.write_line("acquire");
  EXPECT_THAT(notifier.read_line(), HasSubstr("held"));
  notifier.write_line("notify orders");
  EXPECT_EQ(notifier.read_line(), "notified 1");
  notifier.kill9();
  EXPECT_EQ(waiter.get(), "ended");
}

TEST_F(condition_fault, wakes_all_when_the_server_comes_back_empty) {
  auto first = wait(lock_, changed_);
  auto second = wait(disturbed_lock_, disturbed_changed_);
  ASSERT_TRUE(are_waiting(2));
  // The waiters know it too: one that doesn't yet asks again, and is told that its lease has gone.
  for (auto* const waiting_client : {&redis_, &disturbed_}) {
    ASSERT_TRUE(mutex(*waiting_client, "others").try_lock());
  }
  server_.kill9();
  server_.start();
  EXPECT_EQ(first.get(), "ended");
  EXPECT_EQ(second.get(), "ended");
  raw_ = server_.raw();
  EXPECT_EQ(changed_.notify_all(), 0);
}

TEST_F(condition_fault, loses_no_notification_with_the_scripts) {
  for (int i = 0; i != 10; ++i) {
    auto waiter = wait(lock_, changed_);
    if (i % 2 == 0) raw_.command({"SCRIPT", "FLUSH"});
    ASSERT_TRUE(are_waiting(1));
    if (i % 3 == 0) raw_.command({"SCRIPT", "FLUSH"});
    EXPECT_EQ(changed_.notify_one(), 1);
    EXPECT_EQ(waiter.get(), "ended");
  }
}

/// One of two waiters, or the notifier, is disturbed: one wait ends for each notification.
TEST_F(condition_fault, ends_one_wait_for_each_notification_whatever_becomes_of_its_requests) {
  namespace lua = scripts::condition;
  auto loading = wait(disturbed_lock_, disturbed_changed_);
  ASSERT_TRUE(are_waiting(1));
  EXPECT_EQ(disturbed_changed_.notify_one(), 1);
  EXPECT_EQ(loading.get(), "ended");
  for (auto const& h : harms) {
    for (auto const* const kind : {&lua::begin::source, &lua::ask::source, &lua::notify::source}) {
      SCOPED_TRACE(std::string{h.title} + ": " + std::string{kind->name});
      // A notifier whose connection breaks has no waiter: that one's inbox is made anew, too, and who can't
      // be reached is passed over.
      auto const of_notifier = kind == &lua::notify::source;
      if (!of_notifier) disturb(*kind, h.effect);
      auto first = of_notifier ? wait(lock_, changed_) : wait(disturbed_lock_, disturbed_changed_);
      ASSERT_TRUE(are_waiting(1));
      auto second = wait(lock_, changed_);
      ASSERT_TRUE(are_waiting(2));
      if (of_notifier) disturb(*kind, h.effect);
      auto& notifier = of_notifier ? disturbed_changed_ : changed_;
      EXPECT_EQ(notifier.notify_one(), 1);
      EXPECT_EQ(notifier.notify_one(), 1);
      EXPECT_EQ(first.get(), "ended");
      EXPECT_EQ(second.get(), "ended");
      EXPECT_EQ(changed_.notify_all(), 0);
    }
  }
  EXPECT_GE(disturbed_.stats().resent, 8u);
}

TEST_F(condition_fault, leaves_nobody_waiting_whatever_becomes_of_the_request_that_leaves) {
  auto loading = wait(disturbed_lock_, disturbed_changed_, 10ms);
  EXPECT_EQ(loading.get(), "ended");
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    for (auto const is_stopped : {false, true}) {
      std::stop_source stop;
      disturb(scripts::condition::leave::source, h.effect);
      auto leaving = wait(disturbed_lock_, disturbed_changed_, is_stopped ? 60s : 20ms, stop.get_token());
      if (is_stopped) {
        ASSERT_TRUE(are_waiting(1));
        stop.request_stop();
      }
      EXPECT_EQ(leaving.get(), "ended");
      EXPECT_TRUE(are_waiting(0));
    }
  }
}

TEST_F(condition_fault, still_holds_the_lease_when_the_server_refuses_the_wait) {
  auto held = lock_.acquire();
  raw_.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(code_of([&] { changed_.wait(held); }), errc::refused);
  raw_.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(raw_.exists("orders"));
  EXPECT_EQ(changed_.wait_for(held, 1ms), std::cv_status::timeout);
  EXPECT_EQ(held.release(), release_result::released);
}

/// The first copy of the request has given the lock back, the second meets a server that isn't ready, and
/// then one that says no for good.
TEST_F(condition_fault, knows_that_a_refused_wait_may_have_begun_by_an_earlier_copy) {
  auto loading = wait(disturbed_lock_, disturbed_changed_, 10ms);
  EXPECT_EQ(loading.get(), "ended");
  auto held = disturbed_lock_.acquire();
  auto const copies = std::make_shared<int>(0);
  proxy_.decide([copies](request const& r) {
    if (kind_of(r) != scripts::condition::begin::source.sha1) return fate::pass();
    switch (++*copies) {
      case 1:
        return fate::cut_after();
      case 2:
        return fate::error("LOADING Redis is loading the dataset in memory");
      default:
        return fate::error("NOPERM this user has no permissions to run this command");
    }
  });
  EXPECT_THROW(disturbed_changed_.wait(held), error);
  EXPECT_EQ(*copies, 3);
  auto const other = lock_.try_acquire_for(20s);
  ASSERT_TRUE(other);
  EXPECT_FALSE(held.valid()) << "two hold it";
  EXPECT_EQ(held.lost_because(), loss_cause::unreachable);
  EXPECT_TRUE(are_waiting(0));
}

/// Its holder has lost it, and gives nothing back.
TEST_F(condition_fault, gives_the_lock_back_when_it_is_in_doubt_whether_a_refused_wait_began) {
  auto loading = wait(disturbed_lock_, disturbed_changed_, 10ms);
  EXPECT_EQ(loading.get(), "ended");
  mutex lasting{disturbed_, "orders", {.ttl = 10min}};
  auto held = lasting.acquire();
  auto const copies = std::make_shared<int>(0);
  proxy_.decide([copies](request const& r) {
    if (kind_of(r) != scripts::condition::begin::source.sha1) return fate::pass();
    return ++*copies == 1 ? fate::cut_before() : fate::error("NOPERM this user has no permissions");
  });
  EXPECT_EQ(code_of([&] { disturbed_changed_.wait(held); }), errc::lost);
  EXPECT_EQ(held.release(), release_result::lost);
  EXPECT_TRUE(lock_.try_acquire_for(20s));
}

/// As behind a restart, and as when it can't be reached.
TEST_F(condition_fault, has_the_lock_again_when_its_time_is_over_while_the_server_loads_its_data) {
  client slow{proxy_.url(), with_long_timeouts({.recheck = 100ms, .cas = cas::lua})};
  mutex lock{slow, "orders", {.ttl = 60s}};
  condition changed{slow, "orders"};
  std::atomic<bool> loading = false;
  auto const decision = proxy_.decide_by([&loading](request const& r) {
    return loading && r.name.find("EVAL") == 0 ? fate::error("LOADING Redis is loading the dataset in memory")
                                               : fate::pass();
  });
  auto waits = wait(lock, changed, 2s);
  ASSERT_TRUE(are_waiting(1));
  loading = true;
  EXPECT_TRUE(always(3s, [&] { return waits.wait_for(0s) != std::future_status::ready; }));
  loading = false;
  EXPECT_EQ(waits.get(), "ended");
}

TEST_F(condition_fault, goes_on_waiting_at_maxmemory) {
  auto waiter = wait(lock_, changed_);
  ASSERT_TRUE(are_listening(1));
  raw_.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_TRUE(always(1500ms, [&] { return waiter.wait_for(0s) != std::future_status::ready; }));
  raw_.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(changed_.notify_one(), 1);
  EXPECT_EQ(waiter.get(), "ended");
}

TEST_F(condition_fault, says_that_the_lease_was_lost_when_the_wait_began_too_late) {
  mutex brief{redis_, "orders", {.ttl = 1s}};
  auto held = brief.acquire();
  std::atomic<bool> told = false;
  held.on_lost([&told](loss_cause) { told = true; });
  server_.freeze();
  EXPECT_THAT(code_of([&] { changed_.wait(held); }), testing::AnyOf(errc::lost, errc::unreachable));
  EXPECT_FALSE(held.valid());
  EXPECT_TRUE(eventually([&] { return told.load(); }));
  server_.thaw();
  EXPECT_TRUE(lock_.try_acquire_for(20s));
  EXPECT_TRUE(are_waiting(0));
}

}  // namespace
}  // namespace holdfast::test
