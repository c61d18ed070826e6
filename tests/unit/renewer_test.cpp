// Requests that set the ttl of one key don't overtake each other.

#include "engine/renewer.hpp"

#include "unit/engine_parts.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class renewer_of_a_fixed_lease : public engine_parts {
 protected:
  renewer_of_a_fixed_lease() {
    lease_->set_deadline(deadline_of(boot_clock::now(), 10s));
    renewer_.add(*lease_, boot_clock::now());
  }
  void renew() {
    renewer_.renew_now(*lease_, [this](answer<renewals> const&, time_point) { renewed_ = true; });
  }
  void ask_about_all() {
    renewer_.ask_about_all(boot_clock::now());
    pass(0s);
  }
  [[nodiscard]] bool has_its_full_ttl() const { return lease_->remaining() > 15s; }

  lock_queue_ptr queue_ = pin();
  lease_state_ptr lease_ = make_lease(queue_, 1, {.ttl = 20s, .watchdog = false});
  renewer renewer_{loop_,
                   backend_,
                   stats_,
                   {.lost =
                        [](lease_state& lease, loss_cause cause, time_point) {
                          renewer::remove(lease);
                          (void)lease.lose(cause);
                        },
                    .outlived = [this](lease_state&, time_point) { outlived_ = true; }}};
  bool outlived_ = false;
  bool renewed_ = false;
};

TEST_F(renewer_of_a_fixed_lease, waits_for_the_answer_to_a_question_that_would_cut_the_renewal_short) {
  ask_about_all();
  renew();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("set_ttl 10100"));
  backend_.answer(ownership::held);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("renew"));
  EXPECT_FALSE(renewed_ || has_its_full_ttl());
  backend_.answer(renewals{});
  EXPECT_TRUE(renewed_ && has_its_full_ttl());
}

TEST_F(renewer_of_a_fixed_lease, asks_nothing_while_a_renewal_is_under_way) {
  renew();
  ask_about_all();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("renew"));
  backend_.answer(renewals{});
  EXPECT_TRUE(renewed_ && has_its_full_ttl());
  ask_about_all();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("set_ttl 20000")) << "with the reserve for the clocks' rates";
}

TEST_F(renewer_of_a_fixed_lease, loses_what_is_over_without_a_look) {
  renewer_.lose_if_over(*lease_, lease_->deadline() - told_ahead - 1ns);
  EXPECT_EQ(lease_->status(), lease_state::state::held);
  renewer_.lose_if_over(*lease_, lease_->deadline() - told_ahead);
  EXPECT_EQ(lease_->cause(), loss_cause::limit_reached);
  renewer_.lose_if_over(*lease_, lease_->deadline());
}

TEST_F(renewer_of_a_fixed_lease, does_not_renew_what_was_lost_meanwhile) {
  ask_about_all();
  renew();
  (void)backend_.take_sent();
  backend_.answer(ownership::gone);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
  EXPECT_TRUE(renewed_) << "the requester of the renewal is notified";
  EXPECT_EQ(lease_->cause(), loss_cause::key_gone);
}

TEST_F(renewer_of_a_fixed_lease, tells_of_a_renewal_that_came_too_late_for_its_lease) {
  renew();
  renewer::remove(*lease_);
  (void)lease_->lose(loss_cause::unreachable);
  EXPECT_FALSE(outlived_);
  backend_.answer(renewals{});
  EXPECT_TRUE(outlived_);
}

TEST_F(renewer_of_a_fixed_lease, tells_of_no_late_renewal_of_what_the_server_has_taken_away) {
  renew();
  renewer::remove(*lease_);
  (void)lease_->lose(loss_cause::taken_over);
  backend_.answer(renewals{});
  EXPECT_FALSE(outlived_);
}

TEST_F(renewer_of_a_fixed_lease, sends_one_renewal_after_the_other) {
  renew();
  renew();
  renew();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("renew"));
  backend_.answer(renewals{});
  EXPECT_THAT(backend_.take_sent(), ElementsAre("renew"));
  backend_.answer(renewals{});
  backend_.answer(renewals{});
  EXPECT_TRUE(backend_.idle());
}

}  // namespace
}  // namespace holdfast::engine
