/// A thread that ends without unlocking gives the lock back.
#include "law.hpp"

#include <functional>
#include <latch>
#include <thread>

namespace holdfast::test {
namespace {

class thread_end : public testing::Test {
 protected:
  static void in_a_thread(std::function<void()> f) { std::jthread{std::move(f)}.join(); }

  std::vector<std::string> warnings() {
    std::scoped_lock const hold{guard_};
    return warnings_;
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  std::mutex guard_;
  std::vector<std::string> warnings_;
  client redis_{server_.url(), with_long_timeouts({.log = [this](log_level level, std::string_view message) {
                  std::scoped_lock const hold{guard_};
                  if (level == log_level::warning) warnings_.emplace_back(message);
                }})};
};

TEST_F(thread_end, gives_back_what_the_thread_held_and_warns) {
  mutex m{redis_, "orders"};
  in_a_thread([&] { m.lock(); });
  EXPECT_TRUE(m.try_lock_for(20s)) << "nobody holds it any more";
  m.unlock();
  ASSERT_TRUE(eventually([&] { return warnings().size() == 1; }));
  EXPECT_NE(warnings()[0].find("\"orders\""), std::string::npos) << warnings()[0];
}

TEST_F(thread_end, wakes_who_waits_for_the_lock) {
  mutex m{redis_, "orders"};
  client other{server_.url(), with_long_timeouts({.recheck = 30s})};
  mutex remote{other, "orders"};
  pending next;
  in_a_thread([&] {
    m.lock();
    remote.async_acquire(next.handler());
    EXPECT_TRUE(eventually([&] { return other.stats().waits == 1; }));
  });
  EXPECT_TRUE(eventually([&] { return next.done(); }));
}

TEST_F(thread_end, gives_back_a_nested_lock_whole) {
  recursive_mutex m{redis_, "orders"};
  in_a_thread([&] {
    m.lock();
    m.lock();
  });
  EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
}

TEST_F(thread_end, gives_back_each_of_several_locks_and_says_nothing_of_those_unlocked) {
  mutex a{redis_, "a"};
  mutex b{redis_, "b"};
  mutex c{redis_, "c"};
  in_a_thread([&] {
    for (auto* m : {&a, &b, &c}) m->lock();
    b.unlock();
    for (auto round = 0; round < 100; ++round) std::scoped_lock const hold{b};
  });
  EXPECT_TRUE(eventually([&] { return raw_.keys("[abc]").empty(); }));
  EXPECT_TRUE(eventually([&] { return warnings().size() == 2; }));
}

TEST_F(thread_end, harms_nobody_when_the_lock_object_has_gone_before) {
  in_a_thread([&] {
    for (auto round = 0; round < 20; ++round) {
      mutex m{redis_, "orders"};
      m.lock();
    }
    auto owned = std::make_unique<mutex>(redis_, "orders");
    owned->lock();
    std::jthread{[&] { owned.reset(); }}.join();
    EXPECT_FALSE(raw_.exists("orders"));
    mutex next{redis_, "orders"};
    next.lock();
    next.unlock();
  });
  EXPECT_TRUE(warnings().empty());
}

TEST_F(thread_end, harms_nobody_when_the_lock_object_goes_at_the_same_time) {
  for (auto round = 0; round < 200; ++round) {
    auto m = std::make_unique<mutex>(redis_, "orders");
    std::latch ready{2};
    std::jthread ending_thread{[&] {
      m->lock();
      ready.arrive_and_wait();
    }};
    ready.arrive_and_wait();
    m.reset();
    ending_thread.join();
    ASSERT_TRUE(eventually([&] { return !raw_.exists("orders"); })) << "round " << round;
  }
}

TEST_F(thread_end, harms_nobody_when_the_client_has_gone_before) {
  auto redis = std::make_unique<client>(server_.url(), with_long_timeouts());
  auto m = std::make_unique<mutex>(*redis, "orders");
  std::latch locked{1};
  std::latch client_gone{1};
  std::jthread holder{[&] {
    m->lock();
    locked.count_down();
    client_gone.wait();
  }};
  locked.wait();
  redis.reset();
  EXPECT_FALSE(raw_.exists("orders"));
  client_gone.count_down();
  holder.join();
}

TEST_F(thread_end, lets_a_guard_that_lives_as_long_as_the_thread_unlock_in_peace) {
  mutex m{redis_, "orders"};
  in_a_thread([&] {
    // The guard is made before anything is locked, so it is destroyed after the lock has been given back.
    thread_local std::unique_lock<mutex> guard;
    guard = std::unique_lock{m};
  });
  EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
}

TEST_F(thread_end, says_nothing_of_a_lease_which_belongs_to_no_thread) {
  mutex m{redis_, "orders"};
  lease held_lease;
  in_a_thread([&] { held_lease = m.acquire(); });
  EXPECT_TRUE(held_lease.valid());
  EXPECT_EQ(held_lease.release(), release_result::released);
  EXPECT_TRUE(warnings().empty());
}

}  // namespace
}  // namespace holdfast::test
