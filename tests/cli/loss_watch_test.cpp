#include "run/loss_watch.hpp"

#include <gtest/gtest.h>

namespace {

using holdfast::loss_cause;
using holdfast::cli::loss_watch;
using holdfast::cli::on_lost;
using namespace std::chrono_literals;
using action = loss_watch::action;
using reason = loss_watch::reason;

TEST(loss_watch, lets_a_renewed_lease_alone) {
  loss_watch watch{on_lost::term, 30s, 0s, 0s, 30s};
  auto const decision = watch.look(10s, 20s, loss_cause::none);
  EXPECT_EQ(decision.step, action::nothing);
  EXPECT_EQ(decision.look_again, 15s) << "when the grace of 5 s would begin";
}

TEST(loss_watch, lets_a_lease_alone_that_begins_with_a_short_grant) {
  loss_watch watch{on_lost::term, 30s, 0s, 0s, 1800ms};
  EXPECT_EQ(watch.look(0s, 1800ms, loss_cause::none).look_again, 1200ms)
      << "a third of the grant is its grace";
  EXPECT_EQ(watch.look(1s, 30s, loss_cause::none).look_again, 25s) << "renewed";
}

TEST(loss_watch, terminates_in_the_grace_and_kills_before_the_deadline) {
  loss_watch watch{on_lost::term, 30s, 0s, 0s, 30s};
  auto decision = watch.look(25s, 5s, loss_cause::none);
  EXPECT_EQ(decision.step, action::terminate);
  EXPECT_EQ(decision.why, reason::not_renewed);
  EXPECT_EQ(decision.look_again, 4500ms);
  EXPECT_EQ(watch.look(27s, 3s, loss_cause::none).step, action::nothing) << "once is enough";
  EXPECT_EQ(watch.look(29500ms, 500ms, loss_cause::none).step, action::kill);
  EXPECT_EQ(watch.look(31s, 0s, loss_cause::unreachable).step, action::nothing) << "it is dead";
}

TEST(loss_watch, leaves_time_for_both_signals_in_the_shortest_lease) {
  loss_watch watch{on_lost::term, 10ms, 0s, 0s, 10ms};
  EXPECT_EQ(watch.look(1ms, 9ms, loss_cause::none).step, action::nothing);
  EXPECT_EQ(watch.look(7ms, 3ms, loss_cause::none).step, action::terminate);
  EXPECT_EQ(watch.look(9ms, 1ms, loss_cause::none).step, action::kill);
}

TEST(loss_watch, spares_the_kill_while_renewals_succeed_again) {
  loss_watch watch{on_lost::term, 30s, 0s, 0s, 30s};
  EXPECT_EQ(watch.look(26s, 4s, loss_cause::none).step, action::terminate);
  EXPECT_EQ(watch.look(27s, 30s, loss_cause::none).step, action::nothing);
  EXPECT_FALSE(watch.killed());
}

TEST(loss_watch, kills_what_is_left_a_grace_after_the_end_of_the_command_though_renewals_succeed_again) {
  loss_watch watch{on_lost::term, 30s, 0s, 0s, 30s};
  EXPECT_EQ(watch.look(26s, 4s, loss_cause::none).step, action::terminate);
  watch.command_ended(27s);
  auto decision = watch.look(28s, 30s, loss_cause::none);
  EXPECT_EQ(decision.step, action::nothing);
  EXPECT_EQ(decision.look_again, 4s);
  decision = watch.look(32s, 26s, loss_cause::none);
  EXPECT_EQ(decision.step, action::kill);
  EXPECT_EQ(decision.why, reason::rest);
}

TEST(loss_watch, lets_a_command_heed_sigterm_after_a_release_by_force) {
  loss_watch watch{on_lost::term, 30s, 0s, 0s, 30s};
  EXPECT_EQ(watch.look(1s, 29s, loss_cause::none).step, action::nothing);
  auto const decision = watch.look(2s, 0s, loss_cause::forced);
  EXPECT_EQ(decision.step, action::terminate);
  EXPECT_EQ(decision.look_again, 1s) << "half of the time that the holder has";
  EXPECT_EQ(watch.look(3s, 0s, loss_cause::forced).step, action::kill);
}

TEST(loss_watch, kills_a_second_at_most_after_a_sudden_loss) {
  loss_watch watch{on_lost::term, 30s, 0s, 0s, 30s};
  EXPECT_EQ(watch.look(1s, 29s, loss_cause::none).step, action::nothing);
  auto const decision = watch.look(2s, 0s, loss_cause::taken_over);
  EXPECT_EQ(decision.step, action::terminate);
  EXPECT_EQ(decision.why, reason::lost);
  EXPECT_EQ(decision.look_again, 1s);
  EXPECT_EQ(watch.look(3s, 0s, loss_cause::taken_over).step, action::kill);
}

TEST(loss_watch, has_the_guard_kill_soon_after_a_sudden_loss) {
  loss_watch watch{on_lost::term, 30s, 0s, 0s, 30s};
  EXPECT_EQ(watch.look(1s, 29s, loss_cause::none).step, action::nothing);
  EXPECT_EQ(watch.latest_end(), 29750ms);
  EXPECT_EQ(watch.look(2s, 0s, loss_cause::forced).step, action::terminate);
  EXPECT_EQ(watch.latest_end(), 3250ms) << "half of the last bit after the kill is due";
}

TEST(loss_watch, knows_the_latest_end_before_it_can_act) {
  loss_watch watch{on_lost::term, 30s, 0s, 0s, 30s};
  watch.note(10s, 30s, loss_cause::none);
  EXPECT_EQ(watch.latest_end(), 39750ms);
  watch.note(12s, 0s, loss_cause::forced);
  watch.note(13s, 0s, loss_cause::forced);
  EXPECT_EQ(watch.latest_end(), 13250ms);
  EXPECT_EQ(watch.look(12500ms, 0s, loss_cause::forced).step, action::terminate);
}

TEST(loss_watch, kills_no_later_than_the_former_deadline_after_a_sudden_loss) {
  loss_watch watch{on_lost::term, 900ms, 0s, 0s, 900ms};
  EXPECT_EQ(watch.look(100ms, 800ms, loss_cause::none).step, action::nothing);
  EXPECT_EQ(watch.look(500ms, 0s, loss_cause::key_gone).look_again, 355ms) << "900 - 45 - 500 ms";
}

TEST(loss_watch, kills_at_once_when_the_deadline_came_unseen) {
  loss_watch watch{on_lost::term, 30s, 0s, 0s, 30s};
  EXPECT_EQ(watch.look(90s, 0s, loss_cause::none).step, action::kill) << "holdfast was frozen";
}

TEST(loss_watch, with_kill_sends_no_other_signal) {
  loss_watch watch{on_lost::kill, 30s, 0s, 0s, 30s};
  EXPECT_EQ(watch.look(26s, 4s, loss_cause::none).step, action::nothing);
  EXPECT_EQ(watch.look(29500ms, 500ms, loss_cause::none).step, action::kill);
  loss_watch sudden{on_lost::kill, 30s, 0s, 0s, 30s};
  EXPECT_EQ(sudden.look(1s, 0s, loss_cause::key_gone).step, action::kill);
}

TEST(loss_watch, with_warn_only_says_it_once) {
  loss_watch watch{on_lost::warn, 30s, 0s, 0s, 30s};
  EXPECT_EQ(watch.look(29900ms, 100ms, loss_cause::none).step, action::nothing);
  EXPECT_EQ(watch.look(30s, 0s, loss_cause::unreachable).step, action::warn);
  EXPECT_EQ(watch.look(31s, 0s, loss_cause::unreachable).step, action::nothing);
  EXPECT_FALSE(watch.acted());
}

TEST(loss_watch, ends_the_command_before_max_hold_is_over) {
  loss_watch watch{on_lost::term, 30s, 10s, 0s, 30s};
  EXPECT_EQ(watch.look(1s, 29s, loss_cause::none).look_again, 8s);
  auto const decision = watch.look(9s, 21s, loss_cause::none);
  EXPECT_EQ(decision.step, action::terminate);
  EXPECT_EQ(decision.why, reason::max_hold);
  EXPECT_EQ(watch.look(9500ms, 20s, loss_cause::none).step, action::kill);
}

}  // namespace
