#include "server/passwords.hpp"

#include "common/environment.hpp"
#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "probe/url_password.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace holdfast::cli {
namespace {

constexpr std::size_t longest_password = 65536;

[[noreturn]] void unfit_file(std::string const& source, std::string const& path, std::string const& reason) {
  throw failure{usage, fmt::format("{}: {} {}", source, path, reason)};
}

/// The only line of a file, which need not end with a newline. A pipe will do.
std::string password_in(std::string const& path, std::string const& source) {
  std::string text;
  std::array<char, 4096> buffer{};
  int const file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts{};
  bool const open_to_others =
      file >= 0 && fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && (facts.st_mode & S_IROTH) != 0;
  ssize_t size = file < 0 ? -1 : 0;
  while (file >= 0 && text.size() <= longest_password &&
         (size = read(file, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(size));
  int const problem = errno;
  if (file >= 0) close(file);
  if (size < 0) unfit_file(source, path, fmt::format("can't be read: {}", std::strerror(problem)));
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) unfit_file(source, path, "has no password in it; write the password there, on one line");
  if (text.size() > longest_password || text.find_first_of(std::string{"\n\0", 2}) != std::string::npos)
    unfit_file(source, path, "has more than a password in it; write the password there alone, on one line");
  if (open_to_others) {
    output::note(fmt::format(
        "warning: all users of this machine can read the password in {}; run `chmod o-r` on it", path));
  }
  return text;
}

/// Nullopt: none is known.
std::optional<std::string> password_for(common_options const& options, std::string const& configured) {
  if (!options.password_file.empty()) return password_in(options.password_file, "--password-file");
  if (auto password = environment_value("HOLDFAST_PASSWORD"); !password.empty()) return password;
  if (auto const folder = environment_value("CREDENTIALS_DIRECTORY"); !folder.empty()) {
    auto const path = folder + "/holdfast-password";
    if (access(path.c_str(), F_OK) == 0) return password_in(path, "CREDENTIALS_DIRECTORY");
  }
  if (!configured.empty()) return password_in(configured, "password_file in the configuration");
  return std::nullopt;
}

/// False: there is none.
bool hide_password_in(char const* const name) {
  auto const url = environment_value(name);
  if (url.empty()) return false;
  auto const shown = probe::without_passwords(url);
  if (shown == url) return false;
  if (shown.empty()) {
    unsetenv(name);
  } else {
    setenv(name, shown.c_str(), 1);
  }
  return true;
}

std::string without_password(char const* const name) {
  return fmt::format("the command gets {} without its password; --pass-url passes the password on", name);
}

}  // namespace

std::string with_its_password(std::string const& url, common_options const& options,
                              std::string const& configured) {
  if (probe::has_password(url)) {
    if (options.password_file.empty()) return url;
    throw failure{usage, "--password-file: the URL has a password, too; leave one of the two out"};
  }
  if (auto const password = password_for(options, configured)) return probe::with_password(url, *password);
  if (!probe::lacks_password(url)) return url;
  throw failure{usage,
                "the URL has a user without a password; give the password with HOLDFAST_PASSWORD, "
                "--password-file or password_file in a configuration file"};
}

void hide_passwords(common_options const& options) {
  bool const redis_url_is_used =
      options.url.empty() && !options.local && environment_value("HOLDFAST_URL").empty();
  unsetenv("HOLDFAST_PASSWORD");
  if (hide_password_in("HOLDFAST_URL")) output::info(without_password("HOLDFAST_URL"));
  // The command itself may want to use that one.
  if (redis_url_is_used && hide_password_in("REDIS_URL")) output::note(without_password("REDIS_URL"));
}

}  // namespace holdfast::cli
