// The public view of a lease.

#include <holdfast/lease_view.hpp>
#include <utility>

#include "engine/core.hpp"

namespace holdfast {

lease_view::lease_view() noexcept = default;

lease_view::lease_view(engine::lease_state* seen) noexcept : seen_{seen} {}

lease_view::lease_view(lease_view const& other) noexcept
    : seen_{engine::lease_state_ptr{other.seen_}.detach()} {}

lease_view& lease_view::operator=(lease_view const& other) noexcept {
  lease_view copy{other};
  std::swap(seen_, copy.seen_);
  return *this;
}

lease_view::~lease_view() {
  if (seen_ == nullptr) return;
  auto const core = seen_->queue().engine().shared_from_this();  // this view may be the last to refer to it
  engine::lease_state_ptr last{seen_, false};
  core->leases().forget(last);
}

bool lease_view::valid() const noexcept { return seen_ != nullptr && seen_->valid(); }

std::chrono::nanoseconds lease_view::remaining() const noexcept {
  return seen_ != nullptr ? seen_->remaining() : std::chrono::nanoseconds{0};
}

std::int64_t lease_view::token() const noexcept { return seen_ != nullptr ? seen_->token() : 0; }

std::stop_token lease_view::lost() const {
  return seen_ != nullptr ? seen_->queue().engine().leases().stop_token(*seen_) : std::stop_token{};
}

loss_cause lease_view::lost_because() const noexcept {
  return seen_ != nullptr ? seen_->cause() : loss_cause::none;
}

std::string lease_view::name() const { return seen_ != nullptr ? engine::shown_name(*seen_) : std::string{}; }

std::string lease_view::owner() const {
  return seen_ != nullptr ? engine::shown_owner(*seen_) : std::string{};
}

lease_view engine::lease_state::view(lease const& handle) noexcept {
  return lease_view{lease_state_ptr{behind(handle)}.detach()};
}

}  // namespace holdfast
