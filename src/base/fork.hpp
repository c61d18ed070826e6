/// Noticing that this process is a forked child.
#pragma once

namespace holdfast {

/// A number that changes in each forked child: whoever remembers another one lives in a copy of its process.
/// Costs a load; getpid() would cost a system call.
[[nodiscard]] int fork_generation() noexcept;

}  // namespace holdfast
