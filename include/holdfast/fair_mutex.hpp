/// The exclusive lock that is taken in the order of asking, over all callers of all processes.
#pragma once

#include <holdfast/exclusive_lock.hpp>

#include <string>

namespace holdfast {

/// An exclusive lock on a name: first come, first served.
///
///     holdfast::fair_mutex m{redis, "orders:42"};
///     { std::scoped_lock hold{m}; … }
///     if (auto lease = m.try_acquire_for(2s)) { … }
///
/// *Guarantees.* Those of mutex; and callers get the lock in the order in which they asked for it, whatever
/// process or thread they are in. A newcomer never overtakes: try_lock() fails on a lock that is free at this
/// moment when somebody who can be reached waits for it. The release itself makes the next waiter the holder
/// and tells it, so that it holds one message later. A waiter whose process is dead delays nobody; a frozen
/// one delays the others by two seconds at the most.
///
/// *How exact the order is.* To within a round trip, since asking takes so long to be known. No clocks are
/// compared: each process says how long its caller has waited by its own, and the server reckons from when it
/// hears that. A client that waits for the first time, or again after its connection broke, can be told only
/// once its inbox is open, a few round trips later; should its turn come before, the one behind it goes
/// first, and it keeps its place.
///
/// *Not guaranteed.* The order without messages: with wake::poll, or where the inbox is refused, nobody waits
/// in the server, and the order is kept among the callers of each client only; such a client comes after
/// those that wait by messages. The order against a mutex of the same name: the two exclude each other, but
/// the mutex may overtake. On Redisson's wire: the order of a client's second caller and later ones against
/// callers elsewhere, since a client has one place in the queue at a time, its first caller's.
///
/// *On the wire.* The keys and messages of mutex, with scripts of its own for acquiring and passing on. See
/// docs/protocol.md. With wire::redisson: its RFairLock, where a waiter joins the queue when its process
/// first asks for it, and a dead one holds up the others for the ttl it saw and ten times its recheck. See
/// docs/redisson.md.
///
/// *Cost.* Free lock: one request to acquire, one to release. Contended: one request and one message per
/// handoff, also inside one process, where a mutex needs none: a mutex is the faster one by far when the
/// order doesn't matter. A caller that gives up while others of its client wait costs two requests, since
/// its place isn't inherited.
///
/// *Options.* `handoff_limit`, `handoff_time` and `starvation_limit` have no effect.
///
/// *Operations and threads.* See exclusive_lock.
class fair_mutex : public exclusive_lock {
 public:
  /// Asks no server. Throws std::errc::invalid_argument for an empty name, one of over 64 KiB, or an option
  /// out of range.
  fair_mutex(client& redis, std::string name, lock_options options = {});
};

}  // namespace holdfast
