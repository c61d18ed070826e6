#include "board.hpp"

#include "support/judge.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

namespace holdfast::storm {
namespace {

constexpr mode_t for_its_owner = 0600;

[[noreturn]] void fail(std::string const& what) {
  throw std::system_error{errno, std::generic_category(), what};
}

board_content* mapped(std::string const& path) {
  auto const file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, for_its_owner);
  if (file < 0 || ::ftruncate(file, sizeof(board_content)) != 0) fail(path);
  auto* const at = ::mmap(nullptr, sizeof(board_content), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (at == MAP_FAILED) fail(path);
  return static_cast<board_content*>(at);  // zeros are its beginning
}

}  // namespace

board::board(std::string const& path)
    : content_{mapped(path)},
      log_{::open((path + ".writes").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, for_its_owner)} {
  if (log_ < 0) fail(path + ".writes");
}

board::~board() {
  ::close(log_);
  ::munmap(content_, sizeof(board_content));
}

bool board::write(std::size_t resource, std::int64_t token) const {
  auto& newest = content_->newest.at(resource);
  auto seen = newest.load();
  while (seen < token && !newest.compare_exchange_weak(seen, token)) {
  }
  auto const made = seen <= token;
  auto const line = std::to_string(resource) + ' ' + std::to_string(token) + (made ? " made " : " refused ") +
                    std::to_string(test::boot_now()) + '\n';
  if (::write(log_, line.data(), line.size()) < 0) fail("the log of the store");
  if (made) ++content_->writes;
  return made;
}

}  // namespace holdfast::storm
