/// The end of holdfast by the signal that ended its command.
#pragma once

namespace holdfast::cli {

/// Ends this process by the signal, as far as others can see: a shell then ends a script at ^C, where it
/// would go on after an exit code. Leaves no core. Returns a shell's exit code for the signal if it doesn't
/// end the process, as in the first process of a container.
[[nodiscard]] int end_by_signal(int signal) noexcept;

}  // namespace holdfast::cli
