/// Which lease is looked at next: a queue for a million of them. No I/O, no clock.
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

/// Leases that are all looked at the same time after they come in stand in a first-in-first-out list: adding,
/// moving and removing one is a few pointer writes, however many there are. There is one list for each time
/// between renewals, and one for each power of two for all other times: a lease due in 11 s waits 8 s in one
/// list and then moves to shorter ones. Nothing here fails for want of memory.
class renewal_schedule {
 public:
  /// Looked at exactly `span` after a moment that comes later for each lease that is put: what renewals do.
  /// One that is due sooner than those before it (a lease that was granted for a short while, a retry) is put
  /// as any other.
  void put_regular(lease_state& one, time_point due, std::chrono::nanoseconds span, time_point now) noexcept {
    one.unlink();
    auto* const list = list_of(span);
    if (list == nullptr || (!list->empty() && due < list->back().due)) {
      put(one, due, now);
    } else {
      push(*list, one, due);
    }
  }

  /// Looked at no later than `when`, perhaps several times before: whoever takes it out looks at the clock.
  void put(lease_state& one, time_point when, time_point now) noexcept {
    auto const left = std::max<std::chrono::nanoseconds>(when - now, std::chrono::nanoseconds{1});
    auto const power = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(left.count()))) - 1;
    if (power < smallest) {
      push(waiting_.at(smallest), one, when);
    } else {
      push(waiting_.at(power), one, now + span_of(power));
    }
  }

  static void remove(lease_state& one) noexcept { one.unlink(); }

  /// Marks all that are in it now, in a few pointer writes. One that is put again is marked no more.
  void mark_all() noexcept {
    for (auto left = waiting_.used; left != 0; left &= left - 1) {
      auto const power = static_cast<std::size_t>(std::countr_zero(left));
      mark(waiting_.at(power), marked_.at(power));
    }
    for (auto& [span, list] : waiting_.regular) mark(list, marked_.regular.find(span)->second);
  }

  /// Takes out any that is marked; null: none is left.
  [[nodiscard]] lease_state* pop_marked() noexcept {
    auto* const list = marked_.first([](list_type const&, std::chrono::nanoseconds) { return true; });
    return list == nullptr ? nullptr : &take_first(*list);
  }
  [[nodiscard]] bool any_marked() noexcept {
    return marked_.first([](list_type const&, std::chrono::nanoseconds) { return true; }) != nullptr;
  }

  /// When the next look is due; max() when nobody is there.
  [[nodiscard]] time_point earliest() noexcept {
    auto result = time_point::max();
    for (auto* const all : {&waiting_, &marked_}) {
      (void)all->first([&result](list_type const& list, std::chrono::nanoseconds) {
        result = std::min(result, list.front().due);
        return false;
      });
    }
    std::erase_if(waiting_.regular, [this](auto const& one) {
      auto const same = marked_.regular.find(one.first);
      auto const over = one.second.empty() && same->second.empty();
      if (over) marked_.regular.erase(same);
      return over;
    });
    return result;
  }

  /// Takes out one that is due, or nearly: a list's leases are taken together within a 64th of its span. Not
  /// so in the shortest list, where whoever finds one too early would put it back, to find it again. Null:
  /// none is.
  [[nodiscard]] lease_state* pop(time_point now) noexcept {
    for (auto* const all : {&waiting_, &marked_}) {
      auto* const list = all->first([now](list_type const& one, std::chrono::nanoseconds span) {
        auto const early = span > span_of(smallest) ? span / 64 : std::chrono::nanoseconds{0};
        return one.front().due <= now + early;
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
    std::uint64_t used = 0;  ///< a bit for each of those that may have any
    std::map<std::chrono::nanoseconds, list_type> regular{};

    [[nodiscard]] list_type& at(std::size_t power) noexcept {
      used |= std::uint64_t{1} << power;
      return powers[power];
    }

    /// Of those that aren't empty the first that `wanted` says; null: none.
    template <class Wanted>
    [[nodiscard]] list_type* first(Wanted wanted) noexcept {
      for (auto left = used; left != 0; left &= left - 1) {
        auto const power = static_cast<std::size_t>(std::countr_zero(left));
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

  /// There is one among those that are marked, too. Null: there is no memory for either.
  [[nodiscard]] list_type* list_of(std::chrono::nanoseconds span) noexcept try {
    marked_.regular.try_emplace(span);
    return &waiting_.regular.try_emplace(span).first->second;
  } catch (std::bad_alloc const&) {
    return nullptr;
  }

  static void mark(list_type& from, list_type& to) noexcept {
    to.merge(from, [](lease_state const& a, lease_state const& b) { return a.due < b.due; });
  }
  static void push(list_type& list, lease_state& one, time_point due) noexcept {
    one.unlink();
    one.due = due;
    list.push_back(one);
  }
  static lease_state& take_first(list_type& list) noexcept {
    auto& first = list.front();
    list.pop_front();
    return first;
  }

  lists waiting_;
  lists marked_;  ///< the same, of those that are marked
};

}  // namespace holdfast::engine
