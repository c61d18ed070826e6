/// Putting a thread to sleep until a word in memory changes.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>

namespace holdfast::reactor {

/// Sleeps while `word` is `old`; may also return for no reason. Not std::atomic::wait, whose libstdc++
/// version yields the processor several times first: with hundreds of callers on few processors that costs
/// more than all the rest.
inline void futex_wait(std::atomic<int>& word, int old) noexcept {
  static_assert(sizeof(std::atomic<int>) == sizeof(int));
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
}

/// Wakes whoever sleeps on it. The word itself isn't touched, so it may be gone by now: then nobody sleeps
/// there, or somebody wakes for no reason.
inline void futex_wake(std::atomic<int>* word) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace holdfast::reactor
