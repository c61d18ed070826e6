/// holdfast::mutex in place of std::timed_mutex.
#include "law.hpp"

#include <thread>

namespace holdfast::test {
namespace {

class std_mutex : public testing::Test {
 protected:
  deployment_under_test server_{};
  client redis_{server_.url(), with_long_timeouts()};
};

TEST_F(std_mutex, works_with_the_guards_of_the_standard_library) {
  mutex a{redis_, "a"};
  mutex b{redis_, "b"};
  {
    std::scoped_lock const hold{a, b};
  }
  {
    std::lock_guard const hold{a};
  }
  {
    std::unique_lock hold{a, std::defer_lock};
    EXPECT_TRUE(hold.try_lock());
    hold.unlock();
    EXPECT_TRUE(hold.try_lock_for(20s));
    hold.unlock();
    EXPECT_TRUE(hold.try_lock_until(std::chrono::system_clock::now() + 20s));
  }
  EXPECT_EQ(a.last_release(), release_result::released);
  EXPECT_TRUE(server_.raw().keys("[ab]").empty());
}

TEST_F(std_mutex, shows_the_lease_behind_a_scoped_lock) {
  mutex m{redis_, "m", {.ttl = 30s}};
  EXPECT_FALSE(m.current());
  EXPECT_EQ(m.current().token(), 0);
  EXPECT_EQ(m.current().remaining(), 0s);
  EXPECT_FALSE(m.current().lost().stop_possible());
  lease_view seen;
  {
    std::scoped_lock const hold{m};
    seen = m.current();
    EXPECT_TRUE(seen.valid());
    EXPECT_GT(seen.token(), 0);
    EXPECT_GT(seen.remaining(), 20s);
    EXPECT_EQ(seen.name(), "m");
    EXPECT_EQ(server_.raw().get("m"), seen.owner());
    EXPECT_FALSE(seen.lost().stop_requested());
    std::jthread{[&] { EXPECT_FALSE(m.current()) << "another thread holds it"; }}.join();
  }
  EXPECT_FALSE(seen.valid());
  EXPECT_FALSE(seen.lost().stop_requested()) << "a release is no loss";
  EXPECT_FALSE(m.current());
}

TEST_F(std_mutex, tells_a_scoped_lock_of_its_loss_while_it_is_held) {
  mutex m{redis_, "m", {.ttl = 60s, .renew_every = 100ms}};
  std::scoped_lock const hold{m};
  auto const mine = m.current();
  auto const lost = mine.lost();
  server_.raw().command({"SET", "m", "somebody else"});
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(mine.valid());
  EXPECT_EQ(mine.lost_because(), loss_cause::taken_over);
  EXPECT_FALSE(m.current().valid());
}

TEST_F(std_mutex, lets_a_view_outlive_the_lock_and_the_client) {
  lease_view seen;
  {
    client brief{server_.url(), with_long_timeouts()};
    mutex m{brief, "m"};
    m.lock();
    seen = m.current();
    auto const copy = seen;
    EXPECT_TRUE(copy.valid());
  }
  EXPECT_FALSE(seen.valid());
  EXPECT_EQ(seen.name(), "m");
}

TEST_F(std_mutex, has_no_last_release_before_an_unlock) {
  mutex m{redis_, "m"};
  EXPECT_FALSE(m.last_release());
  m.lock();
  EXPECT_FALSE(m.last_release());
  m.unlock();
  EXPECT_EQ(m.last_release(), release_result::released);
}

TEST_F(std_mutex, takes_several_in_any_order_without_deadlock) {
  mutex a{redis_, "a"};
  mutex b{redis_, "b"};
  std::atomic<int> rounds = 0;
  auto const work = [&rounds](mutex& first, mutex& second) {
    for (auto i = 0; i < 50; ++i) {
      std::scoped_lock const hold{first, second};
      ++rounds;
    }
  };
  {
    auto const forward = std::jthread{[&] { work(a, b); }};
    auto const backward = std::jthread{[&] { work(b, a); }};
  }
  EXPECT_EQ(rounds, 100);
}

TEST_F(std_mutex, refuses_misuse_as_the_standard_names_it) {
  mutex m{redis_, "m"};
  EXPECT_EQ(code_of([&] { m.unlock(); }), std::errc::operation_not_permitted);
  m.lock();
  EXPECT_EQ(code_of([&] { m.lock(); }), std::errc::resource_deadlock_would_occur);
  EXPECT_FALSE(m.try_lock());
  std::jthread{[&] { EXPECT_EQ(code_of([&] { m.unlock(); }), std::errc::operation_not_permitted); }}.join();
  std::jthread{[&] { EXPECT_FALSE(m.try_lock_for(20ms)); }}.join();
  m.unlock();
  EXPECT_EQ(code_of([&] { m.unlock(); }), std::errc::operation_not_permitted);
}

TEST_F(std_mutex, refuses_bad_names_and_options_before_asking_anybody) {
  client unreachable_client{"redis+unix:///nonexistent/redis.sock"};
  auto const make = [&](std::string name, lock_options options = {}) {
    return code_of([&] { mutex const m{unreachable_client, std::move(name), options}; });
  };
  EXPECT_EQ(make(""), std::errc::invalid_argument);
  EXPECT_EQ(make(std::string(65'537, 'x')), std::errc::invalid_argument);
  EXPECT_EQ(make("m", {.ttl = 0ms}), std::errc::invalid_argument);
  EXPECT_EQ(make("m", {.ttl = 9ms}), std::errc::invalid_argument);
  EXPECT_EQ(make("m", {.ttl = -1s}), std::errc::invalid_argument);
  EXPECT_EQ(make("m", {.max_renewals = -1}), std::errc::invalid_argument);
  EXPECT_EQ(make("m", {.max_hold = -1s}), std::errc::invalid_argument);
  EXPECT_EQ(make("m"), std::error_code{});
  EXPECT_EQ(unreachable_client.stats().commands, 0u);
}

TEST_F(std_mutex, unlocks_in_its_destructor_what_a_thread_left_locked) {
  {
    mutex m{redis_, "m"};
    m.lock();
    EXPECT_TRUE(server_.raw().exists("m"));
  }
  EXPECT_FALSE(server_.raw().exists("m"));
}

TEST_F(std_mutex, lets_a_thread_unlock_what_another_thread_of_the_process_has_got_meanwhile) {
  mutex m{redis_, "m", {.ttl = 60s, .renew_every = 100ms}};
  std::atomic<bool> taken = false;
  std::atomic<bool> stopping = false;
  m.lock();
  std::jthread next{[&] {
    m.lock();
    taken = true;
    EXPECT_TRUE(eventually([&] { return stopping.load(); }));
    m.unlock();
    EXPECT_EQ(m.last_release(), release_result::released);
  }};
  server_.raw().del("m");
  EXPECT_TRUE(eventually([&] { return taken.load(); }));
  EXPECT_EQ(code_of([&] { m.lock(); }), std::errc::resource_deadlock_would_occur);
  EXPECT_EQ(code_of([&] { m.unlock(); }), std::error_code{});
  EXPECT_EQ(m.last_release(), release_result::lost);
  EXPECT_TRUE(server_.raw().exists("m")) << "the next one still holds it";
  EXPECT_EQ(code_of([&] { m.unlock(); }), std::errc::operation_not_permitted);
  stopping = true;
}

TEST_F(std_mutex, is_the_same_lock_as_another_object_of_its_name) {
  mutex first{redis_, "m"};
  mutex second{redis_, "m"};
  first.lock();
  EXPECT_FALSE(second.try_lock_for(20ms));
  first.unlock();
  EXPECT_TRUE(second.try_lock());
  second.unlock();
}

TEST_F(std_mutex, keeps_names_with_any_bytes_apart) {
  for (auto const& name :
       {std::string{"a\0b", 3}, std::string{"{x}"}, std::string{"ü \r\n*3"}, std::string(60'000, 'n')}) {
    mutex m{redis_, name};
    auto const lease = m.acquire();
    EXPECT_EQ(server_.raw().get(name), lease.owner());
  }
}

}  // namespace
}  // namespace holdfast::test
