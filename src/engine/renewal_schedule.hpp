/// Which lease is checked next: a queue for a million leases. No I/O, no clock.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <map>
#include <new>

#include "engine/lease_state.hpp"

namespace holdfast::engine {

/// Leases that are checked the same time after they were put stand in one first-in-first-out list: adding,
/// moving and removing a lease is a few pointer writes, however many there are. There is one list for each
/// time between renewals, and one for each power of two for all other times: a lease due in 11 s waits 8 s in
/// one list and then moves to shorter ones. Nothing here fails for want of memory.
class renewal_schedule {
 public:
  /// For regular renewals: checked exactly `span` after a moment that is later for each lease put. A lease
  /// that is due sooner than its predecessors (granted for a short while, or a retry) is put like any other.
  void put_regular(lease_state& lease, time_point due, std::chrono::nanoseconds span,
                   time_point now) noexcept {
    lease.unlink();
    auto* const list = list_of(span);
    if (list == nullptr || (!list->empty() && due < list->back().due)) {
      put(lease, due, now);
    } else {
      push(*list, lease, due);
    }
  }

  /// Checked no later than `when`, perhaps several times before: the caller of pop() looks at the clock.
  void put(lease_state& lease, time_point when, time_point now) noexcept {
    auto const remaining = std::max<std::chrono::nanoseconds>(when - now, std::chrono::nanoseconds{1});
    auto const power =
        static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(remaining.count()))) - 1;
    if (power < smallest) {
      push(waiting_.for_power(smallest), lease, when);
    } else {
      push(waiting_.for_power(power), lease, now + span_of(power));
    }
  }

  static void remove(lease_state& lease) noexcept { lease.unlink(); }

  /// Marks all leases in the schedule, in a few pointer writes. A lease that is put again is no longer
  /// marked.
  void mark_all() noexcept {
    for (auto bits = waiting_.used; bits != 0; bits &= bits - 1) {
      auto const power = static_cast<std::size_t>(std::countr_zero(bits));
      mark(waiting_.for_power(power), marked_.for_power(power));
    }
    for (auto& [span, list] : waiting_.regular) mark(list, marked_.regular.find(span)->second);
  }

  /// Takes out any marked lease; null: none is left.
  [[nodiscard]] lease_state* pop_marked() noexcept {
    auto* const list = marked_.first([](list_type const&, std::chrono::nanoseconds) { return true; });
    return list == nullptr ? nullptr : &take_first(*list);
  }
  [[nodiscard]] bool any_marked() noexcept {
    return marked_.first([](list_type const&, std::chrono::nanoseconds) { return true; }) != nullptr;
  }

  /// When the next check is due; max() when the schedule is empty.
  [[nodiscard]] time_point earliest() noexcept {
    auto result = time_point::max();
    for (auto* const all : {&waiting_, &marked_}) {
      (void)all->first([&result](list_type const& list, std::chrono::nanoseconds) {
        result = std::min(result, list.front().due);
        return false;
      });
    }
    std::erase_if(waiting_.regular, [this](auto const& entry) {
      auto const same = marked_.regular.find(entry.first);
      auto const over = entry.second.empty() && same->second.empty();
      if (over) marked_.regular.erase(same);
      return over;
    });
    return result;
  }

  /// Takes out a lease that is due, or nearly: a list's leases are taken together within a 64th of its span.
  /// Not so in the shortest list, where the caller would put an early lease back and find it again. Null:
  /// none is due.
  [[nodiscard]] lease_state* pop(time_point now) noexcept {
    for (auto* const all : {&waiting_, &marked_}) {
      auto* const list = all->first([now](list_type const& candidates, std::chrono::nanoseconds span) {
        auto const early = span > span_of(smallest) ? span / 64 : std::chrono::nanoseconds{0};
        return candidates.front().due <= now + early;
      });
      if (list != nullptr) return &take_first(*list);
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t smallest = 20;  ///< as a power of two: about a millisecond
  [[nodiscard]] static constexpr std::chrono::nanoseconds span_of(std::size_t power) noexcept {
    return std::chrono::nanoseconds{std::int64_t{1} << power};
  }

  using list_type = boost::intrusive::list<lease_state, boost::intrusive::base_hook<renewal_hook>,
                                           boost::intrusive::constant_time_size<false>>;

  struct lists {
    std::array<list_type, 63> powers{};
    std::uint64_t used = 0;  ///< a bit for each list of `powers` that may have leases
    std::map<std::chrono::nanoseconds, list_type> regular{};

    [[nodiscard]] list_type& for_power(std::size_t power) noexcept {
      used |= std::uint64_t{1} << power;
      return powers[power];
    }

    /// The first non-empty list that `wanted` accepts; null: none.
    template <class Wanted>
    [[nodiscard]] list_type* first(Wanted wanted) noexcept {
      for (auto bits = used; bits != 0; bits &= bits - 1) {
        auto const power = static_cast<std::size_t>(std::countr_zero(bits));
        auto& list = powers[power];
        if (list.empty()) {
          used &= ~(std::uint64_t{1} << power);
        } else if (wanted(list, span_of(power))) {
          return &list;
        }
      }
      for (auto& [span, list] : regular) {
        if (!list.empty() && wanted(list, span)) return &list;
      }
      return nullptr;
    }
  };

  /// Makes the same list in `marked_`, too. Null: there is no memory for both.
  [[nodiscard]] list_type* list_of(std::chrono::nanoseconds span) noexcept try {
    marked_.regular.try_emplace(span);
    return &waiting_.regular.try_emplace(span).first->second;
  } catch (std::bad_alloc const&) {
    return nullptr;
  }

  static void mark(list_type& from, list_type& to) noexcept {
    to.merge(from, [](lease_state const& a, lease_state const& b) { return a.due < b.due; });
  }
  static void push(list_type& list, lease_state& lease, time_point due) noexcept {
    lease.unlink();
    lease.due = due;
    list.push_back(lease);
  }
  static lease_state& take_first(list_type& list) noexcept {
    auto& first = list.front();
    list.pop_front();
    return first;
  }

  lists waiting_;
  lists marked_;  ///< the same, for marked leases
};

}  // namespace holdfast::engine
