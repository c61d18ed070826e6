/// RLock and mutex: features of these two only, tokens, and several names at once.
#include "beside_redisson.hpp"

#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>

#include <mutex>

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr auto mutex_channel = "redisson_lock__channel:{orders}";

class redisson_mutex : public beside_each_redisson {};

INSTANTIATE_TEST_SUITE_P(all, redisson_mutex,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_mutex, that_our_thread_holds_twice_is_theirs_after_both_unlocks) {
  redisson java{server_, GetParam()};
  recursive_mutex holdfast_lock{redis_, "orders"};
  holdfast_lock.lock();
  holdfast_lock.lock();
  EXPECT_EQ(hash("orders").size(), 1u);
  auto const waiting = java.lock("orders").lock();
  EXPECT_TRUE(are_listening(mutex_channel));
  holdfast_lock.unlock();
  EXPECT_TRUE(always(300ms, [&] { return !waiting.is_answered(); }));
  holdfast_lock.unlock();
  EXPECT_EQ(waiting, "ok");
  EXPECT_FALSE(holdfast_lock.try_lock());
  EXPECT_EQ(java.lock("orders").unlock(), "ok");
  EXPECT_TRUE(holdfast_lock.try_lock_for(time_limit));
  EXPECT_EQ(java.lock("orders").try_lock(), "false");
}

TEST_P(redisson_mutex, of_theirs_with_a_lease_is_ours_when_that_is_over) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(java.lock("orders").lock(4s), "ok");
  mutex holdfast_lock{listening_, "orders"};
  EXPECT_FALSE(holdfast_lock.try_acquire());
  EXPECT_TRUE(holdfast_lock.try_acquire_for(time_limit));
  EXPECT_EQ(java.lock("orders").unlock().answer().rfind("error IllegalMonitorStateException: ", 0), 0u);
}

TEST_P(redisson_mutex, of_ours_without_a_watchdog_is_theirs_when_its_ttl_is_over) {
  redisson java{server_, GetParam()};
  auto lease = mutex{redis_, "orders", {.ttl = 4s, .watchdog = false}}.acquire();
  EXPECT_EQ(java.lock("orders").lock(), "ok");
  EXPECT_TRUE(eventually([&] { return lease.lost_because() == loss_cause::limit_reached; }));
  EXPECT_EQ(lease.release(), release_result::lost);
  EXPECT_EQ(java.lock("orders").is_held(), "true");
}

TEST_P(redisson_mutex, wakes_all_processes_that_wait_one_after_the_other) {
  redisson java{server_, GetParam()};
  redisson other{server_, GetParam()};
  auto lease = mutex{redis_, "orders"}.acquire();
  mutex holdfast_lock{listening_, "orders"};
  auto holdfast_waiter =
      run_async([&] { return holdfast_lock.try_acquire_for(acquire_timeout).has_value(); });
  auto const java_waiter = java.lock("orders").increment("counter", 1);
  auto const other_waiter = other.lock("orders").increment("counter", 1);
  auto const second_other_waiter = other.lock("orders").by(2).increment("counter", 1);
  EXPECT_TRUE(are_listening(mutex_channel, 3));
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(await_result(holdfast_waiter));
  EXPECT_EQ(java_waiter, "ok");
  EXPECT_EQ(other_waiter, "ok");
  EXPECT_EQ(second_other_waiter, "ok");
  EXPECT_EQ(raw_.get("counter"), "3");
  EXPECT_FALSE(raw_.exists("orders"));
}

TEST_P(redisson_mutex, that_is_fenced_has_tokens_that_grow_across_both) {
  redisson java{server_, GetParam()};
  auto const java_lock = java.fenced_lock("orders");
  mutex holdfast_lock{listening_, "orders", {.fenced = true}};
  auto const first = java_lock.lock_token().number();
  auto waiting = run_async([&] { return holdfast_lock.try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(are_listening(mutex_channel));
  EXPECT_EQ(java_lock.unlock(), "ok");
  auto lease = await_result(waiting);
  ASSERT_TRUE(lease);
  EXPECT_GT(lease->token(), first);
  EXPECT_EQ(java_lock.token().number(), std::stoll(*raw_.get("redisson_lock_token:{orders}")));
  auto const java_waiter = java_lock.try_lock_token(60s, 60s);
  EXPECT_TRUE(always(500ms, [&] { return !java_waiter.is_answered(); }));
  auto const token = lease->token();
  EXPECT_EQ(lease->release(), release_result::released);
  EXPECT_GT(java_waiter.number(), token);
  EXPECT_EQ(java_lock.unlock(), "ok");
  auto second_lease = holdfast_lock.acquire();
  EXPECT_GT(second_lease.token(), java_waiter.number());
  EXPECT_EQ(java_lock.by(2).try_lock_token(1s, 10s), "none");
  auto const last = second_lease.token();
  EXPECT_EQ(second_lease.release(), release_result::released);
  EXPECT_EQ(java_lock.lock(), "ok");
  EXPECT_GT(java_lock.token().number(), last);
  EXPECT_THAT(hash("orders"), ElementsAre(Pair(java_lock.owner(), "1")));
}

TEST_P(redisson_mutex, of_several_names_that_they_hold_is_ours_when_they_unlock) {
  redisson java{server_, GetParam()};
  multi_mutex holdfast_lock{listening_, {"m2", "m1"}};
  EXPECT_EQ(java.multi_lock("m1,m2").lock(), "ok");
  EXPECT_FALSE(holdfast_lock.try_acquire());
  auto waiting = run_async([&] { return holdfast_lock.try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(eventually(time_limit, [&] { return listening_.stats().waiting_now == 1; }));
  EXPECT_EQ(java.multi_lock("m1,m2").unlock(), "ok");
  EXPECT_TRUE(await_result(waiting));
}

TEST_P(redisson_mutex, of_several_names_that_we_hold_is_theirs_when_we_release) {
  redisson java{server_, GetParam()};
  auto lease = multi_mutex{redis_, {"m1", "m2"}}.acquire();
  EXPECT_EQ(java.multi_lock("m1,m2").try_lock(), "false");
  EXPECT_EQ(java.lock("m2").try_lock(), "false");
  auto const waiting = java.multi_lock("m1,m2").lock();
  EXPECT_TRUE(are_listening("redisson_lock__channel:{m1}"));
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_EQ(waiting, "ok");
  EXPECT_FALSE(mutex(redis_, "m1").try_acquire());
  EXPECT_FALSE(mutex(redis_, "m2").try_acquire());
  EXPECT_EQ(java.multi_lock("m1,m2").unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_mutex, of_several_names_keeps_none_from_them_while_we_wait_for_another) {
  redisson java{server_, GetParam()};
  multi_mutex holdfast_lock{listening_, {"m1", "m2"}, {.starvation_limit = 60s}};
  EXPECT_EQ(java.lock("m2").lock(), "ok");
  auto waiting = run_async([&] { return holdfast_lock.try_acquire_for(acquire_timeout); });
  EXPECT_TRUE(are_listening("redisson_lock__channel:{m2}"));
  EXPECT_EQ(java.lock("m1").try_lock(), "true");
  EXPECT_EQ(java.lock("m1").unlock(), "ok");
  EXPECT_FALSE(is_done(waiting));
  EXPECT_EQ(java.lock("m2").unlock(), "ok");
  EXPECT_TRUE(await_result(waiting));
}

TEST_P(redisson_mutex, of_several_names_comes_free_when_either_side_is_killed) {
  redisson java{server_, GetParam()};
  redisson killed{server_, GetParam(), 3s};
  EXPECT_EQ(killed.multi_lock("m1,m2").lock(), "ok");
  killed.kill9();
  auto lease = multi_mutex{redis_, {"m1", "m2"}}.try_acquire_for(time_limit);
  ASSERT_TRUE(lease);
  lease->release();

  auto holder = holdfast_process("multi_mutex_inbox", "m", 3s);  // m:c, m, m:b
  EXPECT_EQ(holder.reply_to("acquire").rfind("held ", 0), 0u);
  auto const waiting = java.multi_lock("m,m:b,m:c").lock();
  EXPECT_TRUE(are_listening("redisson_lock__channel:{m}"));
  holder.kill9();
  EXPECT_EQ(waiting, "ok");
}

}  // namespace
}  // namespace holdfast::test
