/// Requests of a cluster that can't be where they should be at this moment. No I/O, no clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
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
class detours {
 public:
  struct parcel {
    net::pipeline::finished what;
    refusal::kind why = refusal::kind::other;
    cluster_node* to = nullptr;  ///< to be asked (ASKING); null: whoever serves the slot
  };

  [[nodiscard]] bool empty() const noexcept { return slots_.empty(); }
  [[nodiscard]] bool closed(std::uint16_t slot) const;
  /// There are some for which no node is known.
  [[nodiscard]] bool any_unserved() const noexcept;

  /// Once more: open() has to come as often.
  void close(std::uint16_t slot) { ++slots_[slot].closed; }
  void open(std::uint16_t slot);

  /// Came while the slot is closed.
  void add(std::uint16_t slot, parcel what) { slots_[slot].newer.push_back(std::move(what)); }
  /// Goes elsewhere when the slot is open again, ahead of those.
  void redirect(std::uint16_t slot, parcel what) { slots_[slot].returned.push_back(std::move(what)); }
  /// Is tried again at `retry`, or with those of the slot that are tried earlier.
  void keep(std::uint16_t slot, parcel what, time_point retry);

  /// All that may go now, in its order; nothing while the slot is closed.
  [[nodiscard]] std::vector<parcel> take(std::uint16_t slot, time_point now);
  /// The slots that have some to be tried again.
  [[nodiscard]] std::vector<std::uint16_t> due(time_point now) const;
  /// Those that wait for a node, if `has_one(slot)`, are due.
  template <class HasOne>
  void hurry(HasOne has_one) {
    for (auto& [slot, those] : slots_) {
      if (waits_for_a_node(those) && has_one(slot)) those.retry = {};
    }
  }

  /// Takes out those whose time, as limit_of(parcel) has it, is up; each with its slot.
  struct expired {
    std::uint16_t slot;
    parcel what;
  };
  template <class Limit>
  [[nodiscard]] std::vector<expired> take_expired(time_point now, Limit limit_of) {
    std::vector<expired> result;
    for (auto one = slots_.begin(); one != slots_.end();) {
      auto& [slot, those] = *one;
      for (auto* const list : {&those.returned, &those.kept, &those.newer}) {
        std::deque<parcel> rest;
        for (auto& what : *list) {
          if (limit_of(what) <= now) {
            result.push_back({slot, std::move(what)});
          } else {
            rest.push_back(std::move(what));
          }
        }
        *list = std::move(rest);
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
  void forget(cluster_node const& gone);

 private:
  struct detour {
    int closed = 0;
    std::deque<parcel> returned;
    std::deque<parcel> kept;
    std::deque<parcel> newer;
    time_point retry{};

    [[nodiscard]] bool unused() const noexcept {
      return closed == 0 && returned.empty() && kept.empty() && newer.empty();
    }
  };

  [[nodiscard]] static bool waits_for_a_node(detour const& those) noexcept;

  std::unordered_map<std::uint16_t, detour> slots_;
};

}  // namespace holdfast::topology
