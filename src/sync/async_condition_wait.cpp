#include "sync/async_condition_wait.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "sync/condition_wait.hpp"

namespace holdfast::sync {
namespace {

using engine::lease_state;

/// Owns itself until it is done: the calls for which it waits have it.
class pending_wait : public std::enable_shared_from_this<pending_wait> {
 public:
  pending_wait(engine::core& core, std::string name, engine::wait_limit time, condition::wait_handler done,
               std::stop_token stop)
      : core_{core},
        name_{std::move(name)},
        end_{time ? boot_clock::now() + *time : time_point::max()},
        done_{std::move(done)},
        stop_{std::move(stop)} {}

  void start(lease& held) {
    auto& state = *lease_state::behind(held);
    held_ = std::move(held);
    try {
      if (stop_.stop_requested()) {
        core_.locks().async_pause({}, [self = shared_from_this()] { self->finish({}); });
        return;
      }
      wait_.emplace(core_, name_, state);
      core_.lay_downs().async_lay_down(
          state, wait_->beginning(),
          [self = shared_from_this()](std::shared_ptr<error const> const& failure) {
            self->on_laid_down(failure);
          });
    } catch (...) {
      wait_.reset();
      held = std::move(held_);
      throw;
    }
  }

 private:
  void on_laid_down(std::shared_ptr<error const> const& failure) {
    if (failure) return finish(std::make_exception_ptr(error{*failure}));
    wait_->has_begun();
    or_finish([this] {
      engine::wait_limit time;
      if (end_ != time_point::max())
        time = std::max<std::chrono::nanoseconds>(end_ - boot_clock::now(), std::chrono::nanoseconds{1});
      core_.locks().async_acquire(
          wait_->seat(), wait_->seat_options(), time, stop_,
          [self = shared_from_this()](engine::lease_state_ptr notified,
                                      std::shared_ptr<error const> const& failed) {
            self->on_wait_over(std::move(notified), failed);
          },
          wait_->seat_particulars());
    });
  }

  void on_wait_over(engine::lease_state_ptr notified, std::shared_ptr<error const> const& failure) {
    if (failure) {
      if (!wait_->goes_on_after(*failure)) return finish(std::make_exception_ptr(error{*failure}));
      return want_lock(std::cv_status::no_timeout);
    }
    if (notified) {
      wait_->was_notified(notified);
      return want_lock(std::cv_status::no_timeout);
    }
    try {
      core_.async_server_calls().ask_until_ready(
          wait_->leaving(), [self = shared_from_this()](net::response&& response) {
            self->want_lock(self->wait_->has_left(response.failure ? nullptr : &response.reply));
          });
    } catch (std::exception const&) {
      want_lock(wait_->has_left(nullptr));
    }
  }

  void want_lock(std::cv_status const status) {
    status_ = status;
    or_finish([this] {
      core_.locks().async_acquire(
          wait_->lock(), wait_->lock_options(), std::nullopt, {},
          [self = shared_from_this()](engine::lease_state_ptr next,
                                      std::shared_ptr<error const> const& failure) {
            self->on_lock(std::move(next), failure);
          },
          condition_wait::lock_particulars());
    });
  }

  void on_lock(engine::lease_state_ptr taken, std::shared_ptr<error const> const& failure) {
    auto const is_up = or_finish([&] {
      if (failure) throw error{*failure};
      auto next = lease_state::handle(std::move(taken));
      wait_->take_up(*lease_state::behind(next));
      wait_.reset();
      auto over = lease_state::take(std::exchange(held_, std::move(next)));
      core_.leases().forget(over);
    });
    if (is_up) finish({});
  }

  /// A step that fails is the end: false.
  template <class Step>
  bool or_finish(Step step) {
    std::exception_ptr problem;
    try {
      step();
      return true;
    } catch (error const& failure) {
      wait_->missed(failure);
      problem = std::current_exception();
    } catch (std::exception const&) {
      problem = std::current_exception();
    }
    finish(std::move(problem));
    return false;
  }

  void finish(std::exception_ptr problem) {
    wait_.reset();  // before the caller looks at the lease
    done_(std::move(held_), status_, std::move(problem));
  }

  engine::core& core_;
  std::string const name_;
  time_point const end_;
  condition::wait_handler done_;
  std::stop_token const stop_;
  lease held_{};
  std::optional<condition_wait> wait_{};
  std::cv_status status_ = std::cv_status::no_timeout;
};

}  // namespace

void async_wait_on_condition(engine::core& core, std::string const& name, lease& held,
                             engine::wait_limit const time, condition::wait_handler done,
                             std::stop_token stop) {
  std::make_shared<pending_wait>(core, name, time, std::move(done), std::move(stop))->start(held);
}

}  // namespace holdfast::sync
