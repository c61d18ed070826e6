/// Forked children: noticing that this process is one, and locks that don't stay locked in it.
#pragma once

#include <mutex>

namespace holdfast {

/// A number that changes in each forked child: whoever remembers another one lives in a copy of its process.
/// Costs a load; getpid() would cost a system call.
[[nodiscard]] int fork_generation() noexcept;

/// The lock for what a forked child may touch, too: no thread has it while the process forks, so that the
/// child finds it free, and what it guards whole. There are a few for all, chosen by the address of what is
/// guarded: have one for a moment, and no second one with it.
[[nodiscard]] std::mutex& guard_across_fork(void const* of) noexcept;

}  // namespace holdfast
