/// A program in a terminal of its own: a test reads the pty, types into it, and resizes it.
#pragma once

#include "process.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::test {

/// The program leads a session of its own, and the pty is its terminal. It dies with the thread that started
/// it. Not for several threads at once.
class terminal_window {
 public:
  struct size {
    std::uint16_t columns = 100;
    std::uint16_t lines = 24;
  };

  explicit terminal_window(words const& command, environment const& extra = {});
  terminal_window(words const& command, environment const& extra, size initial_size);
  ~terminal_window();  ///< SIGKILL if it still runs
  terminal_window(terminal_window const&) = delete;
  terminal_window& operator=(terminal_window const&) = delete;

  void signal(int number) const;
  void type(std::string_view keys) const;
  void resize(size new_size) const;
  void hang_up();  ///< closes the terminal, as when its window is closed

  /// All output since the start or forget(), with the control sequences.
  [[nodiscard]] std::string const& seen();
  /// Waits until `text` was written.
  [[nodiscard]] bool shows(std::string_view text, std::chrono::nanoseconds within = std::chrono::seconds{20});
  void forget();

  /// Its exit code, or 128 + the signal that ended it; throws if it doesn't end in time.
  int wait(std::chrono::nanoseconds within = std::chrono::seconds{40});

  /// The settings of the terminal, as text for comparison.
  [[nodiscard]] std::string modes() const;
  /// The settings before the program started.
  [[nodiscard]] std::string const& first_modes() const noexcept { return first_modes_; }

 private:
  [[nodiscard]] std::optional<int> exit_code();

  int master_ = -1;
  int slave_ = -1;
  pid_t pid_ = -1;
  std::string first_modes_{};
  std::string output_{};
  std::optional<int> code_{};
};

}  // namespace holdfast::test
