/// The locks on etcd. The backend there (src/etcd) makes the requests; docs/etcd.md has the keys.
#pragma once

#include "engine/recipe.hpp"

namespace holdfast::recipes::etcd {

/// The server's queue is in the order of arrival. The client has one place in it for all its callers.
extern engine::recipe const exclusive;
/// Each caller has a place of its own.
extern engine::recipe const fair;
/// Several names, each as of `exclusive`: places in all of their queues, made and deleted together.
extern engine::recipe const multi;
/// Beside other readers; the others of that name wait for them.
extern engine::recipe const reader;
/// Beside others, as far as there are permits.
extern engine::recipe const permits;
/// Waits for what others count down. Nobody has it.
extern engine::recipe const latch;
/// Waits for as many others. Each call of a client has a queue of its own: see recipes::seats.
extern engine::recipe const barrier;
/// The same as `fair`, and each place says what its candidate proclaims.
extern engine::recipe const election;

}  // namespace holdfast::recipes::etcd
