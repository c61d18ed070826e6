/// holdfast::multi_mutex: all names or none, without deadlock, for any overlap.
#include "multi.hpp"

#include <array>
#include <thread>

namespace holdfast::test {
namespace {

TEST_F(multi, takes_and_releases_16_names_with_one_request_each) {
  HOLDFAST_ON_ONE_SERVER("the proxy that counts requests stands before one");
  flaky_proxy proxy{server_.socket_path()};
  client redis{proxy.url(), with_long_timeouts()};
  std::vector<std::string> names;
  for (auto i = 0; i < 16; ++i) names.push_back("n" + std::to_string(i));
  multi_mutex m{redis, names};
  m.acquire().release();  // loads the scripts
  proxy.forget();
  {
    auto const lease = m.acquire();
    EXPECT_EQ(requests_for_locks(proxy), 1u);
    for (auto const& name : names) {
      EXPECT_TRUE(raw_.exists(name));
      EXPECT_EQ(lease.token(name), lease.token("n0"));
    }
    EXPECT_EQ(lease.token("x"), 0);
    EXPECT_EQ(lease.names(), names);
  }
  EXPECT_EQ(requests_for_locks(proxy), 2u);
  EXPECT_TRUE(leftover_keys(raw_).empty());
}

TEST_F(multi, works_with_the_guards_of_the_standard_library) {
  multi_mutex pair{redis_, {"b", "a"}};
  mutex single{redis_, "c"};
  {
    std::scoped_lock const hold{pair, single};
    EXPECT_EQ(raw_.keys("[abc]").size(), 3u);
    EXPECT_EQ(code_of([&] { pair.lock(); }), std::errc::resource_deadlock_would_occur);
  }
  std::unique_lock hold{pair, 20s};
  EXPECT_TRUE(hold.owns_lock());
  hold.unlock();
  EXPECT_EQ(pair.last_release(), release_result::released);
  EXPECT_EQ(code_of([&] { pair.unlock(); }), std::errc::operation_not_permitted);
  EXPECT_TRUE(leftover_keys(raw_).empty());
}

TEST_F(multi, shows_the_lease_behind_a_scoped_lock) {
  multi_mutex pair{redis_, {"b", "a"}, {.ttl = 60s, .renew_every = 100ms}};
  EXPECT_FALSE(pair.current());
  EXPECT_FALSE(pair.last_release());
  std::scoped_lock const hold{pair};
  auto const mine = pair.current();
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(mine.names(), (std::vector<std::string>{"b", "a"}));
  EXPECT_GT(mine.token("a"), 0);
  EXPECT_EQ(mine.token("c"), 0);
  EXPECT_GT(mine.remaining(), 0s);
  raw_.del("a");
  EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
  EXPECT_EQ(mine.lost_because(), loss_cause::key_gone);
  EXPECT_FALSE(mine.valid());
}

TEST_F(multi, says_who_holds_the_name_that_was_busy) {
  client other{server_.url(), with_long_timeouts({.label = "in the way"})};
  mutex holder_mutex{other, "b"};
  auto const lease = holder_mutex.acquire();
  ASSERT_TRUE(has_record(other, raw_));
  multi_mutex m{redis_, {"a", "b", "c"}};
  EXPECT_FALSE(m.last_busy());
  EXPECT_FALSE(m.try_acquire());
  auto const busy = m.last_busy();
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->holder.owner, lease.owner());
  EXPECT_EQ(busy->holder.label, "in the way");
  EXPECT_TRUE(busy->held_for);
}

TEST_F(multi, gives_back_what_a_thread_held_when_it_ended) {
  multi_mutex m{redis_, {"a", "b"}};
  std::jthread{[&] { m.lock(); }}.join();
  EXPECT_TRUE(m.try_lock_for(20s));
  m.unlock();
}

TEST_F(multi, refuses_names_that_make_no_set) {
  auto const refusal = [&](std::vector<std::string> names) {
    return message_of(std::make_error_code(std::errc::invalid_argument),
                      [&] { multi_mutex const m{redis_, std::move(names)}; });
  };
  EXPECT_NE(refusal({"a", "twice", "b", "twice"}).find("\"twice\""), std::string::npos);
  EXPECT_NE(refusal({}), "");
  EXPECT_NE(refusal({"a", ""}), "");
  EXPECT_NE(refusal(std::vector<std::string>(1001, "x")).find("1000"), std::string::npos);
  client same{server_.url(), with_long_timeouts()};
  EXPECT_EQ(code_of([&] { multi_mutex const m{{{redis_, "x"}, {same, "x"}}}; }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { multi_mutex const m{{{redis_, "x"}, {same, "y"}}}; }), std::error_code{});
  EXPECT_EQ(redis_.stats().commands, 0u);
}

TEST_F(multi, takes_a_thousand_names_with_any_bytes) {
  std::vector<std::string> names{std::string{"a\0b", 3}, "{x}", "x", "ü \r\n*3", "1:a", "1:a1:b", "a"};
  while (names.size() < 1000) names.push_back("n" + std::to_string(names.size()));
  multi_mutex m{redis_, names};
  auto lease = m.acquire();
  for (auto const& name : names) EXPECT_TRUE(raw_.exists(name)) << name;
  EXPECT_NO_THROW(lease.renew());
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(leftover_keys(raw_).empty());
}

TEST_F(multi, excludes_a_mutex_of_one_of_its_names_and_is_excluded) {
  client other{server_.url(), with_long_timeouts({.recheck = 30s})};
  // Beyond that limit it keeps the names that it gets, for a while.
  multi_mutex pair{redis_, {"a", "b"}, {.starvation_limit = 10min}};
  mutex b{other, "b"};
  {
    auto const lease = pair.acquire();
    EXPECT_FALSE(b.try_acquire());
  }
  auto b_lease = b.acquire();
  EXPECT_FALSE(pair.try_acquire());
  EXPECT_FALSE(pair.try_acquire_for(50ms));
  EXPECT_FALSE(raw_.exists("a")) << "all or none";
  std::atomic<int> served = 0;
  start(pair, served);
  ASSERT_TRUE(eventually([&] { return raw_.exists("{b}:holdfast_queue"); }));
  EXPECT_FALSE(raw_.exists("a")) << "nothing is held while it waits";
  b_lease.release();
  EXPECT_TRUE(eventually([&] { return served == 1; }));
}

TEST_F(multi, loses_no_wake_up_between_sets_and_single_locks) {
  // Each mutex has a client of its own, which rechecks in 30 s only.
  std::vector<std::unique_ptr<client>> clients;
  auto const fresh = [&]() -> client& {
    clients.push_back(std::make_unique<client>(server_.url(), with_long_timeouts({.recheck = 30s})));
    return *clients.back();
  };
  multi_mutex ab{fresh(), {"a", "b"}};
  multi_mutex bc{fresh(), {"c", "b"}};
  multi_mutex ca{fresh(), {"a", "c"}};
  mutex a{fresh(), "a"};
  mutex b{fresh(), "b"};
  mutex c{fresh(), "c"};
  std::atomic<int> turns = 0;
  std::atomic<int> slept = 0;
  auto const work = [&](auto& m) {
    for (auto i = 0; i < 60; ++i) {
      auto const begin = boot_now();
      auto const lease = m.acquire();
      if (boot_now() - begin > 25'000'000'000) ++slept;
      ++turns;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (auto* m : {&ab, &bc, &ca}) threads.emplace_back([&work, m] { work(*m); });
    for (auto* m : {&a, &b, &c}) threads.emplace_back([&work, m] { work(*m); });
  }
  EXPECT_EQ(turns, 360);
  EXPECT_EQ(slept, 0) << "until a re-check";
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_).empty(); }));
}

TEST_F(multi, is_never_seen_held_in_part_and_never_deadlocks_in_opposite_orders) {
  std::array<std::atomic<int>, 3> inside{};
  std::atomic<int> wrong = 0;
  std::vector<std::unique_ptr<client>> clients;
  std::vector<std::jthread> threads;
  std::vector<std::vector<std::string>> const orders{
      {"a", "b", "c"}, {"c", "b", "a"}, {"b", "a", "c"}, {"a", "c"}, {"c", "b"}};
  for (auto const& order : orders) {
    clients.push_back(std::make_unique<client>(server_.url(), with_long_timeouts()));
    for (auto copies = 0; copies < 2; ++copies) {
      threads.emplace_back([&, order, redis = clients.back().get()] {
        multi_mutex m{*redis, order};
        for (auto round = 0; round < 40; ++round) {
          auto const lease = m.acquire();
          for (auto const& name : order) wrong += inside[static_cast<std::size_t>(name[0] - 'a')]++;
          std::this_thread::yield();
          for (auto const& name : order) --inside[static_cast<std::size_t>(name[0] - 'a')];
        }
      });
    }
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_).empty(); }));
}

TEST_F(multi, lets_every_philosopher_eat) {
  constexpr auto seats = 5;
  std::vector<std::unique_ptr<client>> clients;
  std::array<std::atomic<int>, seats> meals{};
  std::atomic<bool> stopping = false;
  std::vector<std::jthread> threads;
  for (auto seat = 0; seat < seats; ++seat) {
    clients.push_back(std::make_unique<client>(server_.url(), with_long_timeouts()));
    threads.emplace_back([&, seat, redis = clients.back().get()] {
      multi_mutex forks{*redis,
                        {"fork" + std::to_string(seat), "fork" + std::to_string((seat + 1) % seats)},
                        {.starvation_limit = 20ms}};
      while (!stopping) {
        auto const lease = forks.acquire();
        ++meals[static_cast<std::size_t>(seat)];
        std::this_thread::sleep_for(500us);  // a meal takes time
      }
    });
  }
  auto const all_ate = [&] { return std::ranges::all_of(meals, [](auto const& n) { return n >= 20; }); };
  EXPECT_TRUE(eventually(60s, all_ate));
  stopping = true;
}

TEST_F(multi, gets_its_turn_though_its_names_are_never_free_together) {
  if (topology_under_test() == topology::cluster)
    GTEST_SKIP() << "it is about names that are taken together, and these are in different slots";
  // Two threads take turns so that one of the names is always held.
  client barging{server_.url(), with_long_timeouts()};
  std::atomic<bool> stopping = false;
  std::array<std::atomic<int>, 2> rounds{};
  std::vector<std::jthread> threads;
  for (auto const i : {0u, 1u}) {
    threads.emplace_back([&, i] {
      mutex m{barging, i == 0 ? "a" : "b"};
      while (!stopping) {
        auto const lease = m.acquire();
        auto const before = rounds[1 - i].load();
        ++rounds[i];
        // Until the other thread holds, so that both overlap; the multi_mutex in between may keep it out.
        (void)true_within(300ms, [&] { return rounds[1 - i] != before || stopping; });
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return rounds[0] > 3 && rounds[1] > 3; }));
  multi_mutex pair{redis_, {"a", "b"}, {.starvation_limit = 50ms}};
  auto const lease = pair.try_acquire_for(60s);
  stopping = true;
  EXPECT_TRUE(lease);
}

TEST_F(multi, holds_up_but_never_deadlocks_a_program_that_takes_the_names_in_another_order) {
  if (topology_under_test() == topology::cluster)
    GTEST_SKIP() << "it is about names that are taken together, and these are in different slots";
  client other{server_.url(), with_long_timeouts()};
  mutex a{other, "a"};
  mutex b{other, "b"};
  multi_mutex pair{redis_, {"a", "b"}, {.starvation_limit = 50ms}};
  auto held_b = b.acquire();
  std::atomic<int> served = 0;
  start(pair, served);
  ASSERT_TRUE(eventually([&] { return raw_.exists("a"); })) << "it goes short, and keeps a";
  {
    auto const held_a = a.try_acquire_for(20s);
    EXPECT_TRUE(held_a) << "it lets go of a though it never got b";
    EXPECT_EQ(served, 0);
  }
  held_b.release();
  EXPECT_TRUE(eventually([&] { return served == 1; }));
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_).empty(); }));
}

TEST_F(multi, leaves_nothing_when_it_gives_up_while_it_keeps_some) {
  if (topology_under_test() == topology::cluster)
    GTEST_SKIP() << "it is about names that are taken together, and these are in different slots";
  client other{server_.url(), with_long_timeouts()};
  mutex b{other, "b"};
  multi_mutex pair{redis_, {"a", "b"}, {.starvation_limit = 20ms}};
  {
    auto const held_b = b.acquire();
    std::stop_source stop;
    std::atomic<int> served = 0;
    start(pair, served, stop.get_token());
    ASSERT_TRUE(eventually([&] { return raw_.exists("a"); }));
    stop.request_stop();
    EXPECT_TRUE(eventually([&] { return !raw_.exists("a") && !raw_.exists("{b}:holdfast_queue"); }));
    EXPECT_EQ(served, 0);
    EXPECT_FALSE(pair.try_acquire_for(100ms));
  }
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_).empty(); }));
}

TEST_F(multi, is_lost_with_one_of_its_names_and_gives_the_others_back) {
  multi_mutex m{redis_, {"a", "b", "c"}, {.ttl = 60s, .renew_every = 100ms}};
  auto lease = m.acquire();
  std::atomic<int> notifications = 0;
  lease.on_lost([&](loss_cause cause) { notifications += cause == loss_cause::taken_over ? 1 : 100; });
  raw_.command({"SET", "b", "somebody", "PX", "60000"});
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_FALSE(lease.valid());
  EXPECT_EQ(lease.lost_because(), loss_cause::taken_over);
  EXPECT_TRUE(eventually([&] { return notifications == 1; }));
  EXPECT_EQ(code_of([&] { lease.renew(); }), errc::lost);
  EXPECT_EQ(lease.release(), release_result::lost);
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_) == std::vector<std::string>{"b"}; }))
      << "those that were left go back long before their ttl is over";
}

TEST_F(multi, names_in_its_errors_the_key_and_itself) {
  if (topology_under_test() == topology::cluster)
    GTEST_SKIP() << "it is about names that are taken together, and these are in different slots";
  raw_.command({"RPUSH", "b", "1"});
  multi_mutex m{redis_, {"a", "b", "c"}};
  auto const refusal = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(refusal.code, errc::wrong_type);
  EXPECT_TRUE(refusal.mentions("\"b\" holds a list")) << refusal;
  raw_.del("b");
  auto lease = m.acquire();
  std::stop_source stop;
  stop.request_stop();
  auto const cancelled = failure_of([&] { (void)m.acquire(stop.get_token()); });
  EXPECT_TRUE(cancelled.mentions("\"a\", \"b\" and 1 more")) << cancelled;
  EXPECT_FALSE(raw_.exists("{a}:holdfast_queue"));
}

}  // namespace
}  // namespace holdfast::test
