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

  served server_{};
  raw_servers raw_ = server_.raw();
  std::mutex guard_;
  std::vector<std::string> warnings_;
  client redis_{server_.url(), unhurried({.log = [this](log_level level, std::string_view message) {
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
  client other{server_.url(), unhurried({.recheck = 30s})};
  mutex elsewhere{other, "orders"};
  pending next;
  in_a_thread([&] {
    m.lock();
    elsewhere.async_acquire(next.handler());
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
    for (auto* one : {&a, &b, &c}) one->lock();
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
    auto held = std::make_unique<mutex>(redis_, "orders");
    held->lock();
    std::jthread{[&] { held.reset(); }}.join();
    EXPECT_FALSE(raw_.exists("orders"));
    mutex again{redis_, "orders"};
    again.lock();
    again.unlock();
  });
  EXPECT_TRUE(warnings().empty());
}

TEST_F(thread_end, harms_nobody_when_the_lock_object_goes_at_the_same_time) {
  for (auto round = 0; round < 200; ++round) {
    auto m = std::make_unique<mutex>(redis_, "orders");
    std::latch both{2};
    std::jthread ends{[&] {
      m->lock();
      both.arrive_and_wait();
    }};
    both.arrive_and_wait();
    m.reset();
    ends.join();
    ASSERT_TRUE(eventually([&] { return !raw_.exists("orders"); })) << "round " << round;
  }
}

TEST_F(thread_end, harms_nobody_when_the_client_has_gone_before) {
  auto redis = std::make_unique<client>(server_.url(), unhurried());
  auto m = std::make_unique<mutex>(*redis, "orders");
  std::latch locked{1};
  std::latch gone{1};
  std::jthread holder{[&] {
    m->lock();
    locked.count_down();
    gone.wait();
  }};
  locked.wait();
  redis.reset();
  EXPECT_FALSE(raw_.exists("orders"));
  gone.count_down();
  holder.join();
}

TEST_F(thread_end, lets_a_guard_that_lives_as_long_as_the_thread_unlock_in_peace) {
  mutex m{redis_, "orders"};
  in_a_thread([&] {
    // Made before anything was locked, so destroyed after the lock has been given back.
    thread_local std::unique_lock<mutex> guard;
    guard = std::unique_lock{m};
  });
  EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
}

TEST_F(thread_end, says_nothing_of_a_lease_which_belongs_to_no_thread) {
  mutex m{redis_, "orders"};
  lease mine;
  in_a_thread([&] { mine = m.acquire(); });
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(mine.release(), release_result::released);
  EXPECT_TRUE(warnings().empty());
}

}  // namespace
}  // namespace holdfast::test
