#include "server/local_folder.hpp"

#include "common/exit_codes.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

/// With the sticky bit, or others could put another folder in the place of ours.
bool every_user_may_write(char const* const folder) {
  struct stat found{};
  constexpr mode_t wanted = S_ISVTX | S_IWOTH | S_IXOTH;
  return lstat(folder, &found) == 0 && S_ISDIR(found.st_mode) && (found.st_mode & wanted) == wanted;
}

char const* named_folder() {
  char const* const named = std::getenv("HOLDFAST_LOCAL_DIR");
  return named != nullptr && named[0] != '\0' ? named : nullptr;
}

}  // namespace

void no_private_server(std::string const& reason) {
  throw failure{unavailable, fmt::format("no private Redis on this machine: {}; name another one with --url "
                                         "redis://HOST:PORT",
                                         reason)};
}

bool local_folder_is_named() { return named_folder() != nullptr; }

fs::path local_folder() {
  if (char const* const named = named_folder(); named != nullptr) return fs::absolute(named);
  constexpr auto locks = "/run/lock";
  return fmt::format("{}/holdfast-{}", every_user_may_write(locks) ? locks : "/tmp", geteuid());
}

void require_private(fs::path const& folder) {
  struct stat found{};
  if (lstat(folder.c_str(), &found) != 0) {
    no_private_server(fmt::format("can't look at the folder {}: {}", folder.native(), std::strerror(errno)));
  }
  if (!S_ISDIR(found.st_mode)) no_private_server(fmt::format("{} is not a folder", folder.native()));
  if (found.st_uid != geteuid()) {
    no_private_server(
        fmt::format("the folder {} belongs to user {}, not to you", folder.native(), found.st_uid));
  }
  if ((found.st_mode & 077) != 0) {
    no_private_server(fmt::format("the folder {} is open to other users (mode {:03o}): chmod 700 it",
                                  folder.native(), found.st_mode & 0777U));
  }
}

void make_private(fs::path const& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    no_private_server(fmt::format("can't make the folder {}: {}", folder.native(), std::strerror(errno)));
  }
  require_private(folder);
}

}  // namespace holdfast::cli
