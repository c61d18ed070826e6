#include "common/standard_error.hpp"

#include "base/signals_of_writing.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <utility>

namespace holdfast::cli {
namespace {

constexpr std::size_t most_kept = 65'536;

/// A message must neither stop nor end the holder of a lock.
void write_all(std::string_view text) {
  held_back_signals_of_writing const held_back;
  while (!text.empty()) {
    auto const size = ::write(STDERR_FILENO, text.data(), text.size());
    if (size > 0) {
      text.remove_prefix(static_cast<std::size_t>(size));
    } else if (size < 0 && errno == EAGAIN) {
      pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return;  // nobody reads it
    }
  }
}

}  // namespace

standard_error::~standard_error() {
  if (without_waiting_ >= 0) close(without_waiting_);
}

void standard_error::write(std::string_view const text) {
  std::scoped_lock const hold{guard_};
  if (!keeps_) return write_all(text);
  if (kept_.size() + text.size() <= most_kept) kept_.append(text);
  write_without_waiting();
}

bool standard_error::write_kept() {
  std::scoped_lock const hold{guard_};
  write_without_waiting();
  return kept_.empty();
}

void standard_error::begin_to_keep() {
  std::scoped_lock const hold{guard_};
  keeps_ = true;
  struct stat found{};
  bool const may_block =
      fstat(STDERR_FILENO, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISCHR(found.st_mode));
  if (may_block && without_waiting_ < 0)
    without_waiting_ = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void standard_error::end_to_keep() {
  std::scoped_lock const hold{guard_};
  keeps_ = false;
  write_all(std::exchange(kept_, {}));
}

void standard_error::write_without_waiting() {
  if (kept_.empty()) return;
  held_back_signals_of_writing const held_back;
  while (!kept_.empty()) {
    auto const size = write_some_at_once(kept_);
    if (size > 0) {
      kept_.erase(0, static_cast<std::size_t>(size));
    } else if (size < 0 && errno == EINTR) {
      continue;
    } else {
      if (size < 0 && errno != EAGAIN) kept_.clear();  // nobody reads it
      return;
    }
  }
}

long standard_error::write_some_at_once(std::string_view const text) const {
  if (without_waiting_ >= 0) return ::write(without_waiting_, text.data(), text.size());
  if (auto const size = send(STDERR_FILENO, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      size >= 0 || errno != ENOTSOCK)
    return size;
  // A file, or a pipe or terminal of another user: as long as nobody else writes to it right now, it takes so
  // much after this look.
  pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, 0) != 1) return 0;
  return ::write(STDERR_FILENO, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
}

}  // namespace holdfast::cli
