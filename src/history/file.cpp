#include "history/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace holdfast::history {
namespace {

constexpr mode_t for_its_owner_to_write = 0644;

}  // namespace

// O_NONBLOCK: a pipe that nobody reads would hold up the loop.
file::file(std::string const& path)
    : descriptor_{::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                         for_its_owner_to_write)} {
  if (descriptor_ < 0) throw std::system_error{errno, std::generic_category()};
}

file::~file() { ::close(descriptor_); }

std::error_code file::write(std::string_view bytes) noexcept {
  ssize_t written = -1;
  do {
    written = ::write(descriptor_, bytes.data(), bytes.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0) return {errno, std::generic_category()};
  if (static_cast<std::size_t>(written) != bytes.size())
    return std::make_error_code(std::errc::no_space_on_device);
  return {};
}

}  // namespace holdfast::history
