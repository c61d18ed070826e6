/// The kinds of lock on Redisson's wire. Facts and their sources: docs/redisson.md.
#pragma once

#include "engine/recipe.hpp"

namespace holdfast::recipes::redisson {

extern engine::recipe const lock;    ///< RLock
extern engine::recipe const fenced;  ///< RFencedLock
extern engine::recipe const quorum;  ///< RLocks of several servers: RedissonRedLock
extern engine::recipe const fair;    ///< RFairLock
extern engine::recipe const multi;  ///< RedissonMultiLock over RLocks of one server; names as in plain::multi
extern engine::recipe const reader;  ///< RReadWriteLock
extern engine::recipe const writer;
extern engine::recipe const semaphore;  ///< RSemaphore
extern engine::recipe const permit;     ///< RPermitExpirableSemaphore
extern engine::recipe const latch;      ///< RCountDownLatch: an acquisition only reads the count

}  // namespace holdfast::recipes::redisson
