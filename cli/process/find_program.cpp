#include "process/find_program.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace holdfast::cli {

std::string find_program(std::string const& name, unnamed_folder const unnamed) {
  namespace fs = std::filesystem;
  if (name.find('/') != std::string::npos) return fs::absolute(name);
  char const* const path = std::getenv("PATH");
  std::string_view folders{path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path};
  for (;;) {
    auto const end = std::min(folders.find(':'), folders.size());
    auto const file = fs::path{folders.substr(0, end)} / name;
    bool const counts = end != 0 || unnamed == unnamed_folder::current;
    if (counts && access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return fs::absolute(file);
    if (end == folders.size()) return {};
    folders.remove_prefix(end + 1);
  }
}

}  // namespace holdfast::cli
