#include "server/installed_module.hpp"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

namespace holdfast::cli {
namespace {

std::uintmax_t size_of(std::filesystem::path const& file) {
  std::error_code absent;
  auto const size = std::filesystem::file_size(file, absent);
  return absent ? 0 : size;
}

}  // namespace

std::filesystem::path installed_module() {
  std::error_code unknown;
  auto const command = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (unknown) return {};
  auto const folder = command.parent_path();
  for (auto const& file :
       {folder.parent_path() / "lib/redis/modules/holdfast.so", folder / "module/holdfast.so"}) {
    // A server loads no module that can't be executed.
    if (access(file.c_str(), R_OK | X_OK) == 0) return file;
  }
  return {};
}

new_log_lines::new_log_lines(std::filesystem::path log) : log_{std::move(log)}, begin_{size_of(log_)} {}

bool new_log_lines::contain(char const* const words) const {
  std::ifstream log{log_};
  log.seekg(static_cast<std::streamoff>(begin_));
  std::string const lines{std::istreambuf_iterator<char>{log}, {}};
  return lines.find(words) != std::string::npos;
}

}  // namespace holdfast::cli
