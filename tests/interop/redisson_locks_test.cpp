/// Redisson itself, without Holdfast: each command of the driver behaves as docs/redisson.md presumes.
#include "interop.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;
using testing::Pair;
using testing::UnorderedElementsAre;

class redisson_locks : public with_redisson {};

INSTANTIATE_TEST_SUITE_P(all, redisson_locks,
                         testing::Values(redisson_version::current, redisson_version::v3_27_2),
                         name_of_version);

TEST_P(redisson_locks, are_hashes_that_count_the_holds_of_an_owner) {
  redisson java{server_, GetParam(), 3s};
  auto const java_lock = java.lock("orders");
  EXPECT_EQ(java_lock.owner().rfind(java.id() + ':', 0), 0u);
  EXPECT_EQ(java_lock.lock(), "ok");
  EXPECT_EQ(java_lock.try_lock(), "true");
  EXPECT_THAT(hash("orders"), ElementsAre(Pair(java_lock.owner(), "2")));
  EXPECT_THAT(raw_.pttl("orders"), AllOf(Gt(0), Le(3000)));
  EXPECT_EQ(java_lock.hold_count(), "2");
  EXPECT_EQ(java_lock.is_held(), "true");
  EXPECT_THAT(java_lock.ttl().number(), AllOf(Gt(0), Le(3000)));
  EXPECT_EQ(java_lock.by(2).is_held(), "false");
  EXPECT_EQ(java_lock.by(2).is_locked(), "true");
  EXPECT_EQ(java_lock.by(2).try_lock(), "false");
  EXPECT_EQ(java_lock.by(2).unlock().answer().rfind("error IllegalMonitorStateException: ", 0), 0u);
  EXPECT_EQ(java_lock.unlock(), "ok");
  EXPECT_THAT(hash("orders"), ElementsAre(Pair(java_lock.owner(), "1")));
  EXPECT_EQ(java_lock.unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_EQ(java_lock.unlock().answer().rfind("error IllegalMonitorStateException: ", 0), 0u);
}

TEST_P(redisson_locks, keep_an_explicit_lease_and_are_not_renewed_then) {
  redisson java{server_, GetParam(), 600ms};
  EXPECT_EQ(java.lock("orders").lock(5s), "ok");
  EXPECT_THAT(raw_.pttl("orders"), AllOf(Gt(1000), Le(5000)));
  EXPECT_EQ(java.lock("other").try_lock(1s, 400ms), "true");
  EXPECT_TRUE(eventually([&] { return !raw_.exists("other"); }));
}

TEST_P(redisson_locks, are_renewed_by_the_watchdog_past_two_ttls_and_end_with_the_process) {
  redisson java{server_, GetParam(), 4500ms};
  EXPECT_EQ(java.lock("orders").lock(), "ok");
  EXPECT_TRUE(always(9500ms, [&] { return raw_.exists("orders"); }));
  java.kill9();
  EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
}

TEST_P(redisson_locks, wake_a_waiter_of_another_process_at_the_unlock) {
  redisson holder{server_, GetParam()};
  redisson other{server_, GetParam()};
  EXPECT_EQ(holder.lock("orders").lock(), "ok");
  auto const waiting = other.lock("orders").lock();
  EXPECT_TRUE(eventually([&] { return subscribers("redisson_lock__channel:{orders}") == 1; }));
  EXPECT_FALSE(waiting.is_answered());
  EXPECT_EQ(other.lock("orders").by(2).try_lock(100ms), "false");
  EXPECT_EQ(holder.lock("orders").unlock(), "ok");
  EXPECT_EQ(waiting, "ok");  // within 20 s, though the holder's lease was 30 s
  EXPECT_THAT(hash("orders"), ElementsAre(Pair(other.lock("orders").owner(), "1")));
}

TEST_P(redisson_locks, can_be_forced_open_by_anybody) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(java.lock("orders").lock(), "ok");
  EXPECT_EQ(java.lock("orders").by(2).force_unlock(), "true");
  EXPECT_EQ(java.lock("orders").by(2).force_unlock(), "false");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_locks, exclude_each_other_on_an_unprotected_counter) {
  redisson first_process{server_, GetParam()};
  redisson second_process{server_, GetParam()};
  auto const first = first_process.lock("orders").increment("counter", 200);
  auto const second = first_process.lock("orders").by(2).increment("counter", 200);
  auto const third = second_process.lock("orders").increment("counter", 200);
  EXPECT_EQ(first, "ok");
  EXPECT_EQ(second, "ok");
  EXPECT_EQ(third, "ok");
  EXPECT_EQ(raw_.get("counter"), "600");
}

TEST_P(redisson_locks, that_are_fair_queue_in_a_list_and_die_in_a_sorted_set) {
  redisson java{server_, GetParam()};
  auto const first = java.fair_lock("orders");
  auto const second = first.by(2);
  auto const third = first.by(3);
  auto const in_order = std::vector{second.owner(), third.owner()};  // a waiting thread answers no request
  EXPECT_EQ(first.lock(), "ok");
  auto const second_waiter = second.lock();
  ASSERT_TRUE(eventually([&] { return list("redisson_lock_queue:{orders}").size() == 1; }));
  auto const third_waiter = third.lock();
  ASSERT_TRUE(eventually([&] { return list("redisson_lock_queue:{orders}").size() == 2; }));
  EXPECT_EQ(first.by(4).try_lock(), "false") << "one that doesn't wait doesn't queue";
  EXPECT_EQ(first.by(5).try_lock(50ms), "false") << "one that gives up leaves the queue";
  redisson other{server_, GetParam()};
  EXPECT_EQ(other.fair_lock("orders").try_lock(50ms, 5s), "false");
  EXPECT_EQ(list("redisson_lock_queue:{orders}"), in_order);
  EXPECT_EQ(sorted_set("redisson_lock_timeout:{orders}"), in_order);
  EXPECT_EQ(first.unlock(), "ok");
  EXPECT_EQ(second_waiter, "ok");
  EXPECT_FALSE(third_waiter.is_answered());
  EXPECT_EQ(second.unlock(), "ok");
  EXPECT_EQ(third_waiter, "ok");
  EXPECT_EQ(third.unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_locks, that_are_fair_say_nothing_when_an_absent_one_is_unlocked) {
  redisson java{server_, GetParam()};
  EXPECT_EQ(java.fair_lock("orders").unlock(), "ok");
  EXPECT_EQ(java.fair_lock("orders").lock(), "ok");
  EXPECT_EQ(java.fair_lock("orders").by(2).unlock().answer().rfind("error IllegalMonitorStateException", 0),
            0u);
  EXPECT_EQ(java.fair_lock("orders").by(2).force_unlock(), "true");
}

TEST_P(redisson_locks, that_spin_have_the_same_hash_and_hear_no_messages) {
  redisson java{server_, GetParam()};
  auto const java_lock = java.spin_lock("orders");
  EXPECT_EQ(java_lock.lock(), "ok");
  EXPECT_THAT(hash("orders"), ElementsAre(Pair(java_lock.owner(), "1")));
  auto const waiting = java_lock.by(2).try_lock(10s);
  EXPECT_TRUE(always(200ms, [&] { return subscribers("redisson_lock__channel:{orders}") == 0; }));
  EXPECT_EQ(java_lock.unlock(), "ok");
  EXPECT_EQ(waiting, "true");
  EXPECT_EQ(java_lock.by(2).unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_locks, that_are_fenced_count_each_acquisition) {
  redisson java{server_, GetParam()};
  auto const java_lock = java.fenced_lock("orders");
  EXPECT_EQ(java_lock.lock_token(), "1");
  EXPECT_EQ(java_lock.try_lock_token(1s, 10s), "2");
  EXPECT_EQ(java_lock.by(2).try_lock_token(1s, 10s), "none");
  EXPECT_EQ(java_lock.lock(), "ok");
  EXPECT_EQ(java_lock.token(), "3");
  EXPECT_THAT(hash("orders"), ElementsAre(Pair(java_lock.owner(), "3")));
  EXPECT_EQ(raw_.pttl("redisson_lock_token:{orders}"), -1);
  for (auto i = 0; i < 3; ++i) EXPECT_EQ(java_lock.unlock(), "ok");
  EXPECT_THAT(keys(), testing::IsEmpty());
  EXPECT_EQ(raw_.get("redisson_lock_token:{orders}"), "3") << "stays for good";
  EXPECT_EQ(java_lock.by(2).lock_token(), "4");
}

TEST_P(redisson_locks, that_are_read_shared_have_a_key_for_each_hold) {
  redisson java{server_, GetParam()};
  auto const a = java.read_lock("rw");
  auto const b = java.read_lock("rw").by(2);
  EXPECT_EQ(a.lock(), "ok");
  EXPECT_EQ(a.lock(), "ok");
  EXPECT_EQ(b.lock(10s), "ok");
  EXPECT_THAT(hash("rw"),
              UnorderedElementsAre(Pair("mode", "read"), Pair(a.owner(), "2"), Pair(b.owner(), "1")));
  auto const prefix = "{rw}:" + a.owner() + ":rwlock_timeout:";
  EXPECT_THAT(keys(), UnorderedElementsAre("rw", prefix + "1", prefix + "2",
                                           "{rw}:" + b.owner() + ":rwlock_timeout:1"));
  EXPECT_EQ(java.write_lock("rw").by(3).try_lock(), "false");
  EXPECT_EQ(java.read_lock("rw").by(3).is_locked(), "true");
  EXPECT_EQ(java.write_lock("rw").by(3).is_locked(), "false");
  EXPECT_EQ(a.unlock(), "ok");
  EXPECT_EQ(a.unlock(), "ok");
  EXPECT_THAT(raw_.pttl("rw"), AllOf(Gt(8000), Le(10000))) << "what is left is what the other reader has";
  EXPECT_EQ(b.unlock(), "ok");
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_P(redisson_locks, that_are_write_held_can_become_read_held) {
  redisson java{server_, GetParam()};
  auto const writing = java.write_lock("rw");
  auto const reading = java.read_lock("rw");
  EXPECT_EQ(writing.lock(), "ok");
  EXPECT_THAT(hash("rw"), UnorderedElementsAre(Pair("mode", "write"), Pair(writing.owner() + ":write", "1")));
  EXPECT_EQ(reading.by(2).try_lock(), "false");
  EXPECT_EQ(reading.lock(), "ok");
  EXPECT_EQ(writing.unlock(), "ok");
  EXPECT_THAT(hash("rw"), UnorderedElementsAre(Pair("mode", "read"), Pair(reading.owner(), "1")));
  EXPECT_EQ(reading.by(2).try_lock(), "true");
  EXPECT_EQ(java.write_lock("rw").by(3).force_unlock(), "false");
  EXPECT_EQ(java.read_lock("rw").by(3).force_unlock(), "true");
  EXPECT_FALSE(raw_.exists("rw"));
}

TEST_P(redisson_locks, of_several_names_are_taken_together_or_not_at_all) {
  redisson java{server_, GetParam()};
  auto const java_lock = java.multi_lock("m1,m2");
  EXPECT_EQ(java_lock.try_lock(5s, 7s), "true");
  for (auto const* name : {"m1", "m2"}) {
    EXPECT_THAT(hash(name), ElementsAre(Pair(java_lock.owner(), "1")));
    EXPECT_THAT(raw_.pttl(name), AllOf(Gt(5000), Le(7000)));
  }
  EXPECT_EQ(java_lock.unlock(), "ok");
  EXPECT_EQ(java.lock("m2").by(2).lock(), "ok");
  EXPECT_EQ(java_lock.try_lock(200ms, 7s), "false");
  EXPECT_FALSE(raw_.exists("m1"));
  EXPECT_EQ(java_lock.is_locked(), "unsupported");
}

TEST_P(redisson_locks, that_are_not_reentrant_are_in_the_newer_version_only) {
  redisson java{server_, GetParam()};
  auto const java_lock = java.non_reentrant_lock("orders");
  if (GetParam() == redisson_version::v3_27_2) {
    EXPECT_EQ(java_lock.lock(), "unsupported");
    return;
  }
  EXPECT_EQ(java_lock.lock(), "ok");
  EXPECT_EQ(java_lock.lock().answer().rfind("error IllegalMonitorStateException", 0), 0u);
  EXPECT_THAT(hash("orders"), ElementsAre(Pair(java_lock.owner(), "1")));
}

}  // namespace
}  // namespace holdfast::test
