/// Where a place is in the queue of its lock: what is asked of etcd, and what the answer says. No I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "etcd/messages.hpp"
#include "etcd/place.hpp"

namespace holdfast::etcd {

/// The keys of one of its names that a place waits for, as ranges from the first to the second. Whoever
/// writes waits for all that came earlier, whatever they are; a reader for all of them but readers.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> waits_for(std::string const& prefix,
                                                                         place const& waiter,
                                                                         std::string const& name);
/// The oldest key of that lock.
[[nodiscard]] range oldest_of(std::string const& prefix, std::string const& name);
[[nodiscard]] range newest_of(std::string const& prefix, std::string const& name);

/// In the queues of several names, which are given in their order: in that of the first one that is busy.
struct queue_position {
  /// Adds what has to be asked to what is done if the conditions hold.
  static void ask(transaction& request, std::string const& prefix, place const& waiter);
  /// `from`: of its first answer; there are no answers behind its last one.
  queue_position(place const& waiter, outcome&& answer, std::size_t from);

  std::string name{};
  std::optional<key_value> before{};  ///< the newest key that it waits for; none: it has the lock
  std::int64_t others = 0;            ///< keys of the kinds that it waits for
  found first{};                      ///< the oldest key of the lock

 private:
  void read(place const& waiter, std::span<found> answers);
};

}  // namespace holdfast::etcd
