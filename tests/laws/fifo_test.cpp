/// L3: where the server keeps the order, callers get the lock in the order in which they asked, whatever
/// client or process they are in, and whoever leaves in between.
#include "law.hpp"

#include <array>
#include <deque>
#include <random>
#include <thread>

namespace holdfast::test {
namespace {

class fifo : public law {
 protected:
  struct caller {
    std::string who;
    std::unique_ptr<pending> outcome = std::make_unique<pending>();
    std::stop_source stop{};
  };

  [[nodiscard]] std::vector<std::string> queue() {
    std::vector<std::string> owners;
    for (auto const& one : raw_.command({"ZRANGE", "{orders}:holdfast_queue", "0", "-1"}).elements)
      owners.push_back(one.text);
    return owners;
  }

  [[nodiscard]] bool can_be_told(std::string const& uuid) {
    return raw_.listeners("{orders}:holdfast_inbox:" + uuid) == 1;
  }

  /// A caller that waits. When this returns it is queued, or behind another of its client that is or that
  /// holds. The next one asks so much later that the order doesn't depend on how long any request is under
  /// way: a caller behind another of its client takes its place, by its age, when that one is done. On a
  /// machine that stops a request for longer, the order may be another one: see with_longer_gaps().
  caller ask(client& redis, any_lock& wanted, std::string who) {
    caller one{.who = std::move(who)};
    wanted.async_acquire(one.outcome->handler(), one.stop.get_token());
    EXPECT_TRUE(eventually([&] {
      auto const ours = [&](auto const& owner) { return owner.rfind(redis.uuid(), 0) == 0; };
      auto owners = queue();
      owners.push_back(raw_.get("orders").value_or("nobody"));
      return can_be_told(redis.uuid()) && std::any_of(owners.begin(), owners.end(), ours);
    })) << one.who;
    EXPECT_TRUE(always(gap_, [&] { return !one.outcome->done(); })) << one.who;
    return one;
  }

  /// Where callers get in line by their age, which is true to within the time that a request is under way:
  /// what fails though they ask seconds apart fails.
  template <class Round>
  void with_longer_gaps(Round round) {
    auto gaps = std::deque<milliseconds>{150ms, 600ms, 1500ms};
    in_one_round_of(static_cast<int>(gaps.size()), [&] {
      gap_ = gaps.front();
      gaps.pop_front();
      raw_.command({"FLUSHALL"});
      round();
    });
  }

  void cancel(caller& one) {
    one.stop.request_stop();
    EXPECT_TRUE(eventually([&] { return one.outcome->done(); }));
  }

  /// Lets the callers in one by one and checks that it is in this order.
  void expect_in_order(std::deque<caller>& callers) {
    for (; !callers.empty(); callers.pop_front()) {
      auto const& next = callers.front();
      ASSERT_TRUE(eventually([&] { return next.outcome->done(); })) << next.who << " is kept waiting";
      for (auto i = std::size_t{1}; i < callers.size(); ++i)
        ASSERT_FALSE(callers[i].outcome->done()) << callers[i].who << " overtook " << next.who;
      EXPECT_EQ(next.outcome->take()->release(), release_result::released);
    }
    EXPECT_EQ(residue(), std::vector<std::string>{});
  }

  void serve_callers_of_all_clients();
  void ask_leave_and_release_at_random(unsigned seed);

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
  auto const held_outside = lock(outsider);
  for (auto* const held : {held_outside.get(), locks[0].get()}) {
    auto mine = held->acquire();
    std::deque<caller> callers;
    // Not in turn: a client has up to three callers in a row, and is overtaken by others in between.
    for (auto const which : {1u, 0u, 0u, 2u, 1u, 2u, 2u, 2u, 0u, 1u}) {
      callers.push_back(ask(clients[which], *locks[which],
                            std::to_string(callers.size()) + " of client " + std::to_string(which)));
    }
    mine.release();
    expect_in_order(callers);
  }
}

TEST_P(fifo, serves_processes_in_the_order_in_which_they_asked) {
  auto redis = connect();
  auto const held = lock(redis);
  auto mine = held->acquire();
  auto token = mine.token();
  std::deque<worker> workers;
  for (auto i = 1u; i <= 4; ++i) {
    workers.push_back(worker::session(server_.url(), std::string{GetParam().title}, "orders", 5s));
    workers.back().say("acquire");
    ASSERT_TRUE(eventually([&] {
      auto const owners = queue();
      return owners.size() == i && can_be_told(owners.back().substr(0, 36));
    }));
  }
  mine.release();
  for (auto& next : workers) {
    auto const heard = next.hear();
    ASSERT_EQ(heard.rfind("held ", 0), 0u) << heard;
    EXPECT_GT(std::stoll(heard.substr(5)), token);
    token = std::stoll(heard.substr(5));
    EXPECT_EQ(next.ask("release"), "ended " + code_word(release_result::released));
  }
}

TEST_P(fifo, keeps_the_order_of_the_others_when_some_time_out_are_cancelled_or_die) {
  auto one = connect();
  auto two = connect();
  auto brief = connect();
  auto const of_one = lock(one);
  auto const of_two = lock(two);
  auto const of_brief = lock(brief);
  auto holder = connect();
  auto mine = lock(holder)->acquire();
  std::deque<caller> callers;
  auto cancelled = ask(one, *of_one, "cancelled");
  std::optional<lease> timed_out;
  auto impatient = std::jthread{[&] { timed_out = of_brief->try_acquire_for(500ms); }};
  {
    auto dead = worker::session(server_.url(), std::string{GetParam().title}, "orders", 5s);
    dead.say("acquire");
    auto const of_dead = [&](std::string const& owner) {
      return std::ranges::none_of(std::array{&one, &two, &brief},
                                  [&](client const* known) { return owner.starts_with(known->uuid()); });
    };
    ASSERT_TRUE(eventually([&] { return std::ranges::any_of(queue(), of_dead); }));
    callers.push_back(ask(two, *of_two, "two"));
    callers.push_back(ask(one, *of_one, "one"));
  }
  cancel(cancelled);
  impatient.join();
  EXPECT_FALSE(timed_out);
  mine.release();
  expect_in_order(callers);
}

TEST_P(fifo, gives_nobody_the_place_of_a_caller_of_its_client_that_left) {
  auto one = connect();
  auto two = connect();
  auto const of_one = lock(one);
  auto const of_two = lock(two);
  auto holder = connect();
  auto const held = lock(holder);
  for (auto round = 0; round < 25; ++round) {
    auto mine = held->acquire();
    auto leaving = ask(one, *of_one, "the one that leaves");
    std::deque<caller> callers;
    callers.push_back(ask(two, *of_two, "the other client's"));
    callers.push_back(ask(one, *of_one, "the later one"));
    {
      // At about the moment of the release, a little earlier or later each time.
      auto const canceller = std::jthread{[&] {
        for (auto const until = boot_now() + round * 8'000; boot_now() < until;) std::this_thread::yield();
        leaving.stop.request_stop();
      }};
      mine.release();
    }
    ASSERT_TRUE(eventually([&] { return leaving.outcome->done(); }));
    std::optional<lease> got;
    if (code_of([&] { got = leaving.outcome->take(); }) == std::error_code{}) got->release();
    expect_in_order(callers);
    if (HasFatalFailure()) FAIL() << "in round " << round;
  }
}

TEST_P(fifo, never_lets_a_newcomer_overtake) {
  auto holder = connect();
  auto patient = connect();
  auto pushing = connect();
  auto const held = lock(holder);
  auto const wanted = lock(patient);
  auto const pushed = lock(pushing);
  for (auto round = 0; round < 50; ++round) {
    auto mine = held->acquire();
    auto waiting = ask(patient, *wanted, "the patient one");
    std::atomic<bool> overtaken = false;
    auto const released = boot_now();
    {
      auto const newcomer = std::jthread{[&](std::stop_token const& enough) {
        while (!enough.stop_requested() && !overtaken) {
          if (auto const got = pushed->try_acquire_for(0ns)) overtaken = true;
        }
      }};
      mine.release();
      EXPECT_TRUE(eventually([&] { return waiting.outcome->done(); }));
    }
    // It is its own for two seconds before it has to have heard of it.
    EXPECT_FALSE(overtaken && boot_now() - released < 1'500'000'000) << "in round " << round;
    waiting.outcome->take()->release();
  }
}

TEST_P(fifo, makes_a_newcomer_that_finds_the_lock_free_let_the_first_waiter_have_it) {
  auto patient = connect({.recheck = 30s});
  auto late = connect();
  auto const wanted = lock(patient);
  raw_.command({"SET", "orders", "another program's", "PX", "60000"});
  auto waiting = ask(patient, *wanted, "the patient one");
  raw_.del("orders");  // which tells nobody
  EXPECT_FALSE(lock(late)->try_acquire_for(0ns));
  ASSERT_TRUE(eventually([&] { return waiting.outcome->done(); }));
  EXPECT_EQ(patient.stats().rechecks, 0u) << "it should have been granted the lock by message";
}

TEST_P(fifo, grants_the_lock_by_the_release_itself_past_killed_waiters) {
  in_one_round_of(10, [&] {  // who asked more than a second and a half before asks again
    raw_.command({"FLUSHALL"});
    auto holder = connect();
    auto mine = lock(holder)->acquire();
    {
      std::deque<worker> ahead;
      for (auto i = 1u; i <= 3; ++i) {
        ahead.push_back(worker::session(server_.url(), std::string{GetParam().title}, "orders", 5s));
        ahead.back().say("acquire");
        ASSERT_TRUE(eventually([&] { return queue().size() == i; }));
      }
    }
    auto redis = connect({.recheck = 30s});
    auto const wanted = lock(redis);
    auto waiting = ask(redis, *wanted, "the one that lives");
    auto const commands = commands_at_rest(redis, raw_);
    mine.release();
    ASSERT_TRUE(eventually([&] { return waiting.outcome->done(); }));
    auto const sent = redis.stats().commands - commands;
    auto const believed = grants_are_believed() ? 1U : 0U;
    EXPECT_EQ(redis.stats().granted, believed);
    EXPECT_EQ(sent, 1 - believed);  // which asks
  });
}

TEST_P(fifo, holds_for_any_mix_of_asking_leaving_and_releasing) {
  auto const seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  with_longer_gaps([&] { ask_leave_and_release_at_random(seed); });
}

void fifo::ask_leave_and_release_at_random(unsigned seed) {
  std::mt19937 random{seed};
  std::deque<client> clients;
  std::vector<std::unique_ptr<any_lock>> locks;
  for (auto i = 0; i < 4; ++i) {
    clients.push_back(connect());
    locks.push_back(lock(clients.back()));
  }
  auto outsider = connect();
  std::optional<lease> held = lock(outsider)->acquire();
  std::deque<caller> callers;
  for (auto step = 0; step < 60; ++step) {
    auto const dice = random() % 10;
    if (callers.empty() || dice < 5) {
      auto const which = random() % clients.size();
      callers.push_back(
          ask(clients[which], *locks[which], std::to_string(step) + " of client " + std::to_string(which)));
    } else if (dice < 7) {
      auto const leaving = callers.begin() + static_cast<std::ptrdiff_t>(random() % callers.size());
      cancel(*leaving);
      callers.erase(leaving);
    } else {
      held->release();
      auto const next = std::move(callers.front());
      callers.pop_front();
      ASSERT_TRUE(eventually([&] { return next.outcome->done(); })) << step << ": " << next.who;
      held = next.outcome->take();
    }
    for (auto const& one : callers) ASSERT_FALSE(one.outcome->done()) << step << ": " << one.who;
  }
  held->release();
  expect_in_order(callers);
}

}  // namespace
}  // namespace holdfast::test
