/// A program that exchanges lines with a test, and that the test can kill and freeze.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <string>
#include <vector>

namespace holdfast::test {

/// The program dies with the thread that started it. Not for several threads at once, except that one may
/// read_line() while another thread calls the other functions.
class line_process {
 public:
  explicit line_process(std::vector<std::string> command);
  ~line_process();  ///< kills it
  line_process(line_process&& other) noexcept;
  line_process& operator=(line_process&&) = delete;

  void write_line(std::string const& line) const;
  /// The next line of its output. Throws std::runtime_error if none comes in time or the program has ended.
  std::string read_line(std::chrono::milliseconds within = std::chrono::seconds{30});
  /// Writes the line, and reads the next one.
  std::string reply_to(std::string const& line, std::chrono::milliseconds within = std::chrono::seconds{30});

  void freeze() const;  ///< SIGSTOP; returns when it has stopped
  void thaw() const;
  void kill9();
  /// Waits for its end: the exit code, or -signal. Throws if it doesn't end in time.
  int wait(std::chrono::milliseconds within = std::chrono::seconds{40});
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int child_input_ = -1;
  int child_output_ = -1;
  std::string received_{};
};

}  // namespace holdfast::test
