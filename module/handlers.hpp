/// What each command does, once its keys and the number of its arguments are right. They are described by the
/// scripts whose names they have, scripts/exclusive/acquire.lua and so on; each replies once.
#pragma once

#include "request.hpp"

namespace holdfast::server {

namespace exclusive {
void acquire(request& call);
void release(request& call);
void pass(request& call);
void abandon(request& call);
void renew(request& call);
void release_unwanted(request& call);
}  // namespace exclusive

namespace fair {
void acquire(request& call);
void pass(request& call);
}  // namespace fair

// Where nobody waits. All else they leave to the script: see request::leave_to_the_script.
namespace shared {
void acquire(request& call);
void release(request& call);
void renew(request& call);
}  // namespace shared

namespace permits {
void forget_texts();  ///< before the module is unloaded
void acquire(request& call);
void release(request& call);
void renew(request& call);
}  // namespace permits

namespace redisson_lock {
void acquire(request& call);
void release(request& call);
void pass(request& call);
void abandon(request& call);
void renew(request& call);
}  // namespace redisson_lock

/// For clients of other people: the key of a lock as `SET name value NX PX ttl` makes it.
namespace compare {
/// CAS key old new [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]: 1 set, 0 the value is another, -1 no such
/// key.
void and_set(request& call);
/// CAD key value: 1 deleted, 0 the value is another, -1 no such key.
void and_delete(request& call);
}  // namespace compare

}  // namespace holdfast::server
