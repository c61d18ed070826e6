/// Waiting until a deadline, which may have passed by the time of the call: that is no error of the caller's.
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/synchronized.hpp>

#include <future>

#include "law.hpp"

namespace holdfast::test {
namespace {

using clock = std::chrono::steady_clock;

class a_deadline_that_has_passed : public testing::Test {
 protected:
  /// Free: has it. Busy: doesn't, and says so at once.
  template <class Acquire>
  void expect_one_try(Acquire acquire) {
    for (auto const left : {-1ns, 0ns, std::chrono::nanoseconds::min()}) {
      auto const first = acquire(left);
      EXPECT_TRUE(first) << left.count();
      auto const start = clock::now();
      EXPECT_FALSE(acquire(left)) << left.count();
      EXPECT_LT(clock::now() - start, 20s);
    }
  }

  deployment_under_test server_{};
  client redis_{server_.url(), with_long_timeouts()};
  clock::time_point const past_ = clock::now() - 1ms;
};

TEST_F(a_deadline_that_has_passed, tries_a_mutex_once) {
  mutex m{redis_, "m"};
  expect_one_try([&](auto left) { return m.try_acquire_for(left); });
  expect_one_try([&](auto) { return m.try_acquire_until(past_); });
  m.lock();
  EXPECT_FALSE(m.try_acquire_for(past_ - clock::now()));
}

TEST_F(a_deadline_that_has_passed, tries_several_names_once) {
  multi_mutex m{redis_, {"{m}a", "{m}b"}};
  expect_one_try([&](auto left) { return m.try_acquire_for(left); });
  expect_one_try([&](auto) { return m.try_acquire_until(past_); });
}

TEST_F(a_deadline_that_has_passed, tries_a_shared_mutex_once) {
  shared_mutex m{redis_, "m"};
  expect_one_try([&](auto left) { return m.try_acquire_for(left); });
  expect_one_try([&](auto) { return m.try_acquire_until(past_); });
  auto const reading = m.try_acquire_shared_for(-1s);
  EXPECT_TRUE(reading);
  EXPECT_TRUE(m.try_acquire_shared_until(past_));
  EXPECT_FALSE(m.try_acquire_until(past_));
}

TEST_F(a_deadline_that_has_passed, tries_a_semaphore_once) {
  semaphore s{redis_, "s"};
  s.try_set_permits(2);
  EXPECT_TRUE(s.try_acquire_for(-1s));
  EXPECT_TRUE(s.try_acquire_until(past_));
  EXPECT_FALSE(s.try_acquire_for(-1s));
  EXPECT_FALSE(s.try_acquire_until(past_));
  expiring_semaphore e{redis_, "e"};
  e.try_set_permits(1);
  expect_one_try([&](auto left) { return e.try_acquire_for(left); });
  expect_one_try([&](auto) { return e.try_acquire_until(past_); });
}

TEST_F(a_deadline_that_has_passed, looks_at_a_latch_once) {
  latch l{redis_, "l"};
  EXPECT_TRUE(l.wait_for(-1s));
  l.try_set_count(1);
  EXPECT_FALSE(l.wait_for(-1s));
  EXPECT_FALSE(l.wait_until(past_));
}

TEST_F(a_deadline_that_has_passed, tries_the_lock_of_a_function_once) {
  auto const left = milliseconds{-5};
  EXPECT_EQ(synchronized(redis_, "f", {.wait = left}, [] { return 42; }), 42);
  EXPECT_TRUE(synchronized(redis_, "f", skip_if_busy{.wait = left}, [] {}));
}

/// Waits for what an asynchronous try answers.
template <class Start>
bool answer_of(Start start) {
  std::promise<bool> answered;
  auto answer = answered.get_future();
  // A handler that can only be moved.
  start([answered = std::move(answered)](auto&& acquired, std::exception_ptr const& failure) mutable {
    answered.set_value(!failure && static_cast<bool>(acquired));
  });
  return answer.get();
}

TEST_F(a_deadline_that_has_passed, tries_once_asynchronously) {
  mutex m{redis_, "m"};
  multi_mutex both{redis_, {"{b}a", "{b}b"}};
  shared_mutex shared{redis_, "s"};
  EXPECT_TRUE(answer_of([&](auto done) { m.async_try_acquire_for(-1s, std::move(done)); }));
  EXPECT_TRUE(answer_of([&](auto done) { both.async_try_acquire_for(-1s, std::move(done)); }));
  EXPECT_TRUE(answer_of([&](auto done) { shared.async_try_acquire_for(-1s, std::move(done)); }));
  EXPECT_TRUE(answer_of([&](auto done) { shared.async_try_acquire_shared_for(-1s, std::move(done)); }));
}

TEST_F(a_deadline_that_has_passed, is_what_async_try_acquire_has) {
  mutex m{redis_, "m"};
  auto const held = m.acquire();
  EXPECT_FALSE(answer_of([&](auto done) { m.async_try_acquire(std::move(done)); }));
  multi_mutex both{redis_, {"{b}a", "{b}b"}};
  EXPECT_TRUE(answer_of([&](auto done) { both.async_try_acquire(std::move(done)); }));
  shared_mutex shared{redis_, "s"};
  auto const reading = shared.acquire_shared();
  EXPECT_FALSE(answer_of([&](auto done) { shared.async_try_acquire(std::move(done)); }));
  EXPECT_TRUE(answer_of([&](auto done) { shared.async_try_acquire_shared(std::move(done)); }));
  semaphore s{redis_, "p"};
  EXPECT_FALSE(answer_of([&](auto done) { s.async_try_acquire(std::move(done)); }));
  expiring_semaphore e{redis_, "e"};
  EXPECT_FALSE(answer_of([&](auto done) { e.async_try_acquire(std::move(done)); }));
}

}  // namespace
}  // namespace holdfast::test
