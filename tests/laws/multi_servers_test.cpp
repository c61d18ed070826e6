/// holdfast::multi_mutex over several servers: acquisition in the manner of std::lock.
#include "multi.hpp"

#include <thread>

namespace holdfast::test {
namespace {

class multi_servers : public multi {
 protected:
  redis_server second_server_{};
  raw_redis second_raw_ = second_server_.raw();
  client second_client_{second_server_.url(), with_long_timeouts()};
};

TEST_F(multi_servers, takes_and_releases_on_all_of_them) {
  multi_mutex m{{{redis_, "x"}, {second_client_, "x"}, {second_client_, "y"}}};
  auto lease = m.acquire();
  EXPECT_EQ(lease.parts().size(), 2u);
  EXPECT_TRUE(raw_.exists("x"));
  EXPECT_TRUE(second_raw_.exists("x"));
  EXPECT_TRUE(second_raw_.exists("y"));
  EXPECT_GT(lease.token("y"), 0);
  EXPECT_GT(lease.remaining(), 20s);
  EXPECT_NO_THROW(lease.renew());
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_FALSE(raw_.exists("x"));
  EXPECT_TRUE(second_raw_.keys("[xy]").empty());
  std::atomic<int> done = 0;
  m.acquire().async_release(
      [&](release_result result) { done = result == release_result::released ? 1 : -1; });
  EXPECT_TRUE(eventually([&] { return done == 1; }));
}

TEST_F(multi_servers, holds_nothing_while_it_waits_for_one_of_them) {
  mutex first{redis_, "x"};
  mutex second{second_client_, "y"};
  multi_mutex m{{{redis_, "x"}, {second_client_, "y"}}};
  for (auto* blocker : {&first, &second}) {
    auto lease = blocker->acquire();
    EXPECT_FALSE(m.try_acquire());
    EXPECT_FALSE(m.try_acquire_for(100ms));
    std::atomic<int> served = 0;
    start(m, served);
    auto& free_mutex = blocker == &first ? second : first;
    EXPECT_TRUE(free_mutex.try_acquire_for(20s));
    EXPECT_EQ(served, 0);
    lease.release();
    EXPECT_TRUE(eventually([&] { return served == 1; }));
    EXPECT_TRUE(eventually([&] { return raw_.keys("x").empty() && second_raw_.keys("y").empty(); }));
  }
}

TEST_F(multi_servers, never_deadlocks_and_never_livelocks) {
  std::atomic<int> turns = 0;
  std::atomic<int> inside = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::unique_ptr<client>> clients;
  std::vector<std::jthread> threads;
  for (auto number = 0; number < 4; ++number) {
    clients.push_back(std::make_unique<client>(server_.url(), with_long_timeouts()));
    clients.push_back(std::make_unique<client>(second_server_.url(), with_long_timeouts()));
    auto& first = *clients[clients.size() - 2];
    auto& second = *clients.back();
    threads.emplace_back([&] {
      multi_mutex m{{{first, "x"}, {second, "x"}}};
      for (auto i = 0; i < 25; ++i) {
        auto const lease = m.acquire();
        wrong += inside++;
        std::this_thread::yield();
        --inside;
        ++turns;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(turns, 100);
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_).empty(); }));
}

TEST_F(multi_servers, is_lost_with_one_of_them) {
  multi_mutex m{{{redis_, "x"}, {second_client_, "y"}}, {.ttl = 60s, .renew_every = 100ms}};
  auto lease = m.acquire();
  auto const lost = lease.lost();
  std::atomic<int> notifications = 0;
  lease.on_lost([&](loss_cause) { ++notifications; });
  second_raw_.del("y");
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(lease.valid());
  EXPECT_EQ(lease.lost_because(), loss_cause::key_gone);
  EXPECT_EQ(lease.release(), release_result::lost);
  EXPECT_FALSE(raw_.exists("x"));
  EXPECT_TRUE(eventually([&] { return notifications == 1; }));
}

TEST_F(multi_servers, gives_back_what_it_has_when_one_of_them_cannot_be_asked) {
  client unreachable_client{"redis+unix:///nonexistent/redis.sock", {.connect_timeout = 100ms}};
  multi_mutex m{{{redis_, "x"}, {unreachable_client, "y"}}};
  EXPECT_EQ(code_of([&] { (void)m.try_acquire_for(1s); }), errc::unreachable);
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_).empty(); }));
  std::atomic<bool> failed = false;
  m.async_try_acquire_for(1s, [&](std::optional<multi_lease>, std::exception_ptr const& failure) {
    failed = code_of([&] { std::rethrow_exception(failure); }) == errc::unreachable;
  });
  EXPECT_TRUE(eventually([&] { return failed.load(); }));
  EXPECT_TRUE(eventually([&] { return leftover_keys(raw_).empty(); }));
}

TEST_F(multi_servers, can_be_waited_for_inside_a_callback) {
  multi_mutex m{{{redis_, "x"}, {second_client_, "y"}}};
  mutex outer{redis_, "outer"};
  std::atomic<bool> both_acquired = false;
  outer.async_acquire([&](std::optional<lease> first, std::exception_ptr const&) {
    auto second = m.try_acquire_for(20s);
    both_acquired = first && second && second->release() == release_result::released;
  });
  EXPECT_TRUE(eventually([&] { return both_acquired.load(); }));
}

TEST_F(multi_servers, lets_its_waiters_go_when_a_client_is_destroyed) {
  mutex first{redis_, "x"};
  auto const lease = first.acquire();
  auto closing_client = std::make_unique<client>(server_.url(), with_long_timeouts());
  multi_mutex m{{{*closing_client, "x"}, {second_client_, "y"}}};
  std::atomic<bool> closed = false;
  m.async_acquire([&](std::optional<multi_lease>, std::exception_ptr const& failure) {
    closed = code_of([&] { std::rethrow_exception(failure); }) == errc::closed;
  });
  closing_client.reset();
  EXPECT_TRUE(eventually([&] { return closed.load(); }));
  EXPECT_TRUE(eventually([&] { return second_raw_.keys("y").empty(); }));
}

}  // namespace
}  // namespace holdfast::test
