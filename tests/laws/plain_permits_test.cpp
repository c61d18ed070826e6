/// holdfast::expiring_semaphore on the plain wire: many permits to a lease, an order over all processes,
/// tokens, and names for who has permits and who waits.
#include "waiters.hpp"

#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/inspect.hpp>

#include <gmock/gmock.h>

#include "script/names.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class plain_permits : public testing::Test {
 protected:
  [[nodiscard]] client connect(std::string const& label = {}) const {
    return client{server_.url(), with_long_timeouts({.label = label, .recheck = 30s})};
  }
  [[nodiscard]] bool has_waiters(std::size_t count) {
    return test::has_waiters(raw_, "p", names::permit_queue("p"), count);
  }
  [[nodiscard]] static bool is_granted(pending& caller) {
    return eventually([&] { return caller.done(); });
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client first_client_ = connect("first");
  client second_client_ = connect("second");
  client third_client_ = connect("third");
  expiring_semaphore p_{first_client_, "p", 3};
  expiring_semaphore remote_{second_client_, "p", 3};
  expiring_semaphore other_{third_client_, "p", 3};
};

TEST_F(plain_permits, are_several_to_a_lease) {
  auto two = p_.acquire(2);
  EXPECT_EQ(remote_.available(), 1);
  EXPECT_EQ(remote_.acquired(), 2);
  EXPECT_FALSE(remote_.try_acquire(2));
  auto one = remote_.acquire();
  EXPECT_EQ(two.release(), release_result::released);
  EXPECT_EQ(remote_.available(), 2);
  EXPECT_EQ(one.release(), release_result::released);
  EXPECT_EQ(remote_.permits(), 3);
  EXPECT_FALSE(raw_.exists("p"));
}

TEST_F(plain_permits, are_renewed_all_together) {
  expiring_semaphore brief{first_client_, "p", 3, {.ttl = 2s, .renew_every = 100ms}};
  auto const two = brief.acquire(2);
  EXPECT_TRUE(always(3s, [&] { return two.valid() && remote_.acquired() == 2; }));
}

TEST_F(plain_permits, have_tokens_that_grow_with_each_lease) {
  auto first = p_.acquire();
  auto second = remote_.acquire(2);
  EXPECT_GT(second.token(), first.token());
  pending waiting;
  other_.async_acquire(waiting.handler());
  ASSERT_TRUE(has_waiters(1));
  first.release();
  ASSERT_TRUE(is_granted(waiting));
  EXPECT_GT(waiting.take()->token(), second.token());
}

TEST_F(plain_permits, go_to_callers_in_order_however_many_they_want) {
  auto one = p_.acquire();
  auto two = p_.acquire(2);
  pending large;
  remote_.async_acquire(large.handler(), 3);
  ASSERT_TRUE(has_waiters(1));
  pending small;
  other_.async_acquire(small.handler());
  ASSERT_TRUE(has_waiters(2));
  two.release();
  EXPECT_FALSE(p_.try_acquire());
  EXPECT_FALSE(small.done());
  one.release();
  ASSERT_TRUE(is_granted(large));
  EXPECT_FALSE(small.done());
  large.take()->release();
  EXPECT_TRUE(is_granted(small));
}

TEST_F(plain_permits, are_given_to_as_many_waiters_as_they_are_enough_for) {
  passes_in_one_round_of(
      10, [&] {  // a waiter tries again when its last request is older than a second and a half
        raw_.command({"FLUSHALL"});
        auto const granted_before = second_client_.stats().granted;
        auto all = p_.acquire(3);
        pending first;
        remote_.async_acquire(first.handler());
        ASSERT_TRUE(has_waiters(1));
        pending second;
        other_.async_acquire(second.handler(), 2);
        ASSERT_TRUE(has_waiters(2));
        all.release();
        EXPECT_TRUE(is_granted(first));
        EXPECT_TRUE(is_granted(second));
        EXPECT_EQ(second_client_.stats().granted - granted_before, trusts_grant_messages() ? 1U : 0U)
            << "by message, without another request";
        EXPECT_EQ(p_.available(), 0);
      });
}

TEST_F(plain_permits, of_a_caller_that_wants_more_than_there_are_hold_nobody_up) {
  auto three = p_.acquire(3);
  pending large;
  remote_.async_acquire(large.handler(), 5);
  ASSERT_TRUE(has_waiters(1));
  pending small;
  other_.async_acquire(small.handler());
  ASSERT_TRUE(has_waiters(2));
  three.release();
  ASSERT_TRUE(is_granted(small));
  EXPECT_FALSE(remote_.try_acquire_for(50ms, 4));
  EXPECT_THAT(remote_.last_busy()->to_string(), HasSubstr("can't be had before there are more than 3"));
  p_.set_permits(6);
  EXPECT_TRUE(is_granted(large));
}

TEST_F(plain_permits, that_are_new_go_to_the_waiters) {
  auto const all = p_.acquire(3);
  pending first;
  remote_.async_acquire(first.handler());
  ASSERT_TRUE(has_waiters(1));
  p_.add_permits(1);
  EXPECT_TRUE(is_granted(first));
  EXPECT_EQ(p_.permits(), 4);
}

TEST_F(plain_permits, become_fewer_as_they_come_back) {
  auto one = p_.acquire();
  auto two = p_.acquire(2);
  remote_.set_permits(1);
  EXPECT_EQ(remote_.available(), -2);
  two.release();
  EXPECT_FALSE(remote_.try_acquire());
  one.release();
  EXPECT_TRUE(remote_.try_acquire());
}

TEST_F(plain_permits, name_those_that_are_in_the_way) {
  auto const two = p_.acquire(2);
  auto const one = p_.acquire();
  ASSERT_TRUE(has_record(first_client_, raw_));
  EXPECT_FALSE(remote_.try_acquire());
  auto const busy = remote_.last_busy();
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->holder.label, "first");
  EXPECT_EQ(busy->permits, 3);
  EXPECT_EQ(busy->taken, 3);
  EXPECT_EQ(busy->wanted, 1);
  EXPECT_THAT(busy->to_string(), AllOf(HasSubstr("all 3 permits are taken, by "), HasSubstr("'first'")));
}

TEST_F(plain_permits, show_who_has_them_and_who_waits) {
  auto const two = p_.acquire(2);
  auto const one = remote_.acquire();
  pending waiting;
  other_.async_acquire(waiting.handler(), 2);
  ASSERT_TRUE(has_waiters(1));
  ASSERT_TRUE(has_record(first_client_, raw_) && has_record(third_client_, raw_));
  auto const state = inspect(first_client_, "p");
  EXPECT_EQ(state.kind, lock_kind::permits);
  EXPECT_EQ(state.wire, wire::plain);
  EXPECT_EQ(state.permits, 3);
  EXPECT_EQ(state.available, 0);
  EXPECT_EQ(state.holding, 2);
  ASSERT_EQ(state.holders.size(), 2u);
  auto const first =
      std::ranges::find(state.holders, two.owner(), [](auto const& h) { return h.process.owner; });
  ASSERT_NE(first, state.holders.end());
  EXPECT_EQ(first->count, 2);
  EXPECT_EQ(first->side, hold_side::permit);
  EXPECT_EQ(first->process.label, "first");
  EXPECT_GT(first->ttl_left.value_or(0ms), 0ms);
  ASSERT_EQ(state.queue.size(), 1u);
  EXPECT_EQ(state.queue[0].count, 2);
  EXPECT_EQ(state.queue[0].process.label, "third");
  std::vector<std::string> found;
  for_each_lock(first_client_, "*", [&](lock_state const& each) {
    found.push_back(each.name);
    EXPECT_EQ(each.waiting, 1);
    return true;
  });
  EXPECT_THAT(found, testing::ElementsAre("p"));
}

TEST_F(plain_permits, are_released_by_force_one_lease_or_all) {
  expiring_semaphore deaf{first_client_, "p", 3};
  auto first = deaf.acquire(2);
  auto second = deaf.acquire();
  EXPECT_NE(force_release(second_client_, "p", {.owner = first.owner()}), force_result::not_held);
  EXPECT_TRUE(eventually([&] { return first.lost().stop_requested(); }));
  EXPECT_EQ(first.lost_because(), loss_cause::forced);
  EXPECT_TRUE(second.valid());
  EXPECT_TRUE(eventually([&] { return remote_.available() == 2; }));
  (void)force_release(second_client_, "p");
  EXPECT_TRUE(eventually([&] { return second.lost().stop_requested(); }));
  EXPECT_TRUE(eventually([&] { return remote_.available() == 3; }));
}

TEST_F(plain_permits, and_a_mutex_of_the_name_exclude_each_other_and_say_so) {
  {
    auto const one = p_.acquire();
    mutex m{second_client_, "p"};
    EXPECT_EQ(code_of([&] { (void)m.try_acquire(); }), errc::wrong_type);
    EXPECT_THAT(message_of([&] { (void)m.try_acquire(); }),
                AllOf(HasSubstr("expiring_semaphore"), HasSubstr("not a lock")));
  }
  mutex m{second_client_, "p"};
  auto const held = m.acquire();
  for (auto const& call : std::vector<std::function<void()>>{
           [&] { (void)p_.acquire(); }, [&] { (void)p_.available(); }, [&] { p_.add_permits(1); }}) {
    EXPECT_EQ(code_of(call), errc::wrong_type);
    EXPECT_THAT(message_of(call), AllOf(HasSubstr("mutex"), HasSubstr("expiring_semaphore")));
  }
  EXPECT_TRUE(held.valid());
}

TEST_F(plain_permits, are_not_those_of_the_other_wire) {
  auto const one = p_.acquire();
  expiring_semaphore of_redisson{second_client_, "p", 3, {.wire = wire::redisson}};
  EXPECT_EQ(code_of([&] { (void)of_redisson.try_acquire(); }), errc::wrong_type);
  raw_.command({"SET", "q", "3"});
  expiring_semaphore q{first_client_, "q", 3};
  EXPECT_EQ(code_of([&] { (void)q.try_acquire(); }), errc::wrong_type);
  EXPECT_THAT(message_of([&] { (void)q.try_acquire(); }), HasSubstr("wire=redisson"));
}

TEST_F(plain_permits, come_back_from_a_killed_holder_when_their_time_is_over) {
  p_.set_permits(1);
  auto dead = worker::session(server_.url_for_workers(), "expiring_semaphore", "p", 1s);
  ASSERT_EQ(dead.reply_to("acquire").rfind("held ", 0), 0u);
  pending waiting;
  remote_.async_acquire(waiting.handler());
  ASSERT_TRUE(eventually([&] { return second_client_.stats().waits >= 1 || waiting.done(); }));
  dead.kill9();
  ASSERT_TRUE(is_granted(waiting));
  EXPECT_TRUE(waiting.take()->valid());
}

TEST_F(plain_permits, are_not_held_up_by_a_killed_waiter) {
  p_.set_permits(1);
  auto held = p_.acquire();
  auto dead = worker::session(server_.url_for_workers(), "expiring_semaphore", "p", 30s);
  ASSERT_EQ(dead.reply_to("wait"), "waiting");
  ASSERT_TRUE(has_waiters(1));
  pending waiting;
  remote_.async_acquire(waiting.handler());
  ASSERT_TRUE(has_waiters(2));
  auto const inbox = names::inbox(inspect(first_client_, "p").queue.at(0).process.owner.substr(0, 36), "p");
  dead.kill9();
  ASSERT_TRUE(eventually([&] { return raw_.listeners(inbox) == 0; }));
  held.release();
  EXPECT_TRUE(is_granted(waiting));
}

TEST_F(plain_permits, leave_no_traces_of_a_caller_that_gives_up) {
  auto all = p_.acquire(3);
  std::stop_source stop;
  pending large;
  remote_.async_acquire(large.handler(), 3, stop.get_token());
  ASSERT_TRUE(has_waiters(1));
  pending small;
  other_.async_acquire(small.handler());
  ASSERT_TRUE(has_waiters(2));
  stop.request_stop();
  EXPECT_TRUE(has_waiters(1));
  all.release();
  ASSERT_TRUE(is_granted(small));
  small.take()->release();
  EXPECT_TRUE(eventually([&] { return !raw_.exists("p") && !raw_.exists(names::permit_queue("p")); }));
}

}  // namespace
}  // namespace holdfast::test
