/// A program run by a test: started with arguments and environment, watched, and gone when the object is.
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

/// For exec, of texts that live on.
[[nodiscard]] std::vector<char*> pointers(std::vector<std::string>& texts);

/// The test's own, less what chooses a server, plus `extra`; as "NAME=value".
[[nodiscard]] std::vector<std::string> environment_of(environment const& extra);

/// Its output goes to memory files, so that it never waits for a reader. It dies with the thread that started
/// it. Not for several threads at once.
class process {
 public:
  /// `command.front()` is looked for in PATH. The environment is the test's, less what chooses a server, plus
  /// `extra`.
  explicit process(words const& command, environment const& extra = {}, std::string const& input = {});
  ~process();  ///< SIGKILL if it still runs
  process(process&&) noexcept;
  process& operator=(process&&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;

  /// Its exit code, or 128 + the signal that ended it; empty while it runs.
  [[nodiscard]] std::optional<int> exit_code();
  /// Waits for its end; throws when it is late.
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

/// A folder for one test, mode 0700, removed with all in it.
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

/// Empty when there is no such file.
[[nodiscard]] std::string content_of(std::string const& path);

/// Is there such a process (that isn't a zombie)?
[[nodiscard]] bool is_alive(pid_t pid);

}  // namespace holdfast::test
