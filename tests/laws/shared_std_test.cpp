/// holdfast::shared_mutex in place of std::shared_timed_mutex.
#include "law.hpp"

#include <concepts>
#include <latch>
#include <shared_mutex>
#include <thread>

namespace holdfast::test {
namespace {

template <class T>
concept timed_lockable = requires(T m, std::chrono::seconds d, std::chrono::steady_clock::time_point t) {
  m.lock();
  m.unlock();
  { m.try_lock() } -> std::same_as<bool>;
  { m.try_lock_for(d) } -> std::same_as<bool>;
  { m.try_lock_until(t) } -> std::same_as<bool>;
};
template <class T>
concept shared_timed_lockable =
    requires(T m, std::chrono::seconds d, std::chrono::steady_clock::time_point t) {
      m.lock_shared();
      m.unlock_shared();
      { m.try_lock_shared() } -> std::same_as<bool>;
      { m.try_lock_shared_for(d) } -> std::same_as<bool>;
      { m.try_lock_shared_until(t) } -> std::same_as<bool>;
    };
static_assert(timed_lockable<shared_mutex> && shared_timed_lockable<shared_mutex>);
static_assert(!std::copyable<shared_mutex> && !std::movable<shared_mutex>);

class std_shared_mutex : public testing::Test {
 protected:
  template <class F>
  static void in_a_thread(F f) {
    std::jthread{std::move(f)}.join();
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client redis_{server_.url(), with_long_timeouts()};
  shared_mutex m_{redis_, "m"};
};

TEST_F(std_shared_mutex, works_with_the_guards_of_the_standard_library) {
  {
    std::shared_lock const reading{m_};
    in_a_thread([&] {
      std::shared_lock const another_reading{m_, std::try_to_lock};
      EXPECT_TRUE(another_reading.owns_lock());
      std::unique_lock const writing{m_, 20ms};
      EXPECT_FALSE(writing.owns_lock());
    });
  }
  EXPECT_EQ(m_.last_release(), release_result::released);
  {
    std::unique_lock const writing{m_, std::chrono::steady_clock::now() + 20s};
    EXPECT_TRUE(writing.owns_lock());
    in_a_thread([&] {
      std::shared_lock const reading{m_, 20ms};
      EXPECT_FALSE(reading.owns_lock());
      std::shared_lock const later{m_, std::chrono::system_clock::now() + 20ms};
      EXPECT_FALSE(later.owns_lock());
      EXPECT_FALSE(m_.try_lock());
    });
  }
  shared_mutex other{redis_, "other"};
  {
    std::scoped_lock const locks{m_, other};
  }
  EXPECT_TRUE(raw_.keys("m").empty());
}

TEST_F(std_shared_mutex, has_many_threads_read_at_the_same_time) {
  constexpr auto readers = 16;
  std::latch all_in{readers};
  {
    std::vector<std::jthread> threads;
    for (auto i = 0; i < readers; ++i) {
      threads.emplace_back([&] {
        std::shared_lock const reading{m_};
        all_in.arrive_and_wait();  // no reader leaves before all have entered
      });
    }
  }
  EXPECT_TRUE(raw_.keys("m").empty());
  EXPECT_TRUE(m_.try_lock());
  m_.unlock();
}

TEST_F(std_shared_mutex, counts_how_often_a_thread_reads) {
  m_.lock_shared();
  auto const commands = commands_at_rest(redis_, raw_);
  m_.lock_shared();
  EXPECT_TRUE(m_.try_lock_shared());
  m_.unlock_shared();
  m_.unlock_shared();
  EXPECT_TRUE(has_sent_nothing(redis_, commands)) << "none of it needs the server";
  in_a_thread([&] { EXPECT_FALSE(m_.try_lock()); });
  m_.unlock_shared();
  EXPECT_FALSE(raw_.exists("m"));
  EXPECT_EQ(code_of([&] { m_.unlock_shared(); }), std::errc::operation_not_permitted);
}

/// The message of the deadlock that is refused.
std::string refusal_of(void (shared_mutex::*operation)(), shared_mutex& m) {
  auto const refusal = failure_of([&] { (m.*operation)(); });
  EXPECT_EQ(refusal.code, std::errc::resource_deadlock_would_occur);
  return refusal.message;
}

TEST_F(std_shared_mutex, refuses_to_have_a_thread_wait_for_itself) {
  m_.lock_shared();
  EXPECT_NE(refusal_of(&shared_mutex::lock, m_).find("\"m\""), std::string::npos);
  EXPECT_FALSE(m_.try_lock());
  EXPECT_FALSE(m_.try_lock_for(1h));
  m_.unlock_shared();
  m_.lock();
  EXPECT_NE(refusal_of(&shared_mutex::lock_shared, m_).find("unlock_and_lock_shared()"), std::string::npos);
  EXPECT_FALSE(m_.try_lock_shared());
  EXPECT_FALSE(m_.try_lock_shared_for(1h));
  (void)refusal_of(&shared_mutex::lock, m_);
  EXPECT_FALSE(m_.try_lock());
  m_.unlock();
}

TEST_F(std_shared_mutex, unlocks_only_what_the_thread_has_locked_that_way) {
  EXPECT_EQ(code_of([&] { m_.unlock(); }), std::errc::operation_not_permitted);
  EXPECT_EQ(code_of([&] { m_.unlock_shared(); }), std::errc::operation_not_permitted);
  EXPECT_EQ(code_of([&] { m_.unlock_and_lock_shared(); }), std::errc::operation_not_permitted);
  m_.lock_shared();
  EXPECT_EQ(code_of([&] { m_.unlock(); }), std::errc::operation_not_permitted);
  EXPECT_EQ(code_of([&] { m_.unlock_and_lock_shared(); }), std::errc::operation_not_permitted);
  in_a_thread([&] { EXPECT_EQ(code_of([&] { m_.unlock_shared(); }), std::errc::operation_not_permitted); });
  m_.unlock_shared();
  m_.lock();
  EXPECT_EQ(code_of([&] { m_.unlock_shared(); }), std::errc::operation_not_permitted);
  m_.unlock();
}

TEST_F(std_shared_mutex, makes_the_thread_that_writes_a_reader_beside_others) {
  m_.lock();
  m_.unlock_and_lock_shared();
  in_a_thread([&] {
    EXPECT_TRUE(m_.try_lock_shared());
    EXPECT_FALSE(m_.try_lock());
    m_.unlock_shared();
  });
  m_.lock_shared();
  m_.unlock_shared();
  m_.unlock_shared();
  EXPECT_FALSE(raw_.exists("m"));
}

TEST_F(std_shared_mutex, leaves_nothing_locked_when_the_writer_lost_the_lock_before_it_became_a_reader) {
  m_.lock();
  raw_.del("m");
  EXPECT_EQ(code_of([&] { m_.unlock_and_lock_shared(); }), errc::lost);
  EXPECT_EQ(code_of([&] { m_.unlock_shared(); }), std::errc::operation_not_permitted);
  EXPECT_EQ(code_of([&] { m_.unlock(); }), std::errc::operation_not_permitted);
  EXPECT_TRUE(m_.try_lock());
  m_.unlock();
}

TEST_F(std_shared_mutex, gives_back_what_a_thread_read_or_wrote_when_it_ends) {
  in_a_thread([&] {
    m_.lock_shared();
    m_.lock_shared();
  });
  EXPECT_TRUE(eventually([&] { return !raw_.exists("m"); }));
  in_a_thread([&] { m_.lock(); });
  EXPECT_TRUE(eventually([&] { return !raw_.exists("m"); }));
}

TEST_F(std_shared_mutex, unlocks_in_its_destructor_what_threads_left_locked) {
  {
    shared_mutex locked{redis_, "left"};
    locked.lock_shared();
    EXPECT_TRUE(raw_.exists("left"));
  }
  EXPECT_FALSE(raw_.exists("left"));
}

TEST_F(std_shared_mutex, shows_the_lease_that_this_thread_reads_or_writes_by) {
  shared_mutex m{redis_, "shown", {.ttl = 60s, .renew_every = 100ms}};
  EXPECT_FALSE(m.current());
  EXPECT_FALSE(m.last_release());
  {
    std::scoped_lock const writing{m};
    EXPECT_TRUE(m.current().valid());
  }
  std::shared_lock const reading{m};
  auto const mine = m.current();
  EXPECT_TRUE(mine.valid());
  raw_.del("shown");
  EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
}

TEST_F(std_shared_mutex, never_pretends_that_a_lost_lock_could_be_read_again) {
  shared_mutex brief{redis_, "brief", {.ttl = 60s, .renew_every = 100ms}};
  brief.lock_shared();
  raw_.del("brief");
  auto depth = 1;
  auto const refused = [&] {
    return code_of([&] { brief.lock_shared(); }) == errc::lost || (++depth, false);
  };
  EXPECT_TRUE(eventually(refused));
  for (; depth > 0; --depth) EXPECT_EQ(code_of([&] { brief.unlock_shared(); }), std::error_code{});
  EXPECT_EQ(brief.last_release(), release_result::lost);
}

TEST_F(std_shared_mutex, refuses_bad_names_and_options_before_asking_anybody) {
  client unreachable_client{"redis+unix:///nonexistent/redis.sock"};
  auto const make = [&](std::string name, lock_options options = {}) {
    return code_of([&] { shared_mutex const m{unreachable_client, std::move(name), options}; });
  };
  EXPECT_EQ(make(""), std::errc::invalid_argument);
  EXPECT_EQ(make("m", {.ttl = 9ms}), std::errc::invalid_argument);
  for (auto const* const braces : {"a{b", "a}b", "{}z"}) {
    EXPECT_EQ(make(braces, {.wire = wire::redisson}), std::errc::invalid_argument);
    EXPECT_EQ(make(braces), std::error_code{});
  }
  for (auto const* const braces : {"a{x}b", "a}b{c}d", "{m}"})
    EXPECT_EQ(make(braces, {.wire = wire::redisson}), std::error_code{});
  EXPECT_EQ(unreachable_client.stats().commands, 0u);
}

}  // namespace
}  // namespace holdfast::test
