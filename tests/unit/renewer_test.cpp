#include "engine/renewer.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "engine/core.hpp"
#include "net/deployment_url.hpp"
#include "resp/make_reply.hpp"
#include "wire/plain/exclusive.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using words = std::vector<std::string>;

/// Replies when the test calls reply().
class scripted_backend final : public lock_backend {
 public:
  scripted_backend() : lock_backend{nullptr} {}

  void renew(recipe const&, milliseconds, std::span<owned const>, renewal_handler done,
             scripting::send_options) override {
    sent.emplace_back("renew");
    unanswered_.emplace_back([done = std::move(done)](net::response&& response) mutable {
      done({.response = std::move(response), .others = {}});
    });
  }
  void set_ttl(recipe const&, milliseconds, owned, handler done, scripting::send_options) override {
    sent.emplace_back("set_ttl");
    unanswered_.push_back(std::move(done));
  }
  /// Replies to the oldest request; `lost`: the positions of the lost leases.
  void reply(std::vector<std::int64_t> const& lost = {}) {
    std::vector<resp::reply> positions;
    for (auto const position : lost) positions.push_back(resp::make_integer(position));
    auto done = std::move(unanswered_.front());
    unanswered_.pop_front();
    done({.reply = resp::make_array(std::move(positions)), .sent_at = boot_clock::now(), .sent = true});
  }

  words sent;

  void acquire(recipe const&, std::string_view, acquire_request const&, handler,
               scripting::send_options) override {}
  void release(recipe const&, owned, release_policy, handler, scripting::send_options) override {}
  void abandon(recipe const&, owned, release_policy, handler, scripting::send_options) override {}
  void send(net::request) override {}
  [[nodiscard]] bool idle() const noexcept override { return unanswered_.empty(); }
  [[nodiscard]] bool up() const noexcept override { return true; }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override { return nullptr; }
  void shut(std::shared_ptr<error const> const&) override {}
  void listen(std::string const&, topology::channel_of, net::subscriber::listener&) override {}
  void forget(std::string_view) override {}
  [[nodiscard]] std::uint16_t slot_of(std::string_view) const noexcept override { return 0; }
  [[nodiscard]] bool sharded() const noexcept override { return false; }

 private:
  std::deque<handler> unanswered_;
};

class renewer_of_a_fixed_lease : public testing::Test {
 protected:
  renewer_of_a_fixed_lease() {
    lease_->set_deadline(deadline_of(boot_clock::now(), 10s));
    renewer_.add(*lease_);
  }
  void renew() {
    renewer_.renew_now(*lease_, [this](net::response const&) { renewed_ = true; });
  }
  /// The renewer sends the requests from a timer, which fires before the timer armed here.
  void ask_about_all() {
    reactor::lock hold{loop_.mutex()};
    reactor::blocked_thread thread;
    reactor::timer timer{[&] { loop_.wake(thread); }};
    renewer_.ask_about_all();
    loop_.arm(timer, boot_clock::now() + 1ms);
    loop_.wait(hold, thread);
  }
  [[nodiscard]] bool has_its_full_ttl() const { return lease_->remaining() > 15s; }

  std::shared_ptr<core> core_ =
      std::make_shared<core>(net::parse_deployment_url("redis://127.0.0.1:1"), client_options{});
  lock_queue_ptr queue_ = core_->pin(recipes::plain::exclusive, "orders");
  lease_state_ptr lease_{new lease_state{queue_, core_->share({.ttl = 20s, .watchdog = false}), 1, 1}};
  reactor::loop loop_;
  scripted_backend backend_;
  client_stats stats_;
  renewer renewer_{loop_,
                   backend_,
                   stats_,
                   {.lost =
                        [](lease_state& lease, loss_cause cause) {
                          renewer::remove(lease);
                          (void)lease.lose(cause);
                        },
                    .outlived = [this](lease_state&) { outlived_ = true; }}};
  bool outlived_ = false;
  bool renewed_ = false;
};

TEST_F(renewer_of_a_fixed_lease, waits_for_the_answer_to_a_question_that_would_cut_the_renewal_short) {
  ask_about_all();
  renew();
  EXPECT_EQ(backend_.sent, words{"set_ttl"});
  backend_.reply();
  EXPECT_EQ(backend_.sent, (words{"set_ttl", "renew"}));
  EXPECT_FALSE(renewed_ || has_its_full_ttl());
  backend_.reply();
  EXPECT_TRUE(renewed_ && has_its_full_ttl());
}

TEST_F(renewer_of_a_fixed_lease, asks_nothing_while_a_renewal_is_under_way) {
  renew();
  ask_about_all();
  EXPECT_EQ(backend_.sent, words{"renew"});
  backend_.reply();
  EXPECT_TRUE(renewed_ && has_its_full_ttl());
  ask_about_all();
  EXPECT_EQ(backend_.sent, (words{"renew", "set_ttl"}));
}

TEST_F(renewer_of_a_fixed_lease, does_not_renew_what_was_lost_meanwhile) {
  ask_about_all();
  renew();
  backend_.reply({1});
  EXPECT_EQ(backend_.sent, words{"set_ttl"});
  EXPECT_TRUE(renewed_) << "the requester of the renewal is notified";
  EXPECT_EQ(lease_->cause(), loss_cause::key_gone);
}

TEST_F(renewer_of_a_fixed_lease, tells_of_a_renewal_that_came_too_late_for_its_lease) {
  renew();
  renewer::remove(*lease_);
  (void)lease_->lose(loss_cause::unreachable);
  EXPECT_FALSE(outlived_);
  backend_.reply();
  EXPECT_TRUE(outlived_);
}

TEST_F(renewer_of_a_fixed_lease, tells_of_no_late_renewal_of_what_the_server_has_taken_away) {
  renew();
  renewer::remove(*lease_);
  (void)lease_->lose(loss_cause::taken_over);
  backend_.reply();
  EXPECT_FALSE(outlived_);
}

TEST_F(renewer_of_a_fixed_lease, sends_one_renewal_after_the_other) {
  renew();
  renew();
  renew();
  EXPECT_EQ(backend_.sent.size(), 1u);
  backend_.reply();
  EXPECT_EQ(backend_.sent.size(), 2u);
  backend_.reply();
  backend_.reply();
  EXPECT_TRUE(backend_.idle());
  EXPECT_EQ(backend_.sent.size(), 3u);
}

}  // namespace
}  // namespace holdfast::engine
