#include <algorithm>
#include <atomic>
#include <utility>

#include "engine/core.hpp"
#include "sync/multi_contents.hpp"

namespace holdfast {
namespace {

/// From the best to the worst.
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

}  // namespace

multi_lease::multi_lease() noexcept = default;
multi_lease::multi_lease(multi_lease&&) noexcept = default;

multi_lease::multi_lease(std::shared_ptr<contents const> what, std::vector<lease> parts)
    : what_{std::move(what)}, parts_{std::move(parts)} {
  if (parts_.size() < 2) return;
  lost_ = std::stop_source{};
  for (auto& one : parts_) one.on_lost([stop = lost_](loss_cause) mutable { stop.request_stop(); });
}

multi_lease& multi_lease::operator=(multi_lease&& other) noexcept {
  if (this != &other) {
    if (!parts_.empty()) (void)release();
    what_ = std::move(other.what_);
    parts_ = std::move(other.parts_);
    lost_ = std::move(other.lost_);
  }
  return *this;
}

multi_lease::~multi_lease() {
  if (!parts_.empty()) (void)release();
}

bool multi_lease::valid() const noexcept {
  return !parts_.empty() && std::ranges::all_of(parts_, &lease::valid);
}

std::chrono::nanoseconds multi_lease::remaining() const noexcept {
  if (parts_.empty()) return {};
  auto least = std::chrono::nanoseconds::max();
  for (auto const& one : parts_) least = std::min(least, one.remaining());
  return least;
}

std::vector<std::string> const& multi_lease::names() const noexcept {
  static std::vector<std::string> const none;
  return what_ ? what_->names : none;
}

std::int64_t multi_lease::token(std::string_view name) const noexcept {
  auto const& all = names();
  auto const known = std::ranges::find(all, name);
  if (known == all.end() || parts_.empty()) return 0;
  return parts_[what_->part_of[static_cast<std::size_t>(known - all.begin())]].token();
}

std::stop_token multi_lease::lost() const {
  return parts_.size() == 1 ? parts_.front().lost() : lost_.get_token();
}

loss_cause multi_lease::lost_because() const noexcept {
  for (auto const& one : parts_) {
    if (auto const cause = one.lost_because(); cause != loss_cause::none) return cause;
  }
  return loss_cause::none;
}

void multi_lease::on_lost(std::function<void(loss_cause)> f) {
  struct once {
    std::function<void(loss_cause)> tell;
    std::atomic<bool> told{false};
  };
  auto const shared = std::make_shared<once>();
  shared->tell = std::move(f);
  for (auto& one : parts_) {
    one.on_lost([shared](loss_cause cause) {
      if (!shared->told.exchange(true)) shared->tell(cause);
    });
  }
}

void multi_lease::renew() {
  if (parts_.empty()) throw error{errc::lost, "there is no lease to renew: it was released or moved away"};
  for (auto& one : parts_) one.renew();
}

release_result multi_lease::release() noexcept {
  auto parts = std::exchange(parts_, {});
  if (parts.empty()) return release_result::lost;
  if (parts.size() == 1) return parts.front().release();
  std::vector<std::pair<std::shared_ptr<engine::core>, std::shared_ptr<engine::core::ending>>> begun;
  try {
    begun.reserve(parts.size());
  } catch (std::bad_alloc const&) {  // one after the other, then
    auto worst = release_result::released;
    for (auto& one : parts) worst = worse(worst, one.release());
    return worst;
  }
  auto worst = release_result::released;
  for (auto& one : parts) {
    auto mine = engine::lease_state::take(std::move(one));
    if (!mine) {
      worst = release_result::lost;
      continue;
    }
    auto at = mine->queue().engine().shared_from_this();
    auto end = at->begin_release(mine);
    begun.emplace_back(std::move(at), std::move(end));
  }
  for (auto const& [at, end] : begun) worst = worse(worst, at->end_release(end));
  return worst;
}

void multi_lease::async_release(std::function<void(release_result)> done) noexcept {
  auto parts = std::exchange(parts_, {});
  if (parts.empty()) {
    if (done) done(release_result::lost);
    return;
  }
  struct tally {
    std::function<void(release_result)> done;
    std::atomic<std::size_t> left;
    std::atomic<release_result> worst{release_result::released};
  };
  std::shared_ptr<tally> all;
  try {
    all = std::make_shared<tally>();
  } catch (std::bad_alloc const&) {
    for (auto& one : parts) one.async_release({});
    if (done) done(release_result::unknown);  // there is no memory to tell what comes of it
    return;
  }
  all->done = std::move(done);
  all->left = parts.size();
  for (auto& one : parts) {
    one.async_release([all](release_result result) {
      auto before = all->worst.load();
      while (!all->worst.compare_exchange_weak(before, worse(before, result))) {
      }
      if (--all->left == 0 && all->done) all->done(all->worst);
    });
  }
}

release_result multi_lease::keep_until_expiry() noexcept {
  auto parts = std::exchange(parts_, {});
  if (parts.empty()) return release_result::lost;
  auto worst = release_result::released;
  for (auto& one : parts) worst = worse(worst, one.keep_until_expiry());
  return worst;
}

}  // namespace holdfast
