/// holdfast::condition: who waits gives the lock back, is notified in its turn, and has the lock again.
#include "waiting.hpp"

#include <holdfast/condition.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <gmock/gmock.h>
#include <deque>
#include <future>
#include <thread>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string const waiting = "{orders}:holdfast_condition";

/// Clients that hear of a notification by message alone.
class notifying : public two_clients {
 protected:
  /// Waits once, in a thread of its own, without a predicate. The time is for tests that fail.
  [[nodiscard]] std::future<std::cv_status> wait(mutex& lock, condition& on) {
    return std::async(std::launch::async, [&] {
      auto held = lock.acquire();
      auto const before = held.token();
      auto const status = on.wait_for(held, 60s);
      EXPECT_TRUE(held.valid());
      EXPECT_GT(held.token(), before);
      return status;
    });
  }
  [[nodiscard]] bool are_waiting(std::int64_t count) {
    return eventually([&] { return raw_.command({"ZCARD", waiting}).integer == count; });
  }
  /// So many wait, and all of them hear messages: then none of them asks any more.
  [[nodiscard]] bool are_listening(std::size_t count) {
    return eventually([&] {
      auto const all = raw_.command({"ZRANGE", waiting, "0", "-1", "WITHSCORES"}).elements;
      std::size_t listening = 0;
      for (std::size_t i = 1; i < all.size(); i += 2) listening += std::stoll(all[i].text) % 2 == 1 ? 1u : 0u;
      return all.size() == 2 * count && listening == count;
    });
  }
  template <class T>
  [[nodiscard]] static bool is_done(std::future<T> const& result) {
    return result.wait_for(0s) == std::future_status::ready;
  }

  mutex here_{first_client_, "orders", {.ttl = 20s}};
  mutex there_{second_client_, "orders", {.ttl = 20s}};
  condition changed_here_{first_client_, "orders"};
  condition changed_there_{second_client_, "orders"};
};

TEST_F(notifying, ends_the_waits_one_by_one_in_the_order_in_which_they_began) {
  std::vector<std::future<std::cv_status>> waits;
  for (int i = 0; i != 4; ++i) {
    waits.push_back(i % 2 == 0 ? wait(here_, changed_here_) : wait(there_, changed_there_));
    ASSERT_TRUE(are_listening(static_cast<std::size_t>(i) + 1));
  }
  for (std::size_t i = 0; i != waits.size(); ++i) {
    EXPECT_EQ(changed_there_.notify_one(), 1);
    EXPECT_EQ(waits[i].get(), std::cv_status::no_timeout);
    for (auto next = i + 1; next != waits.size(); ++next) EXPECT_FALSE(is_done(waits[next])) << next;
  }
  EXPECT_EQ(changed_here_.notify_one(), 0);
}

TEST_F(notifying, ends_all_waits) {
  std::vector<std::future<std::cv_status>> waits;
  for (int i = 0; i != 6; ++i)
    waits.push_back(i % 2 == 0 ? wait(here_, changed_here_) : wait(there_, changed_there_));
  ASSERT_TRUE(are_waiting(6));
  EXPECT_EQ(changed_here_.notify_all(), 6);
  for (auto& each : waits) EXPECT_EQ(each.get(), std::cv_status::no_timeout);
  EXPECT_EQ(changed_here_.notify_all(), 0);
  EXPECT_FALSE(raw_.exists(waiting));
  EXPECT_FALSE(raw_.exists("{orders}:holdfast_condition_until"));
}

/// Each passes the ball on under the lock, by a notification that comes as soon as the lock is to be had.
TEST_F(notifying, is_never_lost_between_giving_the_lock_back_and_waiting) {
  constexpr int rounds = 40;
  int turn = 0;
  auto const play = [&](mutex& lock, condition& changed, int own) {
    auto held = lock.acquire();
    for (int i = 0; i != rounds; ++i) {
      if (!changed.wait_for(held, 60s, [&] { return turn % 2 == own; })) return false;
      ++turn;
      changed.notify_one();
    }
    return true;
  };
  auto other = std::async(std::launch::async, [&] { return play(there_, changed_there_, 1); });
  EXPECT_TRUE(play(here_, changed_here_, 0));
  EXPECT_TRUE(other.get());
  EXPECT_EQ(turn, 2 * rounds);
}

/// With more consumers than goods, by one notification for each.
TEST_F(notifying, has_every_piece_taken_by_one_consumer) {
  constexpr int pieces = 60;
  std::deque<int> store;
  int taken = 0;
  std::vector<std::future<void>> consumers;
  for (int i = 0; i != 4; ++i) {
    consumers.push_back(std::async(std::launch::async, [&, at_home = i % 2 == 0] {
      auto held = (at_home ? here_ : there_).acquire();
      auto& changed = at_home ? changed_here_ : changed_there_;
      while (true) {
        changed.wait(held, [&] { return !store.empty(); });
        auto const piece = store.front();
        if (piece < 0) return;
        store.pop_front();
        ++taken;
      }
    }));
  }
  for (int i = 0; i != pieces; ++i) {
    {
      auto const held = there_.acquire();
      store.push_back(i);
    }
    changed_there_.notify_one();
  }
  auto held = here_.acquire();
  store.push_back(-1);
  held.release();
  EXPECT_TRUE(eventually([&] {
    changed_here_.notify_all();
    return std::ranges::all_of(consumers, [](auto const& each) { return is_done(each); });
  }));
  EXPECT_EQ(taken, pieces);
}

TEST_F(notifying, ends_a_wait_whose_time_is_up_without_a_trace) {
  auto held = here_.acquire();
  auto const before = held.token();
  EXPECT_EQ(changed_here_.wait_for(held, 30ms), std::cv_status::timeout);
  EXPECT_TRUE(held.valid());
  EXPECT_GT(held.token(), before);
  EXPECT_FALSE(there_.try_acquire());
  EXPECT_EQ(changed_here_.wait_for(held, 0s), std::cv_status::timeout);
  EXPECT_EQ(changed_here_.wait_until(held, std::chrono::system_clock::now() - 1h), std::cv_status::timeout);
  EXPECT_FALSE(changed_here_.wait_for(held, 1ms, [] { return false; }));
  EXPECT_TRUE(changed_here_.wait_for(held, 1ms, [] { return true; }));
  EXPECT_EQ(changed_there_.notify_all(), 0);
  EXPECT_TRUE(held.valid());
  held.release();
  EXPECT_TRUE(nothing_left_behind(raw_));
}

/// Whoever was notified, and nobody else, hears of it.
TEST_F(notifying, tells_one_whose_time_is_up_at_that_moment_whether_it_was_notified) {
  constexpr auto time = 3ms;
  for (int i = 0; i != 100; ++i) {
    auto const name = "orders " + std::to_string(i);
    mutex lock{first_client_, name};
    condition waits{first_client_, name};
    condition notifies{second_client_, name};
    auto held = lock.acquire();
    auto const start = std::chrono::steady_clock::now();
    auto waiter = std::async(std::launch::async, [&] { return waits.wait_for(held, time); });
    std::this_thread::sleep_until(start + time + std::chrono::microseconds{20 * i});
    auto const notified = notifies.notify_one();
    ASSERT_EQ(waiter.get(), notified == 1 ? std::cv_status::no_timeout : std::cv_status::timeout) << i;
  }
}

TEST_F(notifying, ends_a_wait_that_is_stopped_and_holds_the_lock) {
  std::stop_source stop;
  auto held = here_.acquire();
  auto waiter = std::async(std::launch::async,
                           [&] { return changed_here_.wait(held, stop.get_token(), [] { return false; }); });
  ASSERT_TRUE(are_waiting(1));
  stop.request_stop();
  EXPECT_FALSE(waiter.get());
  EXPECT_TRUE(held.valid());
  auto const token = held.token();
  EXPECT_FALSE(changed_here_.wait(held, stop.get_token(), [] { return false; }));
  EXPECT_TRUE(changed_here_.wait(held, stop.get_token(), [] { return true; }));
  EXPECT_EQ(held.token(), token) << "it hasn't waited";
  EXPECT_EQ(changed_there_.notify_all(), 0);
}

/// One is stopped, and the other isn't: whatever the first one hears, somebody wakes up.
TEST_F(notifying, goes_to_the_next_when_the_first_is_stopped_at_that_moment) {
  for (int i = 0; i != 40; ++i) {
    auto const name = "orders " + std::to_string(i);
    mutex lock{first_client_, name};
    condition changed{first_client_, name};
    condition notifies{second_client_, name};
    std::stop_source stop;
    std::atomic<int> woken = 0;
    auto const key = "{" + name + "}:holdfast_condition";
    auto const wait_for_it = [&](std::stop_token const& token) {
      auto held = lock.acquire();
      bool told = false;
      (void)changed.wait_for(held, token, 60s, [&] { return std::exchange(told, true); });
      if (!token.stop_requested()) ++woken;
    };
    auto first = std::async(std::launch::async, [&] { wait_for_it(stop.get_token()); });
    ASSERT_TRUE(eventually([&] { return raw_.command({"ZCARD", key}).integer == 1; }));
    auto second = std::async(std::launch::async, [&] { wait_for_it({}); });
    ASSERT_TRUE(eventually([&] { return raw_.command({"ZCARD", key}).integer == 2; }));
    auto stopping = std::async(std::launch::async, [&] { stop.request_stop(); });
    EXPECT_EQ(notifies.notify_one(), 1);
    first.get();
    stopping.get();
    if (!is_done(second)) notifies.notify_all();  // the first has heard it before it was stopped
    second.get();
    EXPECT_GE(woken, 1);
  }
}

TEST_F(notifying, lets_callers_of_the_same_process_have_the_lock_meanwhile) {
  auto held = here_.acquire();
  auto second = std::async(std::launch::async, [&] { return here_.acquire().token(); });
  ASSERT_TRUE(eventually([&] { return first_client_.stats().waiting_now == 1; }));
  auto waiter = std::async(std::launch::async, [&] { return changed_here_.wait_for(held, 60s); });
  EXPECT_GT(second.get(), 0);
  ASSERT_TRUE(are_waiting(1));
  EXPECT_EQ(changed_there_.notify_one(), 1);
  EXPECT_EQ(waiter.get(), std::cv_status::no_timeout);
  EXPECT_TRUE(held.valid());
}

TEST_F(notifying, works_for_all_exclusive_locks_of_the_plain_wire) {
  fair_mutex fair{first_client_, "orders"};
  recursive_mutex recursive{first_client_, "orders"};
  shared_mutex shared{first_client_, "orders"};
  shared_mutex hasty{first_client_, "orders", {.policy = sharing_policy::prefer_writers}};
  std::vector<std::function<lease()>> const ways{
      [&] { return fair.acquire(); }, [&] { return recursive.acquire(); }, [&] { return shared.acquire(); },
      [&] { return hasty.acquire(); }};
  for (auto const& acquire : ways) {
    auto held = acquire();
    auto waiter = std::async(std::launch::async, [&] { return changed_here_.wait_for(held, 60s); });
    ASSERT_TRUE(are_waiting(1));
    auto reader = shared.acquire_shared();
    EXPECT_EQ(changed_there_.notify_one(), 1);
    EXPECT_FALSE(is_done(waiter));
    reader.release();
    EXPECT_EQ(waiter.get(), std::cv_status::no_timeout);
    EXPECT_TRUE(held.valid());
  }
}

TEST_F(notifying, leaves_the_lease_with_its_listeners) {
  auto held = here_.acquire();
  std::promise<loss_cause> heard;
  held.on_lost([&heard](loss_cause cause) { heard.set_value(cause); });
  auto const lost = held.lost();
  EXPECT_EQ(changed_here_.wait_for(held, 1ms), std::cv_status::timeout);
  EXPECT_FALSE(lost.stop_requested());
  raw_.command({"SET", "orders", "somebody", "PX", "20000"});
  EXPECT_EQ(code_of([&] { held.renew(); }), errc::lost);
  EXPECT_EQ(heard.get_future().get(), loss_cause::taken_over);
  EXPECT_TRUE(lost.stop_requested());
}

TEST_F(notifying, warns_of_the_limit_of_the_lease_that_is_held_then) {
  mutex limited{first_client_, "orders", {.ttl = 20s, .max_hold = 2h}};
  auto held = limited.acquire();
  auto const given = std::make_shared<std::promise<void>>();
  held.on_limit_near(2h - 300ms, [given] { given->set_value(); });
  EXPECT_EQ(changed_here_.wait_for(held, 1ms), std::cv_status::timeout);
  EXPECT_EQ(given->get_future().wait_for(wait_limit), std::future_status::ready);
  EXPECT_TRUE(held.valid());
}

TEST_F(notifying, begins_no_wait_with_a_lease_that_is_lost) {
  auto held = here_.acquire();
  raw_.del("orders");
  EXPECT_EQ(code_of([&] { changed_here_.wait(held); }), errc::lost);
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.lost_because(), loss_cause::key_gone);
  EXPECT_EQ(code_of([&] { changed_here_.wait(held); }), errc::lost);
  lease empty;
  EXPECT_EQ(code_of([&] { changed_here_.wait(empty); }), errc::lost);
  EXPECT_EQ(changed_there_.notify_all(), 0);
}

TEST_F(notifying, is_refused_for_leases_that_have_no_such_condition) {
  auto const refusal_of = [this](lease held) {
    auto const failure = failure_of([&] { changed_here_.wait(held); });
    EXPECT_EQ(failure.code, std::errc::invalid_argument);
    EXPECT_TRUE(held.valid());
    return failure.message;
  };
  mutex other{first_client_, "invoices"};
  EXPECT_THAT(refusal_of(other.acquire()), HasSubstr("the lease is one of \"invoices\""));
  EXPECT_THAT(refusal_of(there_.acquire()), HasSubstr("or of another client"));
  mutex java{first_client_, "orders", {.wire = wire::redisson}};
  EXPECT_THAT(refusal_of(java.acquire()), HasSubstr("Redisson's wire"));
  shared_mutex shared{first_client_, "orders"};
  EXPECT_THAT(refusal_of(shared.acquire_shared()), HasSubstr("only a mutex"));
  recursive_mutex recursive{first_client_, "orders"};
  auto held = recursive.acquire();
  {
    auto const inner = recursive.reenter(held);
    EXPECT_EQ(code_of([&] { changed_here_.wait(held); }), std::errc::resource_deadlock_would_occur);
  }
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(code_of([&] { condition{first_client_, ""}; }), std::errc::invalid_argument);
}

TEST_F(notifying, ends_within_recheck_when_every_message_is_lost) {
  HOLDFAST_ON_ONE_SERVER("the proxy that loses messages stands before one");
  flaky_proxy proxy{server_.socket_path()};
  proxy.swallow_messages(true);
  client deaf{proxy.url(), with_long_timeouts({.recheck = 400ms})};
  mutex lock{deaf, "orders"};
  condition changed{deaf, "orders"};
  auto waiter = wait(lock, changed);
  ASSERT_TRUE(are_waiting(1));
  EXPECT_EQ(changed_here_.notify_one(), 1);
  EXPECT_EQ(waiter.get(), std::cv_status::no_timeout);
}

TEST_F(notifying, ends_the_waits_of_those_that_poll_one_by_one) {
  mutex polling{second_client_, "orders", {.wake = wake::poll}};
  auto first = wait(polling, changed_there_);
  ASSERT_TRUE(are_waiting(1));
  auto second = wait(here_, changed_here_);
  ASSERT_TRUE(are_waiting(2));
  EXPECT_EQ(changed_here_.notify_one(), 1);
  EXPECT_EQ(first.get(), std::cv_status::no_timeout);
  EXPECT_FALSE(is_done(second));
  EXPECT_EQ(changed_here_.notify_one(), 1);
  EXPECT_EQ(second.get(), std::cv_status::no_timeout);
}

TEST_F(notifying, believes_no_message) {
  auto waiter = wait(here_, changed_here_);
  ASSERT_TRUE(are_listening(1));
  auto const owner = raw_.command({"ZRANGE", waiting, "0", "0"}).elements.at(0).text;
  auto const inbox = "{orders}:holdfast_inbox:" + owner.substr(0, 36);
  auto const number = owner.substr(37);
  for (auto const& word : {"ready " + number, "woken " + number, "granted " + number + " 9 1"})
    raw_.publish(inbox, word + " orders");
  EXPECT_TRUE(always(100ms, [&] { return !is_done(waiter); }));
  EXPECT_TRUE(are_listening(1));
  EXPECT_EQ(changed_there_.notify_one(), 1);
  EXPECT_EQ(waiter.get(), std::cv_status::no_timeout);
}

TEST_F(notifying, ends_the_wait_of_a_client_that_ends_and_forgets_it) {
  client third{server_.url(), with_long_timeouts()};
  mutex lock{third, "orders"};
  condition changed{third, "orders"};
  auto held = lock.acquire();
  auto waiter = std::async(std::launch::async, [&] { return code_of([&] { changed.wait(held); }); });
  ASSERT_TRUE(are_listening(1));
  EXPECT_TRUE(third.shutdown(60s));
  EXPECT_EQ(waiter.get(), errc::closed);
  EXPECT_FALSE(held.valid());
  EXPECT_EQ(held.lost_because(), loss_cause::closed);
  EXPECT_EQ(changed_here_.notify_all(), 0);
}

TEST_F(notifying, wakes_who_finds_that_the_server_has_forgotten_it) {
  client impatient{server_.url(), with_long_timeouts({.recheck = 100ms})};
  mutex lock{impatient, "orders"};
  condition changed{impatient, "orders"};
  auto waiter = wait(lock, changed);
  ASSERT_TRUE(are_waiting(1));
  raw_.command({"DEL", waiting});
  raw_.command({"DEL", "{orders}:holdfast_condition_until"});
  EXPECT_EQ(waiter.get(), std::cv_status::no_timeout);
}

TEST_F(notifying, is_shown_by_inspect) {
  EXPECT_EQ(inspect(first_client_, "orders").waiting_for_condition, 0);
  auto first = wait(here_, changed_here_);
  auto second = wait(there_, changed_there_);
  ASSERT_TRUE(are_waiting(2));
  auto const state = inspect(first_client_, "orders");
  EXPECT_EQ(state.kind, lock_kind::free);
  EXPECT_EQ(state.waiting_for_condition, 2);
  EXPECT_EQ(state.waiting, 0);
  EXPECT_EQ(changed_here_.notify_all(), 2);
}

}  // namespace
}  // namespace holdfast::test
