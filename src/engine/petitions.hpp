/// A release by force asks the holder first.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/holders.hpp"
#include "engine/lock_backend.hpp"
#include "engine/lock_queues.hpp"

namespace holdfast::engine {

/// A hint to the holder's client says that somebody wants a lock back; a key beside the lock,
/// which only clients with a right to the lock can write, confirms it. All under the client's lock.
class petitions {
 public:
  /// Called with a lease that is wanted back: it isn't valid from then on. The lock goes back when the holder
  /// releases it.
  using handler = std::function<void(lease_state&)>;

  petitions(reactor::loop& loop, lock_backend& backend, lock_queues const& queues, holders& held,
            handler requested);

  /// A message claims that the acquisition with that number is wanted back.
  void on_hint(std::uint64_t number);

 private:
  void look_at_hints();
  void ask_whether_requested(lock_queue& queue, std::uint64_t number, time_point now);

  reactor::loop& loop_;
  lock_backend& backend_;
  lock_queues const& queues_;
  holders& holders_;
  handler requested_;
  std::vector<std::uint64_t> hints_;  ///< numbers of acquisitions
  time_point next_look_{};            ///< at the earliest
  reactor::timer timer_;
};

}  // namespace holdfast::engine
