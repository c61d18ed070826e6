/// holdfast::recursive_mutex: the holder may lock it again, by its thread or by its lease.
#include "law.hpp"

#include <thread>

namespace holdfast::test {
namespace {

class recursive : public testing::Test {
 protected:
  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client redis_{server_.url(), with_long_timeouts()};
};

TEST_F(recursive, counts_in_the_client_without_asking_the_server) {
  recursive_mutex m{redis_, "m"};
  m.lock();
  auto const commands = commands_at_rest(redis_, raw_);
  m.lock();
  EXPECT_TRUE(m.try_lock());
  EXPECT_TRUE(m.try_lock_for(20s));
  m.unlock();
  m.unlock();
  m.unlock();
  EXPECT_TRUE(has_sent_nothing(redis_, commands));
  EXPECT_TRUE(raw_.exists("m"));
  m.unlock();
  EXPECT_FALSE(raw_.exists("m"));
  EXPECT_EQ(m.last_release(), release_result::released);
  EXPECT_EQ(code_of([&] { m.unlock(); }), std::errc::operation_not_permitted);
}

TEST_F(recursive, keeps_other_threads_out_until_the_last_unlock) {
  recursive_mutex m{redis_, "m"};
  m.lock();
  m.lock();
  auto const try_in_thread = [&m] {
    auto acquired = true;
    std::jthread{[&] {
      acquired = m.try_lock();
      if (acquired) m.unlock();
    }}.join();
    return acquired;
  };
  EXPECT_FALSE(try_in_thread());
  m.unlock();
  EXPECT_FALSE(try_in_thread());
  m.unlock();
  EXPECT_TRUE(try_in_thread());
}

TEST_F(recursive, works_with_nested_guards_of_the_standard_library) {
  recursive_mutex a{redis_, "a"};
  recursive_mutex b{redis_, "b"};
  std::scoped_lock const outer{a, b};
  {
    std::scoped_lock const inner{b, a};
    std::unique_lock const innermost{a};
    EXPECT_TRUE(innermost.owns_lock());
  }
  EXPECT_TRUE(raw_.exists("a"));
}

TEST_F(recursive, is_the_same_lock_as_a_mutex_of_its_name) {
  recursive_mutex m{redis_, "m"};
  mutex plain{redis_, "m"};
  m.lock();
  EXPECT_FALSE(plain.try_acquire());
  m.unlock();
  EXPECT_TRUE(plain.try_acquire());
}

TEST_F(recursive, never_pretends_that_a_lost_lock_could_be_locked_again) {
  recursive_mutex m{redis_, "m", {.ttl = 60s, .renew_every = 100ms}};
  m.lock();
  m.lock();
  raw_.command({"SET", "m", "somebody", "PX", "60000"});
  // Nesting that succeeds before the loss is known counts, too.
  auto depth = 2;
  auto const refused = [&] { return code_of([&] { m.lock(); }) == errc::lost || (++depth, false); };
  EXPECT_TRUE(eventually(refused));
  EXPECT_EQ(code_of([&] { (void)m.try_lock(); }), errc::lost);
  for (; depth > 0; --depth) EXPECT_EQ(code_of([&] { m.unlock(); }), std::error_code{});
  EXPECT_EQ(m.last_release(), release_result::lost);
  EXPECT_EQ(code_of([&] { m.unlock(); }), std::errc::operation_not_permitted);
  raw_.del("m");
  EXPECT_TRUE(m.try_lock_for(20s));
  m.unlock();
}

TEST_F(recursive, refuses_to_nest_deeper_than_it_can_count) {
  recursive_mutex m{redis_, "m"};
  for (auto i = 0; i < 1'000'000; ++i) m.lock();
  EXPECT_EQ(code_of([&] { m.lock(); }), std::errc::resource_unavailable_try_again);
  EXPECT_EQ(code_of([&] { (void)m.try_lock(); }), std::errc::resource_unavailable_try_again);
  m.unlock();
  EXPECT_TRUE(m.try_lock());
  for (auto i = 0; i < 1'000'000; ++i) m.unlock();
  EXPECT_FALSE(raw_.exists("m"));
}

TEST_F(recursive, lets_a_callee_in_by_the_lease_of_its_caller) {
  recursive_mutex m{redis_, "m"};
  auto outer = m.acquire();
  auto const commands = commands_at_rest(redis_, raw_);
  auto inner = m.reenter(outer);
  EXPECT_TRUE(inner.valid());
  EXPECT_EQ(inner.token(), outer.token());
  EXPECT_EQ(inner.owner(), outer.owner());
  EXPECT_EQ(m.reenter(outer).keep_for(60s), release_result::released) << "the others decide";
  EXPECT_EQ(outer.release(), release_result::released) << "not the last";
  EXPECT_TRUE(has_sent_nothing(redis_, commands)) << "none of it needs the server";
  EXPECT_TRUE(inner.valid());
  EXPECT_EQ(raw_.get("m"), inner.owner());
  EXPECT_FALSE(m.try_acquire());
  {
    auto const last = m.reenter(inner);
    std::atomic<bool> released = false;
    inner.async_release([&](release_result result) { released = result == release_result::released; });
    EXPECT_TRUE(eventually([&] { return released.load(); }));
    EXPECT_TRUE(last.valid());
  }
  EXPECT_FALSE(raw_.exists("m"));
  EXPECT_EQ(redis_.stats().held_now, 0u);
}

TEST_F(recursive, tells_each_lease_of_an_acquisition_that_it_is_lost) {
  recursive_mutex m{redis_, "m"};
  auto outer = m.acquire();
  auto inner = m.reenter(outer);
  std::atomic<int> notifications = 0;
  for (auto* lease : {&outer, &inner}) lease->on_lost([&](loss_cause) { ++notifications; });
  raw_.command({"SET", "m", "somebody", "PX", "60000"});
  EXPECT_EQ(code_of([&] { inner.renew(); }), errc::lost);
  EXPECT_TRUE(eventually([&] { return notifications == 2; }));
  EXPECT_EQ(outer.lost_because(), loss_cause::taken_over);
  EXPECT_TRUE(eventually([&] { return inner.lost().stop_requested(); }));
  EXPECT_EQ(inner.release(), release_result::lost);
  EXPECT_EQ(outer.release(), release_result::lost);
  EXPECT_EQ(raw_.get("m"), "somebody");
}

TEST_F(recursive, lets_nobody_in_by_a_lease_that_is_over_or_of_another_lock) {
  recursive_mutex m{redis_, "m"};
  recursive_mutex other{redis_, "other"};
  client second{server_.url(), with_long_timeouts()};
  auto const other_lease = other.acquire();
  EXPECT_EQ(code_of([&] { (void)m.reenter(other_lease); }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)m.reenter(lease{}); }), errc::lost);
  auto held_lease = m.acquire();
  {
    recursive_mutex remote{second, "m"};
    EXPECT_EQ(code_of([&] { (void)remote.reenter(held_lease); }), std::errc::invalid_argument);
  }
  raw_.del("m");
  EXPECT_EQ(code_of([&] { held_lease.renew(); }), errc::lost);
  EXPECT_EQ(code_of([&] { (void)m.reenter(held_lease); }), errc::lost);
}

TEST_F(recursive, serves_the_next_caller_when_the_last_lease_is_released) {
  recursive_mutex m{redis_, "m"};
  auto outer = m.acquire();
  auto inner = m.reenter(outer);
  pending next;
  m.async_acquire(next.handler());
  outer.release();
  EXPECT_TRUE(always(50ms, [&] { return !next.done(); }));
  inner.release();
  EXPECT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_TRUE(next.take());
}

}  // namespace
}  // namespace holdfast::test
