/// The events of `holdfast top`: keys, signals, time. Signals are blocked and read one by one; there are no
/// handlers.
#pragma once

#include <signal.h>

#include <chrono>
#include <cstdint>

namespace holdfast::cli {

/// Construct it before any thread, since threads inherit the blocked signals. The destructor restores the
/// mask.
class top_signals {
 public:
  top_signals();
  ~top_signals();
  top_signals(top_signals const&) = delete;
  top_signals& operator=(top_signals const&) = delete;

  enum class kind : std::uint8_t {
    nothing,    ///< the time is up
    input,      ///< there are keys to read
    end,        ///< a signal that ends the program, or the terminal is gone
    resized,    ///< the size of the window has changed
    stop,       ///< ^Z
    continued,  ///< after a stop
  };
  struct event {
    kind type = kind::nothing;
    int signal = 0;  ///< of `end`
  };

  /// Waits for the next event.
  [[nodiscard]] event wait(std::chrono::milliseconds at_most) const;

  /// Stops this process as ^Z does; returns when it is continued.
  void stop_here() const;

 private:
  sigset_t taken_;
  sigset_t before_{};
  int file_;
};

}  // namespace holdfast::cli
