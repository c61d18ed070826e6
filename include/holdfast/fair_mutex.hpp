/// The exclusive lock that serves all callers of all processes in the order in which they ask.
#pragma once

#include <holdfast/exclusive_lock.hpp>
#include <holdfast/export.hpp>

#include <string>

namespace holdfast {

/// An exclusive lock on a name: first come, first served.
///
///     holdfast::fair_mutex m{redis, "orders:42"};
///     { std::scoped_lock hold{m}; … }
///     if (auto lease = m.try_acquire_for(2s)) { … }
///
/// *Guarantees.* Those of mutex. In addition callers get the lock in the order in which they asked for it,
/// whatever process or thread they are in. A newcomer never overtakes: try_lock() fails on a lock that is
/// free at this moment if somebody who can be reached waits for it. The release itself makes the next waiter
/// the holder and tells it, so it holds the lock one message later. A waiter whose process is dead delays
/// nobody. A frozen one delays the others by two seconds at most.
///
/// *How exact the order is.* To within a round trip, because a request takes so long to arrive. No clocks are
/// compared: each process says how long its caller has waited by its own clock, and the server counts back
/// from the moment when it hears that. A client that waits for the first time, or again after its connection
/// broke, can be told only when its inbox is open, a few round trips later. If its turn comes before that,
/// the next waiter goes first, and the client keeps its place.
///
/// *Not guaranteed.*
/// - The order without messages. With wake::poll, or if the inbox is refused, nobody waits in the server:
///   only the callers of one client keep their order. Such a client comes after those that wait by messages.
/// - The order against a mutex of the same name. The two exclude each other, but the mutex may overtake.
/// - On Redisson's wire, the order of a client's second and later callers against callers elsewhere. A client
///   has one place in the queue at a time, that of its first caller.
///
/// *On the wire.* The keys and messages of mutex, with scripts of its own to acquire and to pass on. See
/// docs/protocol.md. With wire::redisson it is Redisson's RFairLock: a waiter joins the queue when its
/// process first asks for the lock, and a dead waiter holds up the others for the ttl that it saw and ten
/// times its recheck. See docs/redisson.md.
///
/// *Cost.* Free lock: one request to acquire, one to release. Contended: one request and one message per
/// handoff, also inside one process, where a mutex needs none. If the order doesn't matter, a mutex is much
/// faster. A caller that gives up while others of its client wait costs two requests, because the next caller
/// doesn't inherit its place.
///
/// *Options.* `handoff_limit`, `handoff_time` and `starvation_limit` have no effect.
///
/// *Operations and threads.* See exclusive_lock.
class HOLDFAST_EXPORT fair_mutex : public exclusive_lock {
 public:
  /// Asks no server. Throws std::errc::invalid_argument for an empty name, one of over 64 KiB, or an option
  /// out of range.
  fair_mutex(client& redis, std::string name, lock_options options = {});
};

}  // namespace holdfast
