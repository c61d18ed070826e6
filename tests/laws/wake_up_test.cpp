/// L1, L2, L3: a free lock is taken, in order, by one waiter at a time, even when messages or holders
/// are lost.
#include "law.hpp"

#include "scripts/all.hpp"

#include <deque>

namespace holdfast::test {
namespace {

class wake_up : public law {};
HOLDFAST_LAW(wake_up);

TEST_P(wake_up, lets_waiters_of_one_process_in_first_come_first_served) {
  for (auto const handoffs : {0, 64}) {
    auto redis = connect();
    auto const wanted = lock(redis, {.handoff_limit = handoffs});
    auto held_lease = wanted->acquire();
    std::mutex guard;
    std::vector<int> order;
    for (auto i = 0; i < 12; ++i) {
      wanted->async_acquire([&, i](std::optional<lease> acquired, std::exception_ptr) {
        {
          std::scoped_lock const hold{guard};
          order.push_back(i);
        }
        if (acquired) acquired->async_release({});
      });
    }
    held_lease.release();
    auto const all = [&] {
      std::scoped_lock const hold{guard};
      return order.size() == 12;
    };
    ASSERT_TRUE(eventually(all));
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  }
}

TEST_P(wake_up, takes_a_free_lock_within_recheck_when_every_message_is_lost) {
  HOLDFAST_ON_ONE_SERVER("the proxy that loses messages stands before one");
  flaky_proxy proxy{server_.socket_path()};
  proxy.swallow_messages(true);
  auto holder = connect();
  auto deaf = connect_to(proxy.url(), {.recheck = 600ms});
  auto const holder_lock = lock(holder, {.ttl = 10min});  // no waiter waits for its expiry
  auto const wanted = lock(deaf);
  for (auto round = 0; round < 3; ++round) {
    auto lease = holder_lock->acquire();
    pending p;
    auto const waits = deaf.stats().waits;
    wanted->async_acquire(p.handler());
    ASSERT_TRUE(eventually([&] { return deaf.stats().waits > waits; }));
    lease.release();
    ASSERT_TRUE(eventually([&] { return p.done(); }));
    ASSERT_TRUE(p.take());
  }
  EXPECT_EQ(deaf.stats().messages, 0u);
}

TEST_P(wake_up, takes_a_dead_holders_lock_shortly_after_its_expiry_among_200000_expiring_keys) {
  HOLDFAST_ON_ONE_SERVER("it is about what a server does with keys that expire");
  for (auto part = 0; part < 20; ++part) {
    raw_.command({"EVAL",
                  "for i = 1, 10000 do redis.call('SET', ARGV[1] .. i, 'x', 'PX', 600000 + i) end return 1",
                  "0", "other" + std::to_string(part) + ":"});
  }
  auto redis = connect({.recheck = 30s});
  auto const wanted = lock(redis);
  passes_in_one_round_of(5, [&] {
    (void)occupy("the dead", 1500ms);
    auto const expiry = boot_now() + 1'500'000'000;
    auto const lease = wanted->try_acquire_for(20s);
    auto const late_us = (boot_now() - expiry) / 1'000;
    RecordProperty("late_us", std::to_string(late_us));
    ASSERT_TRUE(lease);
    EXPECT_LT(late_us, 1'000'000);
  });
}

TEST_P(wake_up, hands_a_killed_process_s_lock_to_a_waiter_after_its_ttl) {
  auto dead = worker::session(server_.url_for_workers(), std::string{GetParam().title}, "orders", 1s);
  auto const token = std::stoll(dead.reply_to("acquire").substr(5));
  auto redis = connect({.recheck = 30s});
  pending p;
  auto const wanted = lock(redis);
  wanted->async_acquire(p.handler());
  // A holder that was stopped for long may have lost the lock already.
  ASSERT_TRUE(eventually([&] { return redis.stats().waits >= 1 || p.done(); }));
  dead.kill9();
  ASSERT_TRUE(eventually([&] { return p.done(); })) << "when its ttl was over, and not at the re-check";
  auto const lease = p.take();
  ASSERT_TRUE(lease);
  if (!GetParam().on_redisson()) {
    EXPECT_GT(lease->token(), token);
  }
}

TEST_P(wake_up, is_not_held_up_by_killed_waiters_ahead) {
  if (waits_for_dead_waiters()) GTEST_SKIP() << "Redisson's fair lock waits until the head's credit is over";
  auto holder = connect();
  auto lease = lock(holder)->acquire();
  {
    std::deque<worker> ahead;
    for (auto i = 0; i < 3; ++i) {
      ahead.push_back(
          worker::session(server_.url_for_workers(), std::string{GetParam().title}, "orders", 5s));
      ahead.back().write_line("acquire");
    }
    ASSERT_TRUE(eventually([&] { return raw_.client_ids("normal").size() >= 4; }));
    // The workers are killed without a message when this block ends.
  }
  // A server that hasn't noticed yet takes what it sends to one of them for heard.
  ASSERT_TRUE(eventually([&] { return raw_.command({"PUBSUB", "CHANNELS", "*orders*"}).elements.empty(); }));
  auto redis = connect({.recheck = 30s});
  pending p;
  auto const wanted = lock(redis);
  wanted->async_acquire(p.handler());
  ASSERT_TRUE(eventually([&] { return redis.stats().waits == 1; }));
  lease.release();
  EXPECT_TRUE(eventually([&] { return p.done(); }));
}

TEST_P(wake_up, passes_a_frozen_waiter_by_within_its_grace) {
  if (waits_for_dead_waiters()) GTEST_SKIP() << "Redisson's fair lock waits until the head's credit is over";
  auto holder = connect();
  auto lease = lock(holder)->acquire();
  auto frozen = worker::session(server_.url_for_workers(), std::string{GetParam().title}, "orders", 1s);
  ASSERT_TRUE(
      eventually([&] { return frozen.reply_to("try 50") == "busy"; }));  // may find no server at first
  frozen.write_line("acquire");
  // It is in the queue (or polling) once the server has seen its second acquisition answered busy.
  EXPECT_TRUE(eventually([&] { return raw_.client_ids("normal").size() >= 2; }));
  frozen.freeze();
  auto redis = connect();
  pending p;
  auto const wanted = lock(redis);
  wanted->async_acquire(p.handler());
  ASSERT_TRUE(eventually([&] { return redis.stats().waits == 1; }));
  lease.release();
  ASSERT_TRUE(eventually([&] { return p.done(); }));
  p.take()->release();
  frozen.thaw();
  EXPECT_EQ(frozen.read_line().rfind("held ", 0), 0u) << "a waiter that was frozen still gets its turn";
}

TEST_P(wake_up, gives_a_waiter_of_another_process_its_turn_in_spite_of_barging_neighbours) {
  auto barging = connect();
  auto patient = connect();
  auto const barging_lock = lock(barging);
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  for (auto i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        if (auto const lease = barging_lock->try_acquire_for(1s)) std::this_thread::yield();
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return barging.stats().acquired > 20; }));
  auto const acquired = lock(patient)->try_acquire_for(60s);
  stop = true;
  EXPECT_TRUE(acquired);
}

class waking_by_messages : public law {
 protected:
  struct cost {
    std::uint64_t requests = 0;
    std::uint64_t messages = 0;
    friend std::ostream& operator<<(std::ostream& out, cost const& c) {
      return out << c.requests << " requests, " << c.messages << " messages";
    }
  };

  /// A waiter that is handed the lock has it for a short time only, and renews it soon.
  static std::uint64_t requests_without_renewals(flaky_proxy const& proxy) {
    auto const all = proxy.requests();
    auto const renewals = std::ranges::count_if(all, [](request const& r) {
      return std::ranges::any_of(
          scripts::all, [&](script const* s) { return s->name.ends_with("renew") && r.has(s->sha1); });
    });
    return requests_for_locks(proxy) - static_cast<std::uint64_t>(renewals);
  }

  /// The cost of one handoff with that number of waiting clients.
  cost of_handoff(int waiting) {
    flaky_proxy proxy{server_.socket_path()};
    auto holder = connect_to(proxy.url(), {.recheck = 30s});
    // No waiter checks for its expiry, and its release hands the lock to a waiter.
    auto const holder_lock = lock(holder, {.ttl = 10min, .starvation_limit = 0ms});
    auto lease = holder_lock->acquire();
    std::deque<client> clients;
    std::vector<std::unique_ptr<any_lock>> locks;
    std::vector<pending> waiters(static_cast<std::size_t>(waiting));
    for (auto& p : waiters) {
      clients.push_back(connect_to(proxy.url(), {.recheck = 30s}));
      locks.push_back(lock(clients.back()));
      locks.back()->async_acquire(p.handler());
    }
    auto const all_wait = [&] {
      return std::ranges::all_of(clients, [](client const& c) { return c.stats().waits == 1; });
    };
    EXPECT_TRUE(eventually(all_wait));
    // Quiet: no client sends anything more until the release.
    for (auto& redis : clients) settle(redis, raw_);
    proxy.forget();
    lease.release();
    auto const done_count = [&] {
      return std::count_if(waiters.begin(), waiters.end(), [](auto& p) { return p.done(); });
    };
    EXPECT_TRUE(eventually([&] { return done_count() == 1; }));
    EXPECT_TRUE(always(200ms, [&] { return done_count() == 1; }));
    auto const spent = cost{requests_without_renewals(proxy), proxy.messages()};
    for (auto& p : waiters) {
      if (p.done()) p.take()->async_release({});
    }
    return spent;
  }
};
INSTANTIATE_TEST_SUITE_P(every, waking_by_messages, testing::ValuesIn(waking_one_waiter()), title_of);

TEST_P(waking_by_messages, wakes_one_waiter_at_a_cost_that_does_not_grow_with_their_number) {
  HOLDFAST_ON_ONE_SERVER("the proxy that counts requests stands before one");
  (void)of_handoff(1);  // loads the scripts
  auto const few = of_handoff(1);
  // A short release, which finds that somebody waits; the release; and an acquisition when the waiter's last
  // request is too old for it to believe the message.
  EXPECT_LE(few.requests, 3u) << few;
  EXPECT_EQ(few.messages, 1u) << few;
  raw_.command({"FLUSHALL"});
  auto const many = of_handoff(32);
  EXPECT_LE(many.requests, 3u) << many;
  EXPECT_EQ(many.messages, 1u) << many;
}

}  // namespace
}  // namespace holdfast::test
