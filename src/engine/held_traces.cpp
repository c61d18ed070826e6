#include "engine/held_traces.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/traceparent.hpp"

namespace holdfast::engine {
namespace {

/// Short work costs no request; the record is written no more often for traces.
constexpr std::chrono::milliseconds settling{500};
/// A waiter reads the record whole.
constexpr int most_said = 16;

/// Readers that share an acquisition aren't told from one another by its number.
bool may_share_its_number(lease_state const& lease) noexcept {
  auto const sharing = lease.queue().lock_recipe().sharing;
  return sharing != sharing::exclusive && sharing != sharing::counted;
}

}  // namespace

held_traces::held_traces(reactor::loop& loop, std::function<bool(time_point)> write)
    : loop_{loop}, write_{std::move(write)}, timer_{[this] { look(boot_clock::now()); }} {}

template <class F>
void held_traces::for_each_of_oldest(F f) const {
  auto count = 0;
  for (auto const& each : by_age_) {
    if (count++ == most_said) return;
    f(each);
  }
}

void held_traces::asked(std::string_view trace) noexcept { traced_ = traced_ || is_traceparent(trace); }

void held_traces::begun(lease_state& lease, std::string_view trace, time_point now) noexcept try {
  if (may_share_its_number(lease) || !is_traceparent(trace)) return;
  auto const [place, added] = known_.try_emplace(lease.number(), lease, trace, now);
  if (!added || lease.is_heir) return;
  by_age_.push_back(place->second);
  if (write_ && !timer_.armed()) loop_.arm(timer_, now + settling);
} catch (std::bad_alloc const&) {
  return;
}

/// One of those behind it may be said in its place.
void held_traces::ended(lease_state const& lease, time_point now) noexcept {
  auto const place = known_.find(lease.number());
  if (place == known_.end() || place->second.lease != &lease) return;
  known_.erase(place);
  if (lease.trace_said && write_ && !by_age_.empty() && !timer_.armed()) loop_.arm(timer_, now + settling);
}

/// One that is said shares its number with nobody.
void held_traces::goes_on_as(lease_state const& old, lease_state& next) noexcept {
  auto const place = known_.find(old.number());
  if (place == known_.end() || place->second.lease != &old) return;
  if (may_share_its_number(next) && !next.trace_said) {
    known_.erase(place);
  } else {
    place->second.lease = &next;
  }
}

void held_traces::look(time_point now) {
  auto next = time_point::max();
  for_each_of_oldest([&next](entry const& each) {
    if (!each.lease->trace_said) next = std::min<time_point>(next, each.since + settling);
  });
  if (next == time_point::max()) return;
  loop_.arm(timer_, std::max<time_point>(next, now + settling));
  if (next <= now && !write_(now)) timer_.disarm();
}

std::string held_traces::say(time_point now) {
  std::string text;
  if (!traced_) return text;
  for_each_of_oldest([&](entry const& each) {
    if (each.since + settling > now) return;
    if (!text.empty()) text += ' ';
    text.append(std::to_string(each.lease->number())).append(1, '=').append(each.trace);
    each.lease->trace_said = true;
  });
  return text.empty() ? "-" : text;
}

std::string held_traces::of(lease_state const& lease) const {
  auto const place = known_.find(lease.number());
  return place == known_.end() || place->second.lease != &lease ? std::string{} : place->second.trace;
}

std::string held_traces::of(std::uint64_t number) const {
  auto const place = known_.find(number);
  return place == known_.end() ? std::string{} : place->second.trace;
}

}  // namespace holdfast::engine
