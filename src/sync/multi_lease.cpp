#include <algorithm>
#include <atomic>
#include <utility>

#include "engine/core.hpp"
#include "sync/multi_contents.hpp"

namespace holdfast {
namespace {

/// Ranks results from the best (0) to the worst (3).
int badness(release_result result) noexcept {
  switch (result) {
    case release_result::released:
      return 0;
    case release_result::kept:
      return 1;
    case release_result::unknown:
      return 2;
    case release_result::lost:
      return 3;
  }
  return 3;
}

release_result worse(release_result a, release_result b) noexcept { return badness(a) < badness(b) ? b : a; }

// What leases, or views of them, are together.

bool all_valid(auto const& parts) noexcept {
  return !parts.empty() && std::ranges::all_of(parts, [](auto const& part) { return part.valid(); });
}

std::chrono::nanoseconds least_remaining(auto const& parts) noexcept {
  if (parts.empty()) return {};
  auto least = std::chrono::nanoseconds::max();
  for (auto const& part : parts) least = std::min(least, part.remaining());
  return least;
}

std::vector<std::string> const& no_names() noexcept {
  static std::vector<std::string> const none;
  return none;
}

/// `contents`: may be null, which has no names.
std::int64_t token_of(auto const* contents, auto const& parts, std::string_view name) noexcept {
  if (contents == nullptr || parts.empty()) return 0;
  auto const known = std::ranges::find(contents->names, name);
  if (known == contents->names.end()) return 0;
  return parts[contents->part_of[static_cast<std::size_t>(known - contents->names.begin())]].token();
}

loss_cause first_cause(auto const& parts) noexcept {
  for (auto const& part : parts) {
    if (auto const cause = part.lost_because(); cause != loss_cause::none) return cause;
  }
  return loss_cause::none;
}

}  // namespace

multi_lease::multi_lease() noexcept = default;
multi_lease::multi_lease(multi_lease&&) noexcept = default;

multi_lease::multi_lease(std::shared_ptr<contents const> shared_contents, std::vector<lease> parts)
    : contents_{std::move(shared_contents)}, parts_{std::move(parts)} {
  if (parts_.size() < 2) return;
  lost_ = std::stop_source{};
  for (auto& part : parts_) part.on_lost([stop = lost_](loss_cause) mutable { stop.request_stop(); });
}

multi_lease& multi_lease::operator=(multi_lease&& other) noexcept {
  if (this != &other) {
    drop();
    contents_ = std::move(other.contents_);
    parts_ = std::move(other.parts_);
    lost_ = std::move(other.lost_);
  }
  return *this;
}

multi_lease::~multi_lease() { drop(); }

void multi_lease::drop() noexcept {
  auto const is_async = [](lease const& part) {
    auto const* const held = engine::lease_state::behind(part);
    return held != nullptr && held->on_destroy == holdfast::release::async;
  };
  if (std::ranges::any_of(parts_, is_async)) {
    async_release({});
  } else {
    (void)release();
  }
}

void multi_lease::on_destroy(holdfast::release how) noexcept {
  for (auto& part : parts_) part.on_destroy(how);
}

bool multi_lease::valid() const noexcept { return all_valid(parts_); }

std::chrono::nanoseconds multi_lease::remaining() const noexcept { return least_remaining(parts_); }

std::vector<std::string> const& multi_lease::names() const noexcept {
  return contents_ ? contents_->names : no_names();
}

std::int64_t multi_lease::token(std::string_view name) const noexcept {
  return token_of(contents_.get(), parts_, name);
}

std::stop_token multi_lease::lost() const {
  return parts_.size() == 1 ? parts_.front().lost() : lost_.get_token();
}

loss_cause multi_lease::lost_because() const noexcept { return first_cause(parts_); }

void multi_lease::on_lost(move_only_function<void(loss_cause)> f) {
  if (!f) return;
  struct once {
    move_only_function<void(loss_cause)> handler;
    std::atomic<bool> called{false};
  };
  auto const shared = std::make_shared<once>();
  shared->handler = std::move(f);
  for (auto& part : parts_) {
    part.on_lost([shared](loss_cause cause) {
      if (!shared->called.exchange(true)) shared->handler(cause);
    });
  }
}

void multi_lease::renew() {
  if (parts_.empty()) throw error{errc::lost, "there is no lease to renew: it was released or moved away"};
  for (auto& part : parts_) part.renew();
}

/// Ends all parts at the same time by `begin`, or, if there is no memory for that, one after the other by
/// `alone`.
template <class Begin, class Alone>
release_result multi_lease::end_all(Begin begin, Alone alone) noexcept {
  auto parts = std::exchange(parts_, {});
  if (parts.empty()) return release_result::lost;
  std::vector<std::pair<std::shared_ptr<engine::core>, std::shared_ptr<engine::lease_calls::ending>>> begun;
  try {
    begun.reserve(parts.size());
  } catch (std::bad_alloc const&) {
    auto worst = release_result::released;
    for (auto& part : parts) worst = worse(worst, alone(part));
    return worst;
  }
  auto worst = release_result::released;
  for (auto& part : parts) {
    auto lease = engine::lease_state::take(std::move(part));
    if (!lease) {
      worst = release_result::lost;
      continue;
    }
    auto core = lease->queue().engine().shared_from_this();
    auto end = begin(core->leases(), lease);
    begun.emplace_back(std::move(core), std::move(end));
  }
  for (auto const& [core, end] : begun) worst = worse(worst, core->leases().await_end(end));
  return worst;
}

release_result multi_lease::release() noexcept {
  return end_all([](auto& calls, auto& lease) { return calls.begin_release(lease); },
                 [](lease& part) { return part.release(); });
}

release_result multi_lease::keep_until_expiry() noexcept {
  return end_all([](auto& calls, auto& lease) { return calls.begin_keep(lease); },
                 [](lease& part) { return part.keep_until_expiry(); });
}

void multi_lease::async_release(move_only_function<void(release_result)> done) noexcept {
  auto parts = std::exchange(parts_, {});
  if (parts.empty()) {
    if (done) done(release_result::lost);
    return;
  }
  struct release_count {
    move_only_function<void(release_result)> done;
    std::atomic<std::size_t> remaining;
    std::atomic<release_result> worst{release_result::released};
  };
  std::shared_ptr<release_count> shared;
  try {
    shared = std::make_shared<release_count>();
  } catch (std::bad_alloc const&) {
    for (auto& part : parts) part.async_release({});
    if (done) done(release_result::unknown);  // no memory to collect the results
    return;
  }
  shared->done = std::move(done);
  shared->remaining = parts.size();
  for (auto& part : parts) {
    part.async_release([shared](release_result result) {
      auto before = shared->worst.load();
      while (!shared->worst.compare_exchange_weak(before, worse(before, result))) {
      }
      if (--shared->remaining == 0 && shared->done) shared->done(shared->worst);
    });
  }
}

multi_lease_view::multi_lease_view(multi_lease const& seen)
    : contents_{seen.contents_}, lost_{seen.parts_.size() > 1 ? seen.lost_.get_token() : std::stop_token{}} {
  parts_.reserve(seen.parts_.size());
  for (auto const& part : seen.parts_) parts_.push_back(engine::lease_state::view(part));
}

bool multi_lease_view::valid() const noexcept { return all_valid(parts_); }

std::chrono::nanoseconds multi_lease_view::remaining() const noexcept { return least_remaining(parts_); }

std::vector<std::string> const& multi_lease_view::names() const noexcept {
  return contents_ ? contents_->names : no_names();
}

std::int64_t multi_lease_view::token(std::string_view name) const noexcept {
  return token_of(contents_.get(), parts_, name);
}

std::stop_token multi_lease_view::lost() const { return parts_.size() == 1 ? parts_.front().lost() : lost_; }

loss_cause multi_lease_view::lost_because() const noexcept { return first_cause(parts_); }

}  // namespace holdfast
