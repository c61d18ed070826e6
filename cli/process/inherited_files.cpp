#include "process/inherited_files.hpp"

#include "base/whole_number.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace holdfast::cli {
namespace {

void close_between(int const first, int const last) noexcept {
  if (first <= last) close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0);
}

}  // namespace

inherited_files::inherited_files() {
  std::error_code error;
  for (auto const& entry : std::filesystem::directory_iterator{"/proc/self/fd", error}) {
    auto const text = entry.path().filename().string();
    auto const number = leading_number(text, -1);
    // The list includes the folder's own descriptor, which is closed afterwards.
    if (number > STDERR_FILENO) open_.push_back(number);
  }
  std::erase_if(open_, [](int const number) { return fcntl(number, F_GETFD) == -1; });
  std::ranges::sort(open_);
}

void inherited_files::close_others(int const keep) const noexcept {
  int next = STDERR_FILENO + 1;
  bool keep_is_next = keep >= next;
  for (int const number : open_) {
    if (keep_is_next && keep <= number) {
      close_between(next, keep - 1);
      next = keep + 1;
      keep_is_next = false;
    }
    close_between(next, number - 1);
    next = std::max(next, number + 1);
  }
  if (keep_is_next) {
    close_between(next, keep - 1);
    next = keep + 1;
  }
  close_range(static_cast<unsigned>(next), ~0U, 0);
}

void inherited_files::close_standard() noexcept { close_between(STDIN_FILENO, STDERR_FILENO); }

void inherited_files::close_all(int const keep, int const keep_too) noexcept {
  auto const [first, last] = std::minmax(keep, keep_too);
  close_between(STDERR_FILENO + 1, first - 1);
  close_between(first + 1, last - 1);
  close_range(static_cast<unsigned>(last) + 1, ~0U, 0);
}

}  // namespace holdfast::cli
