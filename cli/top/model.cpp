#include "top/model.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

/// Older observations have little weight.
constexpr double memory_seconds = 10;

double seconds(std::chrono::nanoseconds const passed) {
  return std::chrono::duration<double>{passed}.count();
}

}  // namespace

double top_model::entry::rate() const noexcept {
  auto const at_least = watched > 0 ? events / watched : 0;
  // Minus one: n/sum overestimates the rate by n/(n-1) on average, and without bound for one event.
  auto const estimated = events >= 2 && exposure > 0 ? (events - 1) / exposure : 0;
  return std::max(at_least, estimated);
}

bool top_model::more_contended(entry const& a, entry const& b) {
  auto const key = [](entry const& record) {
    return std::tuple{record.lock.waiting, record.rate(), record.lock.held_for.value_or(0us)};
  };
  auto const left = key(a);
  auto const right = key(b);
  if (left != right) return left > right;
  return std::tie(a.lock.name, a.lock.wire) < std::tie(b.lock.name, b.lock.wire);
}

/// The token is the server's time at the acquisition. A free lock does not show how long ago that was, but
/// any held lock shows the server's present time.
std::optional<double> top_model::seconds_since_taken(lock_state const& lock, time const now) const {
  if (lock.held_for) return seconds(*lock.held_for);
  if (!server_ahead_) return std::nullopt;
  return seconds(now + *server_ahead_ - std::chrono::microseconds{lock.token});
}

void top_model::watch(entry& record, lock_state const& lock, time const now) const {
  auto const gap = seconds(now - record.seen);
  if (gap <= 0) return;
  auto const weight = std::exp(-gap / memory_seconds);
  record.events *= weight;
  record.exposure *= weight;
  record.watched = record.watched * weight + gap;
  if (lock.token == record.lock.token || lock.token == 0) {
    record.exposure += gap;
  } else {
    record.events += 1;
    record.exposure += std::clamp(seconds_since_taken(lock, now).value_or(gap / 2), 0.0, gap);
  }
}

void top_model::saw(lock_state const& lock, time const now) {
  if (lock.held_for && lock.token != 0)
    server_ahead_ = std::chrono::microseconds{lock.token} + *lock.held_for - now;
  bool const busy = lock.kind != lock_kind::free || lock.waiting > 0;
  auto const [position, is_new] = entries_.try_emplace({lock.name, lock.wire});
  auto& record = position->second;
  if (is_new) {
    record.busy = now;
  } else {
    watch(record, lock, now);
  }
  record.lock = lock;
  record.seen = now;
  if (busy) record.busy = now;
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

void top_model::forget_idle(time const limit) {
  std::erase_if(entries_, [limit](auto const& item) { return item.second.busy < limit; });
}

std::vector<top_model::entry const*> top_model::sorted() const {
  std::vector<entry const*> all;
  all.reserve(entries_.size());
  for (auto const& [name, record] : entries_) all.push_back(&record);
  std::ranges::sort(all, [](entry const* a, entry const* b) { return more_contended(*a, *b); });
  return all;
}

std::vector<top_row> top_model::rows(time const now) const {
  std::vector<top_row> rows;
  rows.reserve(entries_.size());
  for (auto const* const record : sorted()) {
    auto& row = rows.emplace_back(top_row{record->lock, record->rate()});
    auto const age = now - record->seen;
    if (row.lock.held_for) *row.lock.held_for += std::chrono::floor<std::chrono::microseconds>(age);
    if (row.lock.ttl_left) {
      *row.lock.ttl_left -= std::chrono::floor<std::chrono::milliseconds>(age);
      row.lock.ttl_left = std::max(*row.lock.ttl_left, 0ms);
    }
  }
  return rows;
}

std::vector<std::string> top_model::older_than(time const limit, std::size_t const at_most) const {
  std::vector<std::string> names;
  for (auto const* const record : sorted()) {
    if (names.size() == at_most) break;
    if (record->seen < limit) names.push_back(record->lock.name);
  }
  return names;
}

}  // namespace holdfast::cli
