/// Which lease is looked at next: a queue for a million of them. No I/O, no clock.
#pragma once

#include <algorithm>
#include <bit>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <map>

#include "engine/held.hpp"

namespace holdfast::engine {

/// Leases that are all looked at the same time after they come in stand in a first-in-first-out list: adding,
/// moving and removing one is a few pointer writes, however many there are. There is one list for each time
/// between renewals, and one for each power of two for all other times: a lease due in 11 s waits 8 s in one
/// list and then moves to shorter ones.
class agenda {
 public:
  /// Looked at exactly `span` after a moment that comes later for each lease that is put: what renewals do.
  /// One that is due sooner than those before it (a lease that was granted for a short while, a retry) is put
  /// as any other.
  void put_regular(held& one, time_point due, std::chrono::nanoseconds span, time_point now) {
    one.unlink();
    auto& list = lists_[span.count()];
    if (!list.empty() && due < list.back().due) {
      put(one, due, now);
    } else {
      push(list, one, due);
    }
  }

  /// Looked at no later than `when`, perhaps several times before: whoever takes it out looks at the clock.
  void put(held& one, time_point when, time_point now) {
    auto const left = std::max<std::chrono::nanoseconds>(when - now, std::chrono::nanoseconds{1});
    auto const span = std::bit_floor(static_cast<std::uint64_t>(left.count()));
    if (span < smallest) {
      push(lists_[smallest], one, when);
    } else {
      push(lists_[static_cast<std::chrono::nanoseconds::rep>(span)], one,
           now + std::chrono::nanoseconds{span});
    }
  }

  static void remove(held& one) noexcept { one.unlink(); }

  /// Marks all that are in it now, in a few pointer writes. One that is put again is marked no more.
  void mark_all() {
    for (auto& [span, list] : lists_) {
      marked_[span].merge(list, [](held const& a, held const& b) { return a.due < b.due; });
    }
  }

  /// Takes out any that is marked; null: none is left.
  [[nodiscard]] held* pop_marked() noexcept {
    while (!marked_.empty()) {
      auto& list = marked_.begin()->second;
      if (!list.empty()) return &take_first(list);
      marked_.erase(marked_.begin());
    }
    return nullptr;
  }
  [[nodiscard]] bool any_marked() const noexcept {
    return std::ranges::any_of(marked_, [](auto const& one) { return !one.second.empty(); });
  }

  /// When the next look is due; max() when nobody is there.
  [[nodiscard]] time_point earliest() noexcept {
    auto result = time_point::max();
    for (auto* const all : {&lists_, &marked_}) {
      for (auto list = all->begin(); list != all->end();) {
        if (list->second.empty()) {
          list = all->erase(list);
        } else {
          result = std::min(result, list->second.front().due);
          ++list;
        }
      }
    }
    return result;
  }

  /// Takes out one that is due, or nearly: a list's leases are taken together within a 64th of its span. Not
  /// so in the shortest list, where whoever finds one too early would put it back, to find it again. Null:
  /// none is.
  [[nodiscard]] held* pop(time_point now) noexcept {
    for (auto* const all : {&lists_, &marked_}) {
      for (auto& [span, list] : *all) {
        auto const early =
            std::chrono::nanoseconds{static_cast<std::uint64_t>(span) > smallest ? span / 64 : 0};
        if (!list.empty() && list.front().due <= now + early) return &take_first(list);
      }
    }
    return nullptr;
  }

 private:
  static constexpr std::uint64_t smallest = 1u << 20;  // about a millisecond

  using list_type = boost::intrusive::list<held, boost::intrusive::base_hook<renewal_hook>,
                                           boost::intrusive::constant_time_size<false>>;
  static void push(list_type& list, held& one, time_point due) {
    one.unlink();
    one.due = due;
    list.push_back(one);
  }
  static held& take_first(list_type& list) noexcept {
    auto& first = list.front();
    list.pop_front();
    return first;
  }

  using lists = std::map<std::chrono::nanoseconds::rep, list_type>;

  lists lists_;
  lists marked_;  ///< the same, of those that are marked
};

}  // namespace holdfast::engine
