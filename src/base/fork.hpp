/// Support for fork(): detecting a forked child, and mutexes that don't stay locked in it.
#pragma once

#include <mutex>

namespace holdfast {

/// A number that changes in each forked child: an object that recorded another number is a copy of its
/// parent's object. Costs a load; getpid() would cost a system call.
[[nodiscard]] int fork_generation() noexcept;

/// The mutex for an object that a forked child may touch, too. No thread holds it while the process forks, so
/// the child finds the mutex free and the object consistent. A few mutexes serve all objects and are chosen
/// by the object's address: hold one briefly, and never two at a time.
[[nodiscard]] std::mutex& guard_across_fork(void const* object) noexcept;

}  // namespace holdfast
