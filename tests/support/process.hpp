/// A program that a test runs with arguments and an environment; it ends with the object.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace holdfast::test {

using words = std::vector<std::string>;
using environment = std::map<std::string, std::string>;

/// The argument array for exec; it points into `texts`.
[[nodiscard]] std::vector<char*> pointers(std::vector<std::string>& texts);

/// The test's environment without the variables and the configuration that choose a server, plus `extra`; as
/// "NAME=value".
[[nodiscard]] std::vector<std::string> environment_of(environment const& extra);

/// The exit code of a child, or 128 + the signal that ended it; empty while it runs. It is gone after that.
[[nodiscard]] std::optional<int> exit_code_of(pid_t child);

/// The output goes to memory files, so the program never waits for a reader. It dies with the thread that
/// started it. Not for several threads at once.
class process {
 public:
  /// `command.front()` is searched in PATH. The environment is environment_of(extra).
  explicit process(words const& command, environment const& extra = {}, std::string const& input = {});
  ~process();  ///< SIGKILL if it still runs
  process(process&&) noexcept;
  process& operator=(process&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;

  /// Its exit code, or 128 + the signal that ended it; empty while it runs.
  [[nodiscard]] std::optional<int> exit_code();
  /// Waits for its end; throws if it doesn't end in time.
  int wait(std::chrono::nanoseconds within = std::chrono::seconds{40});

  [[nodiscard]] std::string out() const { return content(out_); }
  [[nodiscard]] std::string err() const { return content(err_); }

 private:
  static std::string content(int file);

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::optional<int> code_{};
};

/// A folder for one test, mode 0700, removed with its content.
class temporary_folder {
 public:
  temporary_folder();
  ~temporary_folder();
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;
  [[nodiscard]] std::string operator/(std::string const& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The content of a file; empty if there is none.
[[nodiscard]] std::string content_of(std::string const& path);

/// Whether the process exists and isn't a zombie.
[[nodiscard]] bool is_alive(pid_t pid);

}  // namespace holdfast::test
