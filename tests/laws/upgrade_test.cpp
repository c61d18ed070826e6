/// holdfast::shared_mutex on the plain wire: the upgrade lease.
#include "waiters.hpp"

#include <holdfast/inspect.hpp>
#include <holdfast/shared_mutex.hpp>

#include <unistd.h>

#include <thread>

#include "script/names.hpp"

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class upgrading_shared : public testing::Test {
 protected:
  [[nodiscard]] client connect() const { return client{server_.url(), with_long_timeouts({.recheck = 30s})}; }
  [[nodiscard]] bool has_waiters(std::size_t count) {
    return test::has_waiters(raw_, "m", names::queue("m"), count);
  }
  [[nodiscard]] bool waits_to_upgrade() {
    return eventually([&] {
      auto const waiters = waiters_in(raw_, names::queue("m"));
      return !waiters.empty() && waiters.front().ends_with(names::upgrading_suffix) &&
             hears_of(raw_, "m", waiters.front());
    });
  }
  /// An upgrade that a thread waits for. It is cancelled at the end.
  struct waiting_upgrade {
    std::atomic<bool> done = false;
    std::error_code code{};
    std::jthread thread;
    waiting_upgrade(shared_mutex& lock, lease& held)
        : thread{[this, &lock, &held](std::stop_token const& stop) {
            code = code_of([&] { lock.upgrade(held, stop); });
            done = true;
          }} {}
    [[nodiscard]] bool ends_with(std::error_code expected) {
      return eventually([this] { return done.load(); }) && code == expected;
    }
  };
  [[nodiscard]] bool writes(lease const& writer) { return raw_.get("m") == writer.owner(); }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client first_client_ = connect();
  client second_client_ = connect();
  client third_client_ = connect();
  shared_mutex m_{first_client_, "m"};
  shared_mutex remote_{second_client_, "m"};
  shared_mutex other_{third_client_, "m"};
};

TEST_F(upgrading_shared, reads_beside_others_and_keeps_writers_out) {
  auto const reading = remote_.acquire_shared();
  auto const upgradable = m_.acquire_upgrade();
  EXPECT_TRUE(upgradable.valid());
  EXPECT_TRUE(other_.try_acquire_shared());
  EXPECT_FALSE(other_.try_acquire());
}

TEST_F(upgrading_shared, there_is_one_at_a_time_and_the_next_hears_who_has_it) {
  auto upgradable = m_.acquire_upgrade();
  ASSERT_TRUE(has_record(first_client_, raw_));
  EXPECT_FALSE(m_.try_acquire_upgrade());
  EXPECT_FALSE(remote_.try_acquire_upgrade());
  auto const busy = remote_.last_busy();
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->holder.owner, upgradable.owner());
  EXPECT_EQ(busy->holder.pid, ::getpid());
  pending next;
  remote_.async_acquire_upgrade(next.handler());
  ASSERT_TRUE(has_waiters(1));
  EXPECT_TRUE(other_.try_acquire_shared()) << "who waits for it keeps no reader waiting";
  upgradable.release();
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_TRUE(next.take()->valid());
}

TEST_F(upgrading_shared, passes_from_caller_to_caller_of_one_client) {
  auto upgradable = m_.acquire_upgrade();
  pending next;
  m_.async_acquire_upgrade(next.handler());
  ASSERT_TRUE(has_waiters(1));
  upgradable.release();
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  auto held = *next.take();
  EXPECT_TRUE(m_.try_upgrade(held));
}

TEST_F(upgrading_shared, becomes_a_writer_with_a_newer_token) {
  auto const before = remote_.acquire().token();
  auto held = m_.acquire_upgrade();
  EXPECT_GE(held.token(), before);
  m_.upgrade(held);
  EXPECT_TRUE(held.valid());
  EXPECT_TRUE(writes(held));
  EXPECT_GT(held.token(), before);
  EXPECT_GT(held.remaining(), 20s);
  EXPECT_FALSE(other_.try_acquire_shared());
  EXPECT_FALSE(other_.try_acquire_upgrade());
  EXPECT_NO_THROW(held.renew());
  auto const token = held.token();
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_FALSE(raw_.exists("m"));
  EXPECT_FALSE(raw_.exists("{m}:holdfast_readers"));
  EXPECT_EQ(first_client_.stats().held_now, 0u);
  EXPECT_GT(remote_.acquire().token(), token);
}

TEST_F(upgrading_shared, waits_for_readers_ahead_of_all_others) {
  auto reading = remote_.acquire_shared();
  auto held = m_.acquire_upgrade();
  pending writing;
  other_.async_acquire(writing.handler());
  ASSERT_TRUE(has_waiters(1));
  waiting_upgrade upgrading{m_, held};
  ASSERT_TRUE(waits_to_upgrade());
  EXPECT_FALSE(remote_.try_acquire_upgrade());
  pending late;
  remote_.async_acquire_shared(late.handler());
  ASSERT_TRUE(has_waiters(3));
  reading.release();
  ASSERT_TRUE(upgrading.ends_with({}));
  EXPECT_TRUE(writes(held));
  EXPECT_FALSE(writing.done());
  EXPECT_FALSE(late.done());
}

TEST_F(upgrading_shared, hands_on_to_the_next_writer_when_it_is_released) {
  auto reading = remote_.acquire_shared();
  auto held = m_.acquire_upgrade();
  pending writing;
  other_.async_acquire(writing.handler());
  ASSERT_TRUE(has_waiters(1));
  waiting_upgrade upgrading{m_, held};
  ASSERT_TRUE(waits_to_upgrade());
  reading.release();
  ASSERT_TRUE(upgrading.ends_with({}));
  EXPECT_TRUE(writes(held));
  auto const token = held.token();
  EXPECT_EQ(held.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return writing.done(); }));
  EXPECT_GT(writing.take()->token(), token);
}

TEST_F(upgrading_shared, that_gives_up_is_as_before_and_lets_readers_in) {
  auto const reading = remote_.acquire_shared();
  auto held = m_.acquire_upgrade();
  auto const owner = held.owner();
  auto const token = held.token();
  EXPECT_FALSE(m_.try_upgrade(held));
  pending late;
  std::jthread const trying{[&] { EXPECT_FALSE(m_.try_upgrade_for(held, 3s)); }};
  ASSERT_TRUE(waits_to_upgrade());
  other_.async_acquire_shared(late.handler());
  ASSERT_TRUE(eventually([&] { return late.done(); })) << "nobody let it in";
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(held.owner(), owner);
  EXPECT_EQ(held.token(), token);
  EXPECT_NO_THROW(held.renew());
  EXPECT_EQ(held.release(), release_result::released);
}

/// Its outcome, and the lease that it gives back.
class pending_upgrade {
 public:
  shared_mutex::upgrade_handler handler() {
    return [this](lease held, bool upgraded, std::exception_ptr failure) {
      held_ = std::move(held);
      upgraded_ = upgraded;
      failure_ = std::move(failure);
      done_ = true;
    };
  }
  [[nodiscard]] bool waits_for_end() const {
    return eventually([this] { return done_.load(); });
  }
  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] lease& held() { return held_; }
  [[nodiscard]] bool upgraded() const { return upgraded_; }
  [[nodiscard]] std::error_code code() const {
    return failure_ ? code_of([this] { std::rethrow_exception(failure_); }) : std::error_code{};
  }

 private:
  lease held_{};
  bool upgraded_ = false;
  std::exception_ptr failure_{};
  std::atomic<bool> done_ = false;
};

TEST_F(upgrading_shared, goes_up_without_a_thread_that_waits) {
  auto reading = remote_.acquire_shared();
  pending_upgrade fruitless;
  m_.async_try_upgrade(m_.acquire_upgrade(), fruitless.handler());
  ASSERT_TRUE(fruitless.waits_for_end());
  EXPECT_FALSE(fruitless.upgraded());
  EXPECT_FALSE(fruitless.code());
  EXPECT_NO_THROW(fruitless.held().renew());

  pending_upgrade cancelled;
  std::stop_source stop;
  m_.async_upgrade(std::move(fruitless.held()), cancelled.handler(), stop.get_token());
  ASSERT_TRUE(waits_to_upgrade());
  stop.request_stop();
  ASSERT_TRUE(cancelled.waits_for_end());
  EXPECT_EQ(cancelled.code(), errc::cancelled);
  pending_upgrade too_late;
  m_.async_upgrade(std::move(cancelled.held()), too_late.handler(), stop.get_token());
  ASSERT_TRUE(too_late.waits_for_end());
  EXPECT_EQ(too_late.code(), errc::cancelled);
  EXPECT_NO_THROW(too_late.held().renew());

  pending_upgrade upgrade;
  auto const token = too_late.held().token();
  m_.async_try_upgrade_for(std::move(too_late.held()), 1min, upgrade.handler());
  ASSERT_TRUE(waits_to_upgrade());
  EXPECT_FALSE(upgrade.done());
  reading.release();
  ASSERT_TRUE(upgrade.waits_for_end());
  EXPECT_TRUE(upgrade.upgraded());
  EXPECT_TRUE(writes(upgrade.held()));
  EXPECT_GT(upgrade.held().token(), token);
}

TEST_F(upgrading_shared, that_is_lost_while_it_waits_without_a_thread_is_told) {
  client asking{server_.url(), with_long_timeouts()};  // again in each second
  shared_mutex lock{asking, "m"};
  auto const reading = remote_.acquire_shared();
  auto held = lock.acquire_upgrade();
  auto const owner = held.owner();
  pending_upgrade upgrade;
  lock.async_upgrade(std::move(held), upgrade.handler());
  ASSERT_TRUE(waits_to_upgrade());
  raw_.command({"ZREM", "{m}:holdfast_readers", owner});
  ASSERT_TRUE(upgrade.waits_for_end());
  EXPECT_EQ(upgrade.code(), errc::lost);
  EXPECT_FALSE(upgrade.held().valid());
}

TEST_F(upgrading_shared, is_taken_for_an_upgrade_only_if_that_begins) {
  auto reading = m_.acquire_shared();
  pending_upgrade none;
  EXPECT_EQ(code_of([&] { m_.async_upgrade(std::move(reading), none.handler()); }),
            std::errc::invalid_argument);
  EXPECT_NO_THROW(reading.renew());
  auto held = m_.acquire_upgrade();
  EXPECT_EQ(code_of([&] { m_.async_upgrade(std::move(held), {}); }), std::errc::invalid_argument);
  EXPECT_NO_THROW(held.renew());
}

TEST_F(upgrading_shared, that_is_cancelled_is_as_before) {
  auto reading = remote_.acquire_shared();
  auto held = m_.acquire_upgrade();
  waiting_upgrade trying{m_, held};
  ASSERT_TRUE(waits_to_upgrade());
  trying.thread.request_stop();
  ASSERT_TRUE(trying.ends_with(errc::cancelled));
  EXPECT_NO_THROW(held.renew());
  reading.release();
  m_.upgrade(held);
  EXPECT_TRUE(writes(held));
}

TEST_F(upgrading_shared, tells_the_listeners_of_the_lease_of_the_loss_of_the_writer) {
  auto held = m_.acquire_upgrade();
  std::atomic<int> told = 0;
  held.on_lost([&](loss_cause) { ++told; });
  auto const lost = held.lost();
  m_.upgrade(held);
  EXPECT_FALSE(lost.stop_requested());
  raw_.del("m");
  EXPECT_THROW(held.renew(), error);
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  EXPECT_TRUE(lost.stop_requested());
}

TEST_F(upgrading_shared, ends_its_wait_when_the_lease_is_lost) {
  client asking{server_.url(), with_long_timeouts()};  // again in each second
  shared_mutex lock{asking, "m"};
  auto const reading = remote_.acquire_shared();
  auto held = lock.acquire_upgrade();
  waiting_upgrade trying{lock, held};
  ASSERT_TRUE(waits_to_upgrade());
  raw_.command({"ZREM", "{m}:holdfast_readers", held.owner()});
  ASSERT_TRUE(trying.ends_with(errc::lost));
  EXPECT_FALSE(held.valid());
  EXPECT_TRUE(eventually([&] { return !raw_.exists("{m}:holdfast_queue"); }));
}

TEST_F(upgrading_shared, is_for_the_upgrade_lease_of_this_lock_and_client) {
  shared_mutex another{first_client_, "another"};
  auto const refused = [&](lease held) {
    return code_of([&] { m_.upgrade(held); }) == std::errc::invalid_argument &&
           code_of([&] { (void)m_.try_upgrade_for(held, 1s); }) == std::errc::invalid_argument;
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused(m_.acquire_shared()));
  EXPECT_TRUE(refused(m_.acquire()));
  EXPECT_TRUE(refused(another.acquire_upgrade()));
  EXPECT_TRUE(refused(remote_.acquire_upgrade()));
  EXPECT_EQ(code_of([&] { (void)m_.downgrade_to_upgrade(m_.acquire_shared()); }),
            std::errc::invalid_argument);
  EXPECT_THAT(message_of([&] {
                auto reading = m_.acquire_shared();
                m_.upgrade(reading);
              }),
              AllOf(HasSubstr("only the upgrade lease can become one to write"), HasSubstr("the lock \"m\""),
                    HasSubstr("this one is one to read")));
  EXPECT_THAT(message_of([&] { (void)m_.downgrade(m_.acquire_shared()); }),
              AllOf(HasSubstr("only a lease to write, or the upgrade lease, can become one to read"),
                    HasSubstr("this one is one to read")));
  EXPECT_THAT(message_of([&] { (void)m_.downgrade(another.acquire()); }),
              HasSubstr("this one is one of \"another\""));
}

TEST_F(upgrading_shared, goes_up_and_down_again) {
  auto held = m_.acquire_upgrade();
  for (auto round = 0; round != 3; ++round) {
    auto const token = held.token();
    m_.upgrade(held);
    EXPECT_GT(held.token(), token);
    EXPECT_FALSE(remote_.try_acquire_shared());
    held = m_.downgrade_to_upgrade(std::move(held));
    EXPECT_NO_THROW(held.renew());
    EXPECT_TRUE(remote_.try_acquire_shared());
    EXPECT_FALSE(remote_.try_acquire_upgrade());
  }
  m_.upgrade(held);
  auto reading = m_.downgrade(std::move(held));
  EXPECT_NO_THROW(reading.renew());
  EXPECT_TRUE(remote_.try_acquire_upgrade());
  EXPECT_EQ(reading.release(), release_result::released);
}

TEST_F(upgrading_shared, becomes_a_reader_and_lets_the_next_one_have_the_upgrade_lease) {
  auto held = m_.acquire_upgrade();
  auto const token = held.token();
  auto const lost = held.lost();
  pending next;
  remote_.async_acquire_upgrade(next.handler());
  ASSERT_TRUE(has_waiters(1));
  pending writing;
  other_.async_acquire(writing.handler());
  ASSERT_TRUE(has_waiters(2));
  auto reading = m_.downgrade(std::move(held));
  EXPECT_EQ(reading.token(), token);
  EXPECT_TRUE(eventually([&] { return next.done(); })) << "no message came: a re-check takes 30 s";
  EXPECT_FALSE(writing.done());
  EXPECT_NO_THROW(reading.renew());
  auto const state = inspect(second_client_, "m");
  ASSERT_EQ(state.holders.size(), 2u);
  EXPECT_TRUE(std::ranges::any_of(state.holders, [&](hold_info const& hold) {
    return hold.side == hold_side::read && hold.process.owner + ":r" == reading.owner();
  }));
  EXPECT_FALSE(lost.stop_requested());
  next.take()->release();
  EXPECT_FALSE(writing.done()) << "one reads still";
  EXPECT_EQ(reading.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return writing.done(); }));
  EXPECT_GT(writing.take()->token(), token);
}

TEST_F(upgrading_shared, has_a_deadline_of_its_own_as_the_reader_that_it_becomes) {
  shared_mutex brief{first_client_, "m", {.ttl = 3s, .renew_every = 100ms}};
  auto const reading = brief.downgrade(brief.acquire_upgrade());
  auto const staying = remote_.acquire_shared();
  EXPECT_TRUE(always(3500ms, [&] { return reading.valid(); })) << "it is renewed";
  auto const state = inspect(second_client_, "m");
  auto const own = std::ranges::find_if(
      state.holders, [&](hold_info const& hold) { return hold.process.owner + ":r" == reading.owner(); });
  ASSERT_NE(own, state.holders.end());
  EXPECT_LE(own->ttl_left.value(), 3s) << "not that of the other reader";
}

TEST_F(upgrading_shared, does_not_become_a_reader_when_it_was_lost) {
  auto held = m_.acquire_upgrade();
  raw_.del("m");
  auto const lost = held.lost();
  EXPECT_EQ(code_of([&] { (void)m_.downgrade(std::move(held)); }), errc::lost);
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_EQ(first_client_.stats().held_now, 0u);
  EXPECT_TRUE(remote_.try_acquire());
}

TEST_F(upgrading_shared, is_shown_as_such) {
  auto const reading = remote_.acquire_shared();
  auto held = m_.acquire_upgrade();
  std::stop_source stop;
  waiting_upgrade const trying{m_, held};
  ASSERT_TRUE(waits_to_upgrade());
  pending next;
  other_.async_acquire_upgrade(next.handler(), stop.get_token());
  ASSERT_TRUE(has_waiters(2));
  auto const state = inspect(second_client_, "m");
  stop.request_stop();
  ASSERT_EQ(state.holders.size(), 2u);
  EXPECT_TRUE(std::ranges::any_of(state.holders, [&](hold_info const& hold) {
    return hold.side == hold_side::upgrade && hold.process.owner + ":u" == held.owner();
  }));
  ASSERT_EQ(state.queue.size(), 2u);
  EXPECT_EQ(state.queue[0].side, hold_side::write);
  EXPECT_LT(state.queue[0].waited.value(), 1h);
  EXPECT_FALSE(state.queue[0].preferred) << "not by its policy: its side says so";
  EXPECT_EQ(state.queue[1].side, hold_side::upgrade);
}

TEST_F(upgrading_shared, is_released_by_force_when_asked) {
  auto held = m_.acquire_upgrade();
  held.on_lost([&held](loss_cause) { held.release(); });
  EXPECT_EQ(force_release(third_client_, "m", {.grace = 20s, .owner = held.owner()}),
            force_result::released_by_holder);
  EXPECT_FALSE(held.valid());
}

TEST_F(upgrading_shared, is_refused_on_redissons_wire) {
  shared_mutex redissons{first_client_, "{r}", {.wire = wire::redisson}};
  EXPECT_EQ(code_of([&] { (void)redissons.acquire_upgrade(); }), std::errc::not_supported);
  auto writing = redissons.acquire();
  EXPECT_EQ(code_of([&] { redissons.upgrade(writing); }), std::errc::not_supported);
  EXPECT_TRUE(writing.valid());
}

TEST_F(upgrading_shared, is_renewed_no_more_often_when_the_lease_becomes_another) {
  lock_options const limited{.ttl = 4s, .renew_every = 100ms, .max_renewals = 1};
  shared_mutex reading{first_client_, "m", limited};
  shared_mutex writing{first_client_, "n", limited};
  auto upgraded = reading.acquire_upgrade();
  auto writer = writing.acquire();
  auto const renewals = [this] { return first_client_.stats().renewals; };
  ASSERT_TRUE(eventually([&] { return renewals() == 2; }));
  reading.upgrade(upgraded);
  auto const downgraded = writing.downgrade(std::move(writer));
  EXPECT_TRUE(eventually([&] { return upgraded.lost_because() == loss_cause::limit_reached; }));
  EXPECT_TRUE(eventually([&] { return downgraded.lost_because() == loss_cause::limit_reached; }));
  EXPECT_EQ(renewals(), 2u);
}

}  // namespace
}  // namespace holdfast::test
