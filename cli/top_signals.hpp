/// What `holdfast top` waits for: keys, signals, time. Signals are blocked and read, one by one: no handler
/// runs.
#pragma once

#include <signal.h>

#include <chrono>
#include <cstdint>

namespace holdfast::cli {

/// Make it before any thread, which then inherits what is blocked. Left as it was found when it is gone.
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
    resized,    ///< the window has another size
    stop,       ///< ^Z
    continued,  ///< after a stop
  };
  struct event {
    kind what = kind::nothing;
    int signal = 0;  ///< of `end`
  };

  /// The next thing that happens.
  [[nodiscard]] event wait(std::chrono::milliseconds at_most) const;

  /// Stops this process as ^Z does; returns when it is continued.
  void stop_here() const;

 private:
  sigset_t taken_;
  sigset_t before_{};
  int file_;
};

}  // namespace holdfast::cli
