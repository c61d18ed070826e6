/// A program that a test talks with, a line each way at a time; to be killed and frozen.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <string>
#include <vector>

namespace holdfast::test {

/// It dies with the thread that started it. Not for several threads at once, except that one may hear() while
/// another does the rest.
class line_process {
 public:
  explicit line_process(std::vector<std::string> command);
  ~line_process();  ///< kills it
  line_process(line_process&& other) noexcept;
  line_process& operator=(line_process&&) = delete;

  void say(std::string const& line) const;
  /// The next line that it wrote. Throws std::runtime_error when none comes in time or it has ended.
  std::string hear(std::chrono::milliseconds within = std::chrono::seconds{30});
  std::string ask(std::string const& line, std::chrono::milliseconds within = std::chrono::seconds{30});

  void freeze() const;  ///< SIGSTOP; returns when it has stopped
  void thaw() const;
  void kill9();
  /// Waits for its end. The exit code, or -signal. Throws when it doesn't end in time.
  int wait(std::chrono::milliseconds within = std::chrono::seconds{40});
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int to_ = -1;
  int from_ = -1;
  std::string heard_{};
};

}  // namespace holdfast::test
