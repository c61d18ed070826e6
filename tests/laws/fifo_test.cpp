/// L3: where the server keeps the order, callers of all clients and processes get the lock in the order of
/// their requests, even when others leave in between.
#include "waiters.hpp"

#include <array>
#include <deque>
#include <random>
#include <thread>

namespace holdfast::test {
namespace {

class fifo : public law {
 protected:
  struct caller {
    std::string label;
    std::unique_ptr<pending> outcome = std::make_unique<pending>();
    std::stop_source stop{};
  };

  [[nodiscard]] std::vector<std::string> queue() { return waiters_in(raw_, names::queue("orders")); }

  [[nodiscard]] bool is_subscribed(std::string const& uuid) {
    return raw_.listeners("{orders}:holdfast_inbox:" + uuid) == 1;
  }

  /// Starts an acquisition that waits. On return the caller is queued, or behind a caller of its client that
  /// is queued or holds. The next caller comes so much later that the order doesn't depend on the duration of
  /// any request: a caller behind another of its client is queued, by its age, when the other is done. On a
  /// machine that delays a request for longer, the order may differ: see with_longer_gaps().
  caller enqueue(client& redis, any_lock& wanted, std::string label) {
    caller new_caller{.label = std::move(label)};
    wanted.async_acquire(new_caller.outcome->handler(), new_caller.stop.get_token());
    EXPECT_TRUE(eventually([&] {
      auto const is_of_client = [&](auto const& owner) { return owner.rfind(redis.uuid(), 0) == 0; };
      auto owners = queue();
      owners.push_back(raw_.get("orders").value_or("nobody"));
      return is_subscribed(redis.uuid()) && std::any_of(owners.begin(), owners.end(), is_of_client);
    })) << new_caller.label;
    EXPECT_TRUE(always(gap_, [&] { return !new_caller.outcome->done(); })) << new_caller.label;
    return new_caller;
  }

  /// For callers that are queued by their age, which is exact to within the duration of a request: the test
  /// fails when `round` fails even with gaps of seconds.
  template <class Round>
  void with_longer_gaps(Round round) {
    auto gaps = std::deque<milliseconds>{150ms, 600ms, 1500ms};
    passes_in_one_round_of(static_cast<int>(gaps.size()), [&] {
      gap_ = gaps.front();
      gaps.pop_front();
      raw_.command({"FLUSHALL"});
      round();
    });
  }

  void cancel(caller& leaving) {
    leaving.stop.request_stop();
    EXPECT_TRUE(eventually([&] { return leaving.outcome->done(); }));
  }

  /// Lets the callers in one by one and checks their order.
  void expect_in_order(std::deque<caller>& callers) {
    for (; !callers.empty(); callers.pop_front()) {
      auto const& next = callers.front();
      ASSERT_TRUE(eventually([&] { return next.outcome->done(); })) << next.label << " is kept waiting";
      for (auto i = std::size_t{1}; i < callers.size(); ++i)
        ASSERT_FALSE(callers[i].outcome->done()) << callers[i].label << " overtook " << next.label;
      EXPECT_EQ(next.outcome->take()->release(), release_result::released);
    }
    EXPECT_TRUE(eventually([&] { return leftover_keys(raw_).empty(); })) << "of one that left, say";
  }

  void serve_callers_of_all_clients();
  void enqueue_leave_and_release_at_random(unsigned seed);

  milliseconds gap_ = 150ms;
};
HOLDFAST_LAW_OF_ORDER(fifo);

TEST_P(fifo, serves_callers_of_all_clients_in_the_order_in_which_they_asked) {
  with_longer_gaps([&] { serve_callers_of_all_clients(); });
}

void fifo::serve_callers_of_all_clients() {
  std::deque<client> clients;
  std::vector<std::unique_ptr<any_lock>> locks;
  for (auto i = 0; i < 3; ++i) {
    clients.push_back(connect());
    locks.push_back(lock(clients.back()));
  }
  auto outsider = connect();
  auto const outside_lock = lock(outsider);
  for (auto* const held_lock : {outside_lock.get(), locks[0].get()}) {
    auto lease = held_lock->acquire();
    std::deque<caller> callers;
    // Not in turn: a client has up to three callers in a row, and other clients overtake it in between.
    for (auto const index : {1u, 0u, 0u, 2u, 1u, 2u, 2u, 2u, 0u, 1u}) {
      callers.push_back(enqueue(clients[index], *locks[index],
                                std::to_string(callers.size()) + " of client " + std::to_string(index)));
    }
    lease.release();
    expect_in_order(callers);
  }
}

TEST_P(fifo, serves_processes_in_the_order_in_which_they_asked) {
  auto redis = connect();
  auto const contended = lock(redis);
  auto lease = contended->acquire();
  auto token = lease.token();
  std::deque<worker> workers;
  for (auto i = 1u; i <= 4; ++i) {
    workers.push_back(
        worker::session(server_.url_for_workers(), std::string{GetParam().title}, "orders", 5s));
    workers.back().write_line("acquire");
    ASSERT_TRUE(eventually([&] {
      auto const owners = queue();
      return owners.size() == i && is_subscribed(owners.back().substr(0, 36));
    }));
  }
  lease.release();
  for (auto& next : workers) {
    auto const output = next.read_line();
    ASSERT_EQ(output.rfind("held ", 0), 0u) << output;
    EXPECT_GT(std::stoll(output.substr(5)), token);
    token = std::stoll(output.substr(5));
    EXPECT_EQ(next.reply_to("release"), "ended " + code_word(release_result::released));
  }
}

TEST_P(fifo, keeps_the_order_of_the_others_when_some_time_out_are_cancelled_or_die) {
  auto first = connect();
  auto second = connect();
  auto brief = connect();
  auto const first_lock = lock(first);
  auto const second_lock = lock(second);
  auto const brief_lock = lock(brief);
  auto holder = connect();
  auto held_lease = lock(holder)->acquire();
  std::deque<caller> callers;
  auto cancelled = enqueue(first, *first_lock, "cancelled");
  std::optional<lease> timed_out;
  auto impatient = std::jthread{[&] { timed_out = brief_lock->try_acquire_for(500ms); }};
  {
    auto dead = worker::session(server_.url_for_workers(), std::string{GetParam().title}, "orders", 5s);
    dead.write_line("acquire");
    auto const is_of_dead = [&](std::string const& owner) {
      return std::ranges::none_of(std::array{&first, &second, &brief},
                                  [&](client const* known) { return owner.starts_with(known->uuid()); });
    };
    ASSERT_TRUE(eventually([&] { return std::ranges::any_of(queue(), is_of_dead); }));
    callers.push_back(enqueue(second, *second_lock, "two"));
    callers.push_back(enqueue(first, *first_lock, "one"));
  }
  cancel(cancelled);
  impatient.join();
  EXPECT_FALSE(timed_out);
  held_lease.release();
  expect_in_order(callers);
}

TEST_P(fifo, gives_nobody_the_place_of_a_caller_of_its_client_that_left) {
  auto first = connect();
  auto second = connect();
  auto const first_lock = lock(first);
  auto const second_lock = lock(second);
  auto holder = connect();
  auto const holder_lock = lock(holder);
  for (auto round = 0; round < 25; ++round) {
    auto held_lease = holder_lock->acquire();
    auto leaving = enqueue(first, *first_lock, "the one that leaves");
    std::deque<caller> callers;
    callers.push_back(enqueue(second, *second_lock, "the other client's"));
    callers.push_back(enqueue(first, *first_lock, "the later one"));
    {
      // At about the moment of the release, a little earlier or later each time.
      auto const canceller = std::jthread{[&] {
        for (auto const until = boot_now() + round * 8'000; boot_now() < until;) std::this_thread::yield();
        leaving.stop.request_stop();
      }};
      held_lease.release();
    }
    ASSERT_TRUE(eventually([&] { return leaving.outcome->done(); }));
    std::optional<lease> acquired;
    if (code_of([&] { acquired = leaving.outcome->take(); }) == std::error_code{}) acquired->release();
    expect_in_order(callers);
    if (HasFatalFailure()) FAIL() << "in round " << round;
  }
}

TEST_P(fifo, never_lets_a_newcomer_overtake) {
  auto holder = connect();
  auto patient = connect();
  auto pushing = connect();
  auto const holder_lock = lock(holder);
  auto const patient_lock = lock(patient);
  auto const pushing_lock = lock(pushing);
  for (auto round = 0; round < 50; ++round) {
    auto lease = holder_lock->acquire();
    auto waiting = enqueue(patient, *patient_lock, "the patient one");
    std::atomic<bool> overtaken = false;
    auto const released = boot_now();
    {
      auto const newcomer = std::jthread{[&](std::stop_token const& stop) {
        while (!stop.stop_requested() && !overtaken) {
          if (auto const acquired = pushing_lock->try_acquire_for(0ns)) overtaken = true;
        }
      }};
      lease.release();
      EXPECT_TRUE(eventually([&] { return waiting.outcome->done(); }));
    }
    // The grant reserves the lock for two seconds, by which time the waiter must have received it.
    EXPECT_FALSE(overtaken && boot_now() - released < 1'500'000'000) << "in round " << round;
    waiting.outcome->take()->release();
  }
}

TEST_P(fifo, makes_a_newcomer_that_finds_the_lock_free_let_the_first_waiter_have_it) {
  auto patient = connect({.recheck = 30s});
  auto late = connect();
  auto const wanted = lock(patient);
  raw_.command({"SET", "orders", "another program's", "PX", "60000"});
  auto waiting = enqueue(patient, *wanted, "the patient one");
  raw_.del("orders");  // without a message
  EXPECT_FALSE(lock(late)->try_acquire_for(0ns));
  ASSERT_TRUE(eventually([&] { return waiting.outcome->done(); }));
  EXPECT_EQ(patient.stats().rechecks, 0u) << "it should have been granted the lock by message";
}

TEST_P(fifo, grants_the_lock_by_the_release_itself_past_killed_waiters) {
  passes_in_one_round_of(
      10, [&] {  // a waiter tries again when its last request is older than a second and a half
        raw_.command({"FLUSHALL"});
        auto holder = connect();
        auto lease = lock(holder)->acquire();
        {
          std::deque<worker> ahead;
          for (auto i = 1u; i <= 3; ++i) {
            ahead.push_back(
                worker::session(server_.url_for_workers(), std::string{GetParam().title}, "orders", 5s));
            ahead.back().write_line("acquire");
            ASSERT_TRUE(eventually([&] { return queue().size() == i; }));
          }
        }
        auto redis = connect({.recheck = 30s});
        auto const wanted = lock(redis);
        auto waiting = enqueue(redis, *wanted, "the one that lives");
        auto const commands = commands_at_rest(redis, raw_);
        lease.release();
        ASSERT_TRUE(eventually([&] { return waiting.outcome->done(); }));
        auto const sent = redis.stats().commands - commands;
        auto const believed = trusts_grant_messages() ? 1U : 0U;
        EXPECT_EQ(redis.stats().granted, believed);
        EXPECT_EQ(sent, 1 - believed);  // the request that checks the grant
      });
}

TEST_P(fifo, holds_for_any_mix_of_asking_leaving_and_releasing) {
  auto const seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  with_longer_gaps([&] { enqueue_leave_and_release_at_random(seed); });
}

void fifo::enqueue_leave_and_release_at_random(unsigned seed) {
  std::mt19937 random{seed};
  std::deque<client> clients;
  std::vector<std::unique_ptr<any_lock>> locks;
  for (auto i = 0; i < 4; ++i) {
    clients.push_back(connect());
    locks.push_back(lock(clients.back()));
  }
  auto outsider = connect();
  std::optional<lease> current = lock(outsider)->acquire();
  std::deque<caller> callers;
  for (auto step = 0; step < 60; ++step) {
    auto const dice = random() % 10;
    if (callers.empty() || dice < 5) {
      auto const index = random() % clients.size();
      callers.push_back(enqueue(clients[index], *locks[index],
                                std::to_string(step) + " of client " + std::to_string(index)));
    } else if (dice < 7) {
      auto const leaving = callers.begin() + static_cast<std::ptrdiff_t>(random() % callers.size());
      cancel(*leaving);
      callers.erase(leaving);
    } else {
      current->release();
      auto const next = std::move(callers.front());
      callers.pop_front();
      ASSERT_TRUE(eventually([&] { return next.outcome->done(); })) << step << ": " << next.label;
      current = next.outcome->take();
    }
    for (auto const& queued : callers) ASSERT_FALSE(queued.outcome->done()) << step << ": " << queued.label;
  }
  current->release();
  expect_in_order(callers);
}

}  // namespace
}  // namespace holdfast::test
