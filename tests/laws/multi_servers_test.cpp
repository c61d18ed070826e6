/// holdfast::multi_mutex over several servers: the way of std::lock.
#include "multi.hpp"

#include <thread>

namespace holdfast::test {
namespace {

class multi_servers : public multi {
 protected:
  redis_server there_server_{};
  raw_redis there_raw_ = there_server_.raw();
  client there_{there_server_.url(), unhurried()};
};

TEST_F(multi_servers, takes_and_releases_on_all_of_them) {
  multi_mutex m{{{redis_, "x"}, {there_, "x"}, {there_, "y"}}};
  auto mine = m.acquire();
  EXPECT_EQ(mine.parts().size(), 2u);
  EXPECT_TRUE(raw_.exists("x"));
  EXPECT_TRUE(there_raw_.exists("x"));
  EXPECT_TRUE(there_raw_.exists("y"));
  EXPECT_GT(mine.token("y"), 0);
  EXPECT_GT(mine.remaining(), 20s);
  EXPECT_NO_THROW(mine.renew());
  EXPECT_EQ(mine.release(), release_result::released);
  EXPECT_FALSE(raw_.exists("x"));
  EXPECT_TRUE(there_raw_.keys("[xy]").empty());
  std::atomic<int> done = 0;
  m.acquire().async_release(
      [&](release_result result) { done = result == release_result::released ? 1 : -1; });
  EXPECT_TRUE(eventually([&] { return done == 1; }));
}

TEST_F(multi_servers, holds_nothing_while_it_waits_for_one_of_them) {
  mutex here{redis_, "x"};
  mutex there{there_, "y"};
  multi_mutex m{{{redis_, "x"}, {there_, "y"}}};
  for (auto* blocker : {&here, &there}) {
    auto held = blocker->acquire();
    EXPECT_FALSE(m.try_acquire());
    EXPECT_FALSE(m.try_acquire_for(100ms));
    std::atomic<int> served = 0;
    start(m, served);
    auto& free_one = blocker == &here ? there : here;
    EXPECT_TRUE(free_one.try_acquire_for(20s));
    EXPECT_EQ(served, 0);
    held.release();
    EXPECT_TRUE(eventually([&] { return served == 1; }));
    EXPECT_TRUE(eventually([&] { return raw_.keys("x").empty() && there_raw_.keys("y").empty(); }));
  }
}

TEST_F(multi_servers, never_deadlocks_and_never_livelocks) {
  std::atomic<int> turns = 0;
  std::atomic<int> inside = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::unique_ptr<client>> clients;
  std::vector<std::jthread> threads;
  for (auto who = 0; who < 4; ++who) {
    clients.push_back(std::make_unique<client>(server_.url(), unhurried()));
    clients.push_back(std::make_unique<client>(there_server_.url(), unhurried()));
    auto& one = *clients[clients.size() - 2];
    auto& two = *clients.back();
    threads.emplace_back([&] {
      multi_mutex m{{{one, "x"}, {two, "x"}}};
      for (auto i = 0; i < 25; ++i) {
        auto const mine = m.acquire();
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
  EXPECT_TRUE(eventually([&] { return residue().empty(); }));
}

TEST_F(multi_servers, is_lost_with_one_of_them) {
  multi_mutex m{{{redis_, "x"}, {there_, "y"}}, {.ttl = 60s, .renew_every = 100ms}};
  auto mine = m.acquire();
  auto const lost = mine.lost();
  std::atomic<int> told = 0;
  mine.on_lost([&](loss_cause) { ++told; });
  there_raw_.del("y");
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(mine.valid());
  EXPECT_EQ(mine.lost_because(), loss_cause::key_gone);
  EXPECT_EQ(mine.release(), release_result::lost);
  EXPECT_FALSE(raw_.exists("x"));
  EXPECT_TRUE(eventually([&] { return told == 1; }));
}

TEST_F(multi_servers, gives_back_what_it_has_when_one_of_them_cannot_be_asked) {
  client nowhere{"redis+unix:///nonexistent/redis.sock", {.connect_timeout = 100ms}};
  multi_mutex m{{{redis_, "x"}, {nowhere, "y"}}};
  EXPECT_EQ(code_of([&] { (void)m.try_acquire_for(20s); }), errc::unreachable);
  EXPECT_TRUE(eventually([&] { return residue().empty(); }));
  std::atomic<bool> failed = false;
  m.async_try_acquire_for(20s, [&](std::optional<multi_lease>, std::exception_ptr const& why) {
    failed = code_of([&] { std::rethrow_exception(why); }) == errc::unreachable;
  });
  EXPECT_TRUE(eventually([&] { return failed.load(); }));
  EXPECT_TRUE(eventually([&] { return residue().empty(); }));
}

TEST_F(multi_servers, can_be_waited_for_inside_a_callback) {
  multi_mutex m{{{redis_, "x"}, {there_, "y"}}};
  mutex outer{redis_, "outer"};
  std::atomic<bool> both = false;
  outer.async_acquire([&](std::optional<lease> first, std::exception_ptr const&) {
    auto second = m.try_acquire_for(20s);
    both = first && second && second->release() == release_result::released;
  });
  EXPECT_TRUE(eventually([&] { return both.load(); }));
}

TEST_F(multi_servers, lets_its_waiters_go_when_a_client_is_destroyed) {
  mutex here{redis_, "x"};
  auto const held = here.acquire();
  auto gone = std::make_unique<client>(server_.url(), unhurried());
  multi_mutex m{{{*gone, "x"}, {there_, "y"}}};
  std::atomic<bool> closed = false;
  m.async_acquire([&](std::optional<multi_lease>, std::exception_ptr const& why) {
    closed = code_of([&] { std::rethrow_exception(why); }) == errc::closed;
  });
  gone.reset();
  EXPECT_TRUE(eventually([&] { return closed.load(); }));
  EXPECT_TRUE(eventually([&] { return there_raw_.keys("y").empty(); }));
}

}  // namespace
}  // namespace holdfast::test
