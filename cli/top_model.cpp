#include "top_model.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

/// Looks older than this count for little.
constexpr double memory_seconds = 10;

double seconds(std::chrono::nanoseconds const passed) {
  return std::chrono::duration<double>{passed}.count();
}

}  // namespace

double top_model::entry::rate() const noexcept {
  auto const at_least = watched > 0 ? events / watched : 0;
  // One less: the mean of n/sum is too large by n/(n-1), and without bound for one event.
  auto const estimated = events >= 2 && exposure > 0 ? (events - 1) / exposure : 0;
  return std::max(at_least, estimated);
}

bool top_model::more_contended(entry const& a, entry const& b) {
  auto const key = [](entry const& one) {
    return std::tuple{one.lock.waiting, one.rate(), one.lock.held_for.value_or(0us)};
  };
  auto const left = key(a);
  auto const right = key(b);
  if (left != right) return left > right;
  return std::tie(a.lock.name, a.lock.wire) < std::tie(b.lock.name, b.lock.wire);
}

/// When it was taken the server's clock said what the token says now. Of a free lock nobody tells how long
/// ago that was, but from any held one we know what that clock says.
std::optional<double> top_model::seconds_since_taken(lock_state const& lock, time const now) const {
  if (lock.held_for) return seconds(*lock.held_for);
  if (!server_ahead_) return std::nullopt;
  return seconds(now + *server_ahead_ - std::chrono::microseconds{lock.token});
}

void top_model::watch(entry& one, lock_state const& lock, time const now) const {
  auto const gap = seconds(now - one.seen);
  if (gap <= 0) return;
  auto const weight = std::exp(-gap / memory_seconds);
  one.events *= weight;
  one.exposure *= weight;
  one.watched = one.watched * weight + gap;
  if (lock.token == one.lock.token || lock.token == 0) {
    one.exposure += gap;
  } else {
    one.events += 1;
    one.exposure += std::clamp(seconds_since_taken(lock, now).value_or(gap / 2), 0.0, gap);
  }
}

void top_model::saw(lock_state const& lock, time const now) {
  if (lock.held_for && lock.token != 0)
    server_ahead_ = std::chrono::microseconds{lock.token} + *lock.held_for - now;
  bool const busy = lock.kind != lock_kind::free || lock.waiting > 0;
  auto const [at, is_new] = entries_.try_emplace({lock.name, lock.wire});
  auto& one = at->second;
  if (is_new) {
    one.busy = now;
  } else {
    watch(one, lock, now);
  }
  one.lock = lock;
  one.seen = now;
  if (busy) one.busy = now;
  if (entries_.size() <= most_) return;
  auto const least = std::ranges::max_element(
      entries_, [](auto const& a, auto const& b) { return more_contended(a.second, b.second); });
  entries_.erase(least);
}

void top_model::saw_again(lock_on_wires const& name, time const now) {
  for (auto const* const lock : {&name.plain, &name.redisson}) {
    if (entries_.contains({lock->name, lock->wire})) saw(*lock, now);
  }
}

void top_model::forget_idle(time const when) {
  std::erase_if(entries_, [when](auto const& one) { return one.second.busy < when; });
}

std::vector<top_model::entry const*> top_model::sorted() const {
  std::vector<entry const*> all;
  all.reserve(entries_.size());
  for (auto const& [name, one] : entries_) all.push_back(&one);
  std::ranges::sort(all, [](entry const* a, entry const* b) { return more_contended(*a, *b); });
  return all;
}

std::vector<top_row> top_model::rows(time const now) const {
  std::vector<top_row> rows;
  rows.reserve(entries_.size());
  for (auto const* const one : sorted()) {
    auto& row = rows.emplace_back(top_row{one->lock, one->rate()});
    auto const age = now - one->seen;
    if (row.lock.held_for) *row.lock.held_for += std::chrono::floor<std::chrono::microseconds>(age);
    if (row.lock.ttl_left) {
      *row.lock.ttl_left -= std::chrono::floor<std::chrono::milliseconds>(age);
      row.lock.ttl_left = std::max(*row.lock.ttl_left, 0ms);
    }
  }
  return rows;
}

std::vector<std::string> top_model::older_than(time const when, std::size_t const at_most) const {
  std::vector<std::string> names;
  for (auto const* const one : sorted()) {
    if (names.size() == at_most) break;
    if (one->seen < when) names.push_back(one->lock.name);
  }
  return names;
}

}  // namespace holdfast::cli
