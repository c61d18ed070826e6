/// Requests of a cluster that can't be where they should be at this moment. No I/O, no clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/pipeline.hpp"
#include "topology/redirect.hpp"

namespace holdfast::topology {

class cluster_node;

/// By slot: those that servers have sent elsewhere, those that came later and must not overtake them, and
/// those that are kept for another try.
///
/// What is sent elsewhere keeps its order: its slot is closed until all that is under way to the node which
/// said so has come back. What is kept for another try may be overtaken: part of its keys are on their way to
/// another node, perhaps for long, and a renewal, say, must not wait for that. Nothing depends on the order:
/// it has done nothing yet, and requests of different owners are as good in any order, since they might be of
/// different clients. Of one owner the engine has but one under way, or looks what became of the other.
class redirect_queue {
 public:
  using routed_request = net::pipeline::entry;
  using batch = net::pipeline::batch;

  [[nodiscard]] bool empty() const noexcept { return slots_.empty(); }
  [[nodiscard]] bool closed(std::uint16_t slot) const noexcept;
  /// There are some for which no node is known.
  [[nodiscard]] bool any_unserved() const noexcept;

  // What follows may throw std::bad_alloc where it may have to make room for a slot; then nothing has
  // changed, and `what` has its request still.

  /// Once more: open() has to come as often.
  void close(std::uint16_t slot) { ++slots_[slot].closed; }
  void open(std::uint16_t slot) noexcept;

  /// Came while the slot is closed.
  void add(std::uint16_t slot, batch&& what) { append(slots_[slot].newer, what); }
  /// Goes elsewhere when the slot is open again, ahead of those.
  void redirect(std::uint16_t slot, batch&& what) { append(slots_[slot].returned, what); }
  /// Is tried again at `retry`, or with those of the slot that are tried earlier.
  void keep(std::uint16_t slot, batch&& what, time_point retry);

  /// All that may go now, in its order; nothing while the slot is closed.
  [[nodiscard]] batch take(std::uint16_t slot, time_point now) noexcept;
  /// The slots that have some to be tried again.
  [[nodiscard]] std::vector<std::uint16_t> due(time_point now) const;
  /// Those that wait for a node, if `has_one(slot)`, are due.
  template <class HasOne>
  void hurry(HasOne has_one) {
    for (auto& [slot, those] : slots_) {
      if (waits_for_a_node(those) && has_one(slot)) those.retry = {};
    }
  }

  /// Takes out those whose time, as limit_of(parcel) has it, is up.
  template <class Limit>
  [[nodiscard]] batch take_expired(time_point now, Limit limit_of) noexcept {
    batch result;
    for (auto one = slots_.begin(); one != slots_.end();) {
      auto& those = one->second;
      for (auto* const list : {&those.returned, &those.kept, &those.newer}) {
        for (auto next = list->begin(); next != list->end();) {
          auto const here = next++;
          if (limit_of(*here) <= now) result.splice(result.end(), *list, here);
        }
      }
      one = those.unused() ? slots_.erase(one) : std::next(one);
    }
    return result;
  }

  /// When something is to be done at the latest; time_point::max(): there is nothing.
  template <class Limit>
  [[nodiscard]] time_point next(Limit limit_of) const {
    auto result = time_point::max();
    for (auto const& [slot, those] : slots_) {
      if (those.closed == 0 && !those.kept.empty()) result = std::min(result, those.retry);
      for (auto const* const list : {&those.returned, &those.kept, &those.newer}) {
        for (auto const& what : *list) result = std::min(result, limit_of(what));
      }
    }
    return result;
  }

  /// Nobody can be sent there any more.
  void forget(cluster_node const& gone) noexcept;

 private:
  struct detour {
    int closed = 0;
    batch returned;
    batch kept;
    batch newer;
    time_point retry{};

    [[nodiscard]] bool unused() const noexcept {
      return closed == 0 && returned.empty() && kept.empty() && newer.empty();
    }
  };

  static void append(batch& to, batch& what) noexcept { to.splice(to.end(), what); }
  [[nodiscard]] static bool waits_for_a_node(detour const& those) noexcept;

  std::unordered_map<std::uint16_t, detour> slots_;
};

}  // namespace holdfast::topology
