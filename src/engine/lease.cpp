// The public handle of a lease.

#include <holdfast/lease.hpp>
#include <utility>

#include "base/thrown.hpp"
#include "engine/core.hpp"

namespace holdfast {

std::string_view to_string(loss_cause cause) noexcept {
  switch (cause) {
    case loss_cause::none:
      return "not lost";
    case loss_cause::taken_over:
      return "the key belongs to somebody else";
    case loss_cause::key_gone:
      return "the key is gone";
    case loss_cause::unreachable:
      return "the server could not be asked in time";
    case loss_cause::limit_reached:
      return "its limit is reached";
    case loss_cause::closed:
      return "the client was shut down";
    case loss_cause::forced:
      return "it was released by force";
  }
  return "unknown";
}

std::string_view to_string(release_result result) noexcept {
  switch (result) {
    case release_result::released:
      return "released";
    case release_result::lost:
      return "lost before";
    case release_result::unknown:
      return "unknown";
    case release_result::kept:
      return "kept until its expiry";
  }
  return "unknown";
}

lease::lease() noexcept = default;

lease::lease(engine::lease_state* held) noexcept : held_{held} {}

lease::lease(lease&& other) noexcept : held_{std::exchange(other.held_, nullptr)} {}

lease& lease::operator=(lease&& other) noexcept {
  if (this != &other) {
    drop();
    held_ = std::exchange(other.held_, nullptr);
  }
  return *this;
}

lease::~lease() { drop(); }

void lease::drop() noexcept {
  if (held_ == nullptr) return;
  if (held_->on_destroy == holdfast::release::async) {
    async_release({});
  } else {
    (void)release();
  }
}

bool lease::valid() const noexcept { return held_ != nullptr && held_->valid(); }

std::chrono::nanoseconds lease::remaining() const noexcept {
  return held_ != nullptr ? held_->remaining() : std::chrono::nanoseconds{0};
}

std::int64_t lease::token() const noexcept { return held_ != nullptr ? held_->token() : 0; }

std::string lease::name() const { return held_ != nullptr ? engine::shown_name(*held_) : std::string{}; }

std::string lease::owner() const { return held_ != nullptr ? engine::shown_owner(*held_) : std::string{}; }

std::stop_token lease::lost() const {
  return held_ != nullptr ? home()->leases().stop_token(*held_) : std::stop_token{};
}

loss_cause lease::lost_because() const noexcept {
  return held_ != nullptr ? held_->cause() : loss_cause::none;
}

void lease::on_lost(move_only_function<void(loss_cause)> f) {
  if (held_ != nullptr) home()->leases().on_lost(*held_, std::move(f));
}

void lease::on_limit_near(std::chrono::milliseconds before, move_only_function<void()> f) {
  if (held_ != nullptr) home()->leases().on_limit_near(*held_, before, std::move(f));
}

void lease::renew() {
  if (held_ == nullptr) throw error{errc::lost, "there is no lease to renew: it was released or moved away"};
  home()->leases().renew(*held_);
}

void lease::async_renew(move_only_function<void(std::exception_ptr)> done) {
  if (held_ == nullptr) throw error{errc::lost, "there is no lease to renew: it was released or moved away"};
  if (!done) throw error{std::errc::invalid_argument, "to renew \"" + name() + "\" needs a function to call"};
  home()->leases().async_renew(*held_,
                               [done = std::move(done)](std::shared_ptr<error const> const& failure) mutable {
                                 done(failure ? thrown(*failure) : nullptr);
                               });
}

void lease::on_destroy(holdfast::release how) noexcept {
  if (held_ != nullptr) held_->on_destroy = how;
}

release_result lease::release() noexcept {
  if (held_ == nullptr) return release_result::lost;
  auto const core = home();
  engine::lease_state_ptr state{std::exchange(held_, nullptr), false};
  return core->leases().release(state);
}

void lease::async_release(move_only_function<void(release_result)> done) noexcept {
  if (held_ == nullptr) {
    if (done) done(release_result::lost);
    return;
  }
  auto const core = home();
  engine::lease_state_ptr state{std::exchange(held_, nullptr), false};
  core->leases().async_release(state, std::move(done));
}

release_result lease::keep_until_expiry() noexcept { return finish_by(std::nullopt); }

release_result lease::keep_for(std::chrono::milliseconds left) noexcept { return finish_by(left); }

release_result lease::finish_by(std::optional<std::chrono::milliseconds> left) noexcept {
  if (held_ == nullptr) return release_result::lost;
  auto const core = home();
  engine::lease_state_ptr state{std::exchange(held_, nullptr), false};
  return core->leases().keep(state, left);
}

/// Keeps the engine alive during a call: this lease may be the last to refer to it.
std::shared_ptr<engine::core> lease::home() const noexcept {
  return held_->queue().engine().shared_from_this();
}

lease engine::lease_state::handle(lease_state_ptr source) noexcept { return lease{source.detach()}; }

}  // namespace holdfast
