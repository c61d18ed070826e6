// The RFairLock, step by step as in the reference's vectors.

#include "contract/redisson.hpp"

namespace holdfast::contract::redisson_fair_test {

using namespace holdfast::contract::redisson;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
namespace engine = holdfast::engine;
namespace redisson = holdfast::recipes::redisson;

constexpr std::string_view name = "fl";
std::string const queue = "redisson_lock_queue:{fl}";
std::string const timeouts = "redisson_lock_timeout:{fl}";

class redisson_fair_lock : public wire {
 protected:
  raw_reply acquire(std::string_view owner, milliseconds credit = five_minutes) {
    return run(redisson::fair.acquire(
        name, {.owner = owner, .ttl = 30s, .join = true, .policy = {.credit = credit}}));
  }
  raw_reply try_acquire(std::string_view owner) {
    return run(
        redisson::fair.acquire(name, {.owner = owner, .ttl = 30s, .policy = {.credit = five_minutes}}));
  }
  raw_reply release(std::string_view owner) { return run(redisson::fair.release({name, owner}, {})); }
  raw_reply abandon(std::string_view owner, milliseconds credit = five_minutes) {
    return run(redisson::fair.abandon({name, owner}, {.credit = credit}));
  }
  std::int64_t score_of(std::string_view owner) { return score(timeouts, owner); }
  /// Uses up the waiter's credit.
  void expire_waiter(std::string_view owner) { command({"ZADD", timeouts, "1000", std::string{owner}}); }
  void delete_lock() { command({"DEL", "fl"}); }
};

TEST_F(redisson_fair_lock, goes_to_those_that_wait_in_their_order) {
  EXPECT_THAT(acquire(A), is_granted());
  EXPECT_THAT(keys(), ElementsAre("fl {A:1} 30000-"));
  EXPECT_THAT(acquire(B), is_busy(about(30'000), A, 0));
  EXPECT_THAT(keys(),
              ElementsAre("fl {A:1} 30000-", queue + " [B] ttl -1", timeouts + " <B:330000-> ttl -1"));
  EXPECT_THAT(acquire(C), is_busy(about(30'000), A, 1));
  EXPECT_EQ(score_of(C), score_of(B) + 300'000);
  words const two_queued{"fl {A:1} 30000-", queue + " [B, C] ttl -1",
                         timeouts + " <B:330000-, C:630000-> ttl -1"};
  EXPECT_EQ(keys(), two_queued);
  auto const b_score = score_of(B);
  auto const c_score = score_of(C);
  EXPECT_THAT(acquire(B), is_busy(about(30'000), A, 0));  // sent twice, or requested again
  EXPECT_THAT(acquire(C), is_busy(about(30'000), A, 1));
  EXPECT_EQ(score_of(B), b_score);
  EXPECT_EQ(score_of(C), c_score);
  EXPECT_THAT(try_acquire(E), is_busy(about(30'000), A));
  EXPECT_EQ(keys(), two_queued);
  EXPECT_THAT(messages(), IsEmpty());

  EXPECT_THAT(release(A), is(1));
  words const free{queue + " [B, C] ttl -1", timeouts + " <B:330000-, C:630000-> ttl -1"};
  EXPECT_EQ(keys(), free);
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{fl}:B 0"));
  EXPECT_THAT(acquire(C), is_busy(100, "", 1));
  EXPECT_EQ(keys(), free);
  EXPECT_THAT(acquire(B), is_granted());
  EXPECT_EQ(score_of(C), b_score);
  EXPECT_THAT(keys(),
              ElementsAre("fl {B:1} 30000-", queue + " [C] ttl -1", timeouts + " <C:330000-> ttl -1"));
  EXPECT_THAT(acquire(B), is_granted());  // sent twice
  EXPECT_EQ(score_of(C), b_score);
  EXPECT_THAT(messages(), IsEmpty());
  EXPECT_THAT(release(B), is(1));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{fl}:C 0"));
  EXPECT_THAT(acquire(C), is_granted());
  EXPECT_THAT(keys(), ElementsAre("fl {C:1} 30000-"));
  EXPECT_THAT(release(C), is(1));
  EXPECT_THAT(release(A), is(0));
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(acquire(A), is_granted());
  EXPECT_THAT(release(B), is(-1));
  EXPECT_THAT(keys(), ElementsAre("fl {A:1} 30000-"));
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_fair_lock, is_left_by_one_that_gives_up_with_its_credit_off_those_behind) {
  EXPECT_THAT(acquire(A), is_granted());
  for (auto const owner : {B, C, E}) (void)acquire(owner, 10s);
  EXPECT_THAT(keys(), ElementsAre("fl {A:1} 30000-", queue + " [B, C, E] ttl -1",
                                  timeouts + " <B:40000-, C:50000-, E:60000-> ttl -1"));
  auto const c_score = score_of(C);
  auto const e_score = score_of(E);
  for (auto round = 0; round < 2; ++round) {
    EXPECT_THAT(abandon(B, 10s), is(0));
    EXPECT_EQ(score_of(C), c_score - 10'000);
    EXPECT_EQ(score_of(E), e_score - 10'000);
    EXPECT_THAT(keys(), ElementsAre("fl {A:1} 30000-", queue + " [C, E] ttl -1",
                                    timeouts + " <C:40000-, E:50000-> ttl -1"));
  }
  EXPECT_THAT(abandon(E, 10s), is(0));
  EXPECT_EQ(score_of(C), c_score - 10'000);
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_fair_lock, passes_a_wake_up_on_when_its_waiter_leaves) {
  EXPECT_THAT(acquire(A), is_granted());
  (void)acquire(B);
  (void)acquire(C);
  EXPECT_THAT(release(A), is(1));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{fl}:B 0"));
  EXPECT_THAT(abandon(B), is(0));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{fl}:C 0"));
  EXPECT_THAT(acquire(C), is_granted());
  EXPECT_THAT(keys(), ElementsAre("fl {C:1} 30000-"));
}

TEST_F(redisson_fair_lock, is_given_back_by_one_that_leaves) {
  EXPECT_THAT(acquire(A), is_granted());
  (void)acquire(B);
  EXPECT_THAT(abandon(A), is(1));
  EXPECT_THAT(keys(), ElementsAre(queue + " [B] ttl -1", timeouts + " <B:330000-> ttl -1"));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{fl}:B 0"));
  EXPECT_THAT(acquire(B), is_granted());
  EXPECT_THAT(abandon(A), is(0));
  EXPECT_THAT(keys(), ElementsAre("fl {B:1} 30000-"));
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_fair_lock, does_not_wait_for_ever_for_a_dead_head) {
  EXPECT_THAT(acquire(A), is_granted());
  (void)acquire(B, 10s);
  (void)acquire(C, 10s);
  EXPECT_THAT(release(A), is(1));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{fl}:B 0"));
  words const free{queue + " [B, C] ttl -1", timeouts + " <B:40000-, C:50000-> ttl -1"};
  EXPECT_THAT(acquire(C, 10s), is_busy(100, "", 1));  // not 0: the caller would spin
  EXPECT_THAT(try_acquire(E), is_busy(100, ""));
  EXPECT_EQ(keys(), free);
  expire_waiter(B);
  EXPECT_THAT(acquire(C, 10s), is_granted());
  EXPECT_THAT(keys(), ElementsAre("fl {C:1} 30000-"));
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_fair_lock, tells_the_new_head_when_others_find_the_old_one_dead) {
  for (auto const requester : {E, A}) {
    command({"FLUSHALL"});
    EXPECT_THAT(acquire(A), is_granted());
    (void)acquire(B);
    (void)acquire(C);
    delete_lock();
    expire_waiter(B);
    EXPECT_THAT(requester == E ? try_acquire(E) : acquire(A), is_busy(100, "", requester == E ? -1 : 1));
    EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{fl}:C 0"));
    (void)try_acquire(E);
    EXPECT_THAT(messages(), IsEmpty());
    EXPECT_THAT(acquire(C), is_granted());
  }
}

TEST_F(redisson_fair_lock, tells_the_first_that_is_not_dead) {
  EXPECT_THAT(acquire(A), is_granted());
  for (auto const owner : {B, C, E}) (void)acquire(owner);
  expire_waiter(B);
  expire_waiter(C);
  EXPECT_THAT(release(A), is(1));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{fl}:E 0"));
  EXPECT_THAT(keys(), ElementsAre(queue + " [E] ttl -1", timeouts + " <E:930000-> ttl -1"));
}

TEST_F(redisson_fair_lock, tells_the_head_when_the_lock_had_expired) {
  EXPECT_THAT(acquire(A), is_granted());
  (void)acquire(B);
  delete_lock();
  EXPECT_THAT(release(A), is(0));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{fl}:B 0"));
}

TEST_F(redisson_fair_lock, keeps_a_head_without_a_score) {
  EXPECT_THAT(acquire(A), is_granted());
  (void)acquire(B);
  command({"ZREM", timeouts, std::string{B}});
  EXPECT_THAT(acquire(C), is_busy(about(30'000), A, 1));
  EXPECT_THAT(keys(),
              ElementsAre("fl {A:1} 30000-", queue + " [B, C] ttl -1", timeouts + " <C:330000-> ttl -1"));
  EXPECT_THAT(release(A), is(1));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{fl}:B 0"));
  EXPECT_THAT(acquire(C), is_busy(100, "", 1));
  EXPECT_THAT(acquire(B), is_granted());
}

TEST_F(redisson_fair_lock, mends_what_is_out_of_step_for_who_asks) {
  EXPECT_THAT(acquire(A), is_granted());
  (void)acquire(B);
  command({"ZREM", timeouts, std::string{B}});
  EXPECT_THAT(acquire(B), is_busy(about(30'000), A, 0));
  words const in_step{"fl {A:1} 30000-", queue + " [B] ttl -1", timeouts + " <B:330000-> ttl -1"};
  EXPECT_EQ(keys(), in_step);
  command({"DEL", queue});
  EXPECT_THAT(acquire(B), is_busy(about(30'000), A, 0));
  EXPECT_EQ(keys(), in_step);
}

TEST_F(redisson_fair_lock, keeps_those_alive_that_ask_behind_a_long_hold) {
  EXPECT_THAT(acquire(A), is_granted());
  (void)acquire(B);
  (void)acquire(C);
  // Half of each credit is used up.
  command({"ZINCRBY", timeouts, "-155000", std::string{B}});
  command({"ZINCRBY", timeouts, "-155000", std::string{C}});
  (void)acquire(B);
  (void)acquire(C);
  EXPECT_THAT(keys(), ElementsAre("fl {A:1} 30000-", queue + " [B, C] ttl -1",
                                  timeouts + " <B:330000-, C:630000-> ttl -1"));
  EXPECT_EQ(score_of(C), score_of(B) + 300'000);
  // A live waiter that was removed from the queue as dead joins again.
  command({"LREM", queue, "0", std::string{B}});
  command({"ZREM", timeouts, std::string{B}});
  EXPECT_THAT(acquire(B), is_busy(about(30'000), A, 1));
  EXPECT_EQ(score_of(B), score_of(C) + 300'000);
}

TEST_F(redisson_fair_lock, counts_nobody_as_dead_who_has_just_come) {
  EXPECT_THAT(acquire(A), is_granted());
  (void)acquire(B);
  (void)acquire(C);
  expire_waiter(C);  // behind a live head: C stays in the queue
  EXPECT_THAT(acquire(E, 10s), is_busy(about(30'000), A, 2));
  EXPECT_THAT(score_of(E), testing::Gt(score_of(B) - 300'000));
  EXPECT_THAT(keys(),
              ElementsAre("fl {A:1} 30000-", queue + " [B, C, E] ttl -1", testing::HasSubstr("E:40000-")));
}

TEST_F(redisson_fair_lock, leaves_its_queue_to_the_waiters_when_it_is_given_back) {
  EXPECT_THAT(acquire(A), is_granted());
  (void)acquire(B);
  EXPECT_THAT(release(A), is(1));
  EXPECT_THAT(keys(), ElementsAre(queue + " [B] ttl -1", timeouts + " <B:330000-> ttl -1"));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{fl}:B 0"));
}

TEST_F(redisson_fair_lock, is_given_back_whatever_count_another_library_left) {
  command({"HSET", "fl", std::string{A}, "4"});
  EXPECT_THAT(release(A), is(1));
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_F(redisson_fair_lock, is_busy_without_a_ttl_too) {
  command({"HSET", "fl", std::string{A}, "1"});
  EXPECT_THAT(acquire(B), is_busy(no_ttl, A, 0));
  EXPECT_THAT(keys(),
              ElementsAre("fl {A:1} ttl -1", queue + " [B] ttl -1", timeouts + " <B:300000-> ttl -1"));
}

TEST_F(redisson_fair_lock, keeps_a_longer_ttl_when_it_is_asked_for_again) {
  command({"HSET", "fl", std::string{A}, "1"});
  command({"PEXPIRE", "fl", "600000"});
  EXPECT_THAT(acquire(A), is_granted());
  EXPECT_THAT(keys(), ElementsAre("fl {A:1} 600000-"));
}

TEST_F(redisson_fair_lock, tells_nobody_when_it_is_polled_for) {
  engine::release_policy const quiet{.credit = five_minutes, .quiet = true};
  EXPECT_THAT(acquire(A), is_granted());
  (void)acquire(B);
  (void)acquire(C);
  EXPECT_THAT(run(redisson::fair.release({name, A}, quiet)), is(1));
  EXPECT_THAT(run(redisson::fair.abandon({name, B}, quiet)), is(0));
  (void)acquire(E);
  expire_waiter(C);
  EXPECT_THAT(run(redisson::fair.acquire(name, {.owner = A, .ttl = 30s, .policy = quiet})), is_busy(100, ""));
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_fair_lock, says_what_else_stands_in_its_keys_and_changes_nothing) {
  struct sample {
    words state;
    std::string reason;
  };
  for (auto const& [state, reason] :
       {sample{{"SET", "fl", "x"}, "a string, not the hash of a lock of Redisson"},
        {{"SET", queue, "x"}, "a string, not the queue of a fair lock of Redisson IN " + queue},
        {{"SET", timeouts, "x"}, "a string, not the time-outs of a fair lock of Redisson IN " + timeouts}}) {
    command({"FLUSHALL"});
    command(state);
    auto const before = keys();
    EXPECT_THAT(acquire(A), is_error("MISFIT " + reason));
    EXPECT_EQ(keys(), before);
    EXPECT_THAT(abandon(A), is(0));
    EXPECT_EQ(keys(), before);
  }
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_fair_lock, is_given_back_with_a_spoilt_queue) {
  for (auto const& state : {words{"SET", queue, "x"}, {"RPUSH", queue, "x"}}) {
    command({"FLUSHALL"});
    EXPECT_THAT(acquire(A), is_granted());
    command(state);
    command({"SET", timeouts, "x"});
    EXPECT_THAT(release(A), is(1));
    EXPECT_FALSE(raw_.exists("fl"));
    EXPECT_THAT(release(A), is(0));
  }
}

TEST_F(redisson_fair_lock, has_a_channel_for_each_waiter) {
  EXPECT_THAT(redisson::fair.channels(name, A),
              ElementsAre("redisson_lock__channel:{fl}:11111111-1111-1111-1111-111111111111:1"));
}

}  // namespace holdfast::contract::redisson_fair_test
