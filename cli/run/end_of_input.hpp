/// Tells when standard input ends.
#pragma once

#include <atomic>
#include <memory>

namespace holdfast::cli {

/// Reads stdin, and forgets what it reads, in a thread of its own until the end of the process. Construct it
/// after `signals`, so that the thread doesn't take them. /dev/null never ends: it is the stdin of what
/// shells and services run in the background.
class end_of_input {
 public:
  end_of_input();

  /// signals::wake() was called when it came.
  [[nodiscard]] bool has_come() const noexcept { return *come_; }

 private:
  std::shared_ptr<std::atomic<bool>> come_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace holdfast::cli
