/// Requests of a cluster that can't go to their node at the moment. No I/O, no clock.
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

/// Per slot: requests that servers have redirected, later requests that must not overtake them, and requests
/// held back for another try.
///
/// Redirected requests keep their order: the slot is closed until everything in flight to the redirecting
/// node has come back. Requests held back may be overtaken: some of their keys are migrating, perhaps for
/// long, and a renewal, for example, must not wait for that. Nothing depends on the order: a request held
/// back has done nothing yet, and requests of different owners may run in any order, as if they came from
/// different clients. The engine sends one request per owner at a time, or else checks the outcome of the
/// other.
class redirect_queue {
 public:
  using routed_request = net::pipeline::entry;
  using batch = net::pipeline::batch;

  [[nodiscard]] bool empty() const noexcept { return slots_.empty(); }
  [[nodiscard]] bool closed(std::uint16_t slot) const noexcept;
  /// Some requests have no known node.
  [[nodiscard]] bool any_unserved() const noexcept;

  // close(), add(), redirect() and hold_back() may throw std::bad_alloc when they add a slot. Nothing has
  // changed then, and `requests` still holds its request.

  /// Closes the slot once more: it is open after the same number of calls of open().
  void close(std::uint16_t slot) { ++slots_[slot].closed; }
  void open(std::uint16_t slot) noexcept;

  /// Adds a request that arrived while the slot is closed.
  void add(std::uint16_t slot, batch&& requests) { append(slots_[slot].newer, requests); }
  /// Adds a redirected request. It goes out when the slot is open again, ahead of requests from add().
  void redirect(std::uint16_t slot, batch&& requests) { append(slots_[slot].returned, requests); }
  /// Adds a request to be tried again at `retry_at`, or with requests of the slot that are tried earlier.
  void hold_back(std::uint16_t slot, batch&& requests, time_point retry_at);

  /// Takes out, in order, all requests that may go now; none while the slot is closed.
  [[nodiscard]] batch take(std::uint16_t slot, time_point now) noexcept;
  /// The slots with requests to try again.
  [[nodiscard]] std::vector<std::uint16_t> due(time_point now) const;
  /// Makes requests that wait for a node due in every slot for which `has_node(slot)`.
  template <class HasNode>
  void hurry(HasNode has_node) {
    for (auto& [slot, state] : slots_) {
      if (waits_for_a_node(state) && has_node(slot)) state.retry_at = {};
    }
  }

  /// Takes out the requests whose deadline, fails_at(entry), has passed.
  template <class Limit>
  [[nodiscard]] batch take_expired(time_point now, Limit fails_at) noexcept {
    batch result;
    for (auto pair = slots_.begin(); pair != slots_.end();) {
      auto& state = pair->second;
      for (auto* const list : {&state.returned, &state.kept, &state.newer}) {
        for (auto next = list->begin(); next != list->end();) {
          auto const current = next++;
          if (fails_at(*current) <= now) result.splice(result.end(), *list, current);
        }
      }
      pair = state.unused() ? slots_.erase(pair) : std::next(pair);
    }
    return result;
  }

  /// The earliest retry or deadline; time_point::max(): none.
  template <class Limit>
  [[nodiscard]] time_point next(Limit fails_at) const {
    auto result = time_point::max();
    for (auto const& [slot, state] : slots_) {
      if (state.closed == 0 && !state.kept.empty()) result = std::min(result, state.retry_at);
      for (auto const* const list : {&state.returned, &state.kept, &state.newer}) {
        for (auto const& entry : *list) result = std::min(result, fails_at(entry));
      }
    }
    return result;
  }

  /// Removes the node as the target of ASK redirections.
  void forget(cluster_node const& gone) noexcept;

 private:
  struct slot_requests {
    int closed = 0;
    batch returned;
    batch kept;
    batch newer;
    time_point retry_at{};

    [[nodiscard]] bool unused() const noexcept {
      return closed == 0 && returned.empty() && kept.empty() && newer.empty();
    }
  };

  static void append(batch& list, batch& requests) noexcept { list.splice(list.end(), requests); }
  [[nodiscard]] static bool waits_for_a_node(slot_requests const& state) noexcept;

  std::unordered_map<std::uint16_t, slot_requests> slots_;
};

}  // namespace holdfast::topology
