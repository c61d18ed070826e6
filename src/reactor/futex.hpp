/// Puts a thread to sleep until a word in memory changes.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>

namespace holdfast::reactor {

/// Sleeps while `word` is `old`; may also return spuriously. Not std::atomic::wait: libstdc++'s version first
/// yields the processor several times. With hundreds of callers on few processors that costs more than all
/// the rest.
inline void futex_wait(std::atomic<int>& word, int old) noexcept {
  static_assert(sizeof(std::atomic<int>) == sizeof(int));
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
}

/// Wakes all threads that sleep on the word. Doesn't access the word, so its lifetime may have ended: then no
/// thread sleeps there, or one wakes spuriously.
inline void futex_wake(std::atomic<int>* word) noexcept {
  ::syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace holdfast::reactor
