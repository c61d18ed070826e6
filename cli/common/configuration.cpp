#include "common/configuration.hpp"

#include "common/duration.hpp"
#include "common/environment.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "probe/named_servers.hpp"
#include "probe/url_password.hpp"

#include <holdfast/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <stdexcept>

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  constexpr auto blanks = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  auto const last = text.find_last_not_of(blanks);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

/// What stands before a = may also be a piece of a URL with a password: only such a word is shown.
bool is_word(std::string_view const text) {
  return !text.empty() && std::ranges::all_of(text, [](char const c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  });
}

/// One file that is being read.
class configuration_reader {
 public:
  explicit configuration_reader(std::string path) { file_.path = std::move(path); }

  void read(std::string_view text) {
    if (constexpr std::string_view byte_order_mark = "\xef\xbb\xbf"; text.starts_with(byte_order_mark))
      text.remove_prefix(byte_order_mark.size());
    while (!text.empty()) {
      auto const end = std::min(text.find('\n'), text.size());
      ++line_;
      read_line(trimmed(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (!file_.url.empty() && file_.local.value_or(false))
      throw failure{usage,
                    fmt::format("{}: url and local = true exclude each other; remove one of the two lines",
                                file_.path)};
  }

  [[nodiscard]] configuration_file result() && { return std::move(file_); }

 private:
  [[noreturn]] void wrong(std::string const& reason) const {
    throw failure{usage, fmt::format("{}, line {}: {}", file_.path, line_, reason)};
  }

  void read_line(std::string_view const line) {
    if (line.empty() || line.front() == '#') return;
    auto const middle = line.find('=');
    auto const key = trimmed(line.substr(0, middle));
    if (middle == std::string_view::npos || !is_word(key))
      wrong("the line is not `key = value`, and not a comment, which begins with #");
    auto const value = std::string{trimmed(line.substr(middle + 1))};
    if (value.empty()) wrong(fmt::format("{} has no value; write one behind the =, or remove the line", key));
    if (!seen_.insert(std::string{key}).second)
      wrong(fmt::format("{} is set for the second time; remove one of the two lines", key));
    if (key != "label" && (value.front() == '"' || value.front() == '\''))
      wrong(fmt::format("{}: the value has quotes; write it without", key));
    try {
      store(key, value);
    } catch (failure const& problem) {
      wrong(problem.what());
    } catch (error const& problem) {
      wrong(fmt::format("{}: {}", key, problem.what()));
    }
  }

  void store(std::string_view const key, std::string const& value) {
    if (key == "url") {
      file_.url = checked_url(value);
    } else if (key == "password_file") {
      file_.password_file = fs::path{file_.path}.parent_path() / value;
    } else if (key == "label") {
      file_.label = label_of(key, value);
    } else if (key == "ttl") {
      file_.ttl = ttl_of(key, value);
    } else if (key == "local") {
      if (value != "true" && value != "false")
        throw failure{usage, "local is neither true nor false; write one of the two"};
      file_.local = value == "true";
    } else {
      throw failure{
          usage,
          fmt::format("there is no key {}; the keys are url, password_file, label, ttl and local", key)};
    }
  }

  static std::string checked_url(std::string const& url) {
    // Its password may be somewhere else, which a user alone would not be allowed without.
    bool const complete = probe::has_password(url);
    static_cast<void>(probe::named_servers{complete ? url : probe::with_password(url, "any")});
    return url;
  }

  configuration_file file_{};
  std::set<std::string> seen_{};
  int line_ = 0;
};

std::string folder_of_system() {
  auto const named = environment_value("HOLDFAST_CONFIG_DIR");
  return named.empty() ? "/etc/holdfast" : named;
}

/// Empty: the user has none.
std::string folder_of_user() {
  if (auto const named = environment_value("XDG_CONFIG_HOME"); named.starts_with('/'))
    return named + "/holdfast";
  auto const home = environment_value("HOME");
  return home.starts_with('/') ? home + "/.config/holdfast" : std::string{};
}

std::optional<configuration_file> read_file(std::string const& path) {
  int const file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t size = file < 0 ? -1 : 0;
  while (file >= 0 && (size = ::read(file, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(size));
  int const problem = errno;
  struct stat facts{};
  bool const open_to_others = file >= 0 && fstat(file, &facts) == 0 && (facts.st_mode & S_IROTH) != 0;
  if (file >= 0) close(file);
  if (size < 0) return configuration_file{.path = path, .unreadable = std::strerror(problem)};
  auto found = parse_configuration(path, text);
  if (open_to_others && probe::shows_password(found.url)) {
    output::note(fmt::format(
        "warning: all users of this machine can read the password in {}; run `chmod 600` on it, or "
        "put the password into a file of its own, and name that with password_file",
        path));
  }
  return found;
}

}  // namespace

configuration_file parse_configuration(std::string const& path, std::string_view const text) {
  configuration_reader from{path};
  from.read(text);
  return std::move(from).result();
}

std::vector<configuration_file> const& configuration() {
  static auto const files = [] {
    std::vector<configuration_file> all;
    for (auto const& folder : {folder_of_user(), folder_of_system()}) {
      if (folder.empty()) continue;
      if (auto found = read_file(folder + "/config")) all.push_back(std::move(*found));
    }
    return all;
  }();
  return files;
}

std::optional<std::chrono::milliseconds> configured_ttl() {
  auto const& files = configuration();
  auto const found = std::ranges::find_if(files, [](auto const& file) { return file.ttl.has_value(); });
  return found == files.end() ? std::nullopt : found->ttl;
}

}  // namespace holdfast::cli
