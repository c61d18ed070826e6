/// Waiting until a lease isn't being renewed.
#pragma once

#include "engine/lease_state.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

/// Waits until no renewal is under way. When a connection breaks, the renewal and a request that gives the
/// lease back, or makes another one of it, would both be sent again: the renewal would find nothing of the
/// lease, and report it as lost.
inline void await_renewal(reactor::loop& loop, reactor::lock& hold, lease_state& lease) {
  while (lease.renewing) {  // the next renewal may begin before this thread has the lock again
    reactor::blocked_thread caller;
    lease.when_settled([&loop, &caller] { loop.wake(caller); });
    loop.wait(hold, caller);
    hold.lock();
  }
}

}  // namespace holdfast::engine
