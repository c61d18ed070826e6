#include "server/own_unit.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>

namespace holdfast::cli {

systemd_facts look_for_systemd() {
  std::error_code ignored;
  systemd_facts found{.runs = std::filesystem::is_directory("/run/systemd/system", ignored),
                      .user = geteuid(),
                      .lingers = false};
  if (!found.runs || found.user == 0) return found;
  auto const* const entry = getpwuid(found.user);
  found.lingers = entry != nullptr &&
                  std::filesystem::exists(fmt::format("/var/lib/systemd/linger/{}", entry->pw_name), ignored);
  return found;
}

std::vector<std::string> unit_launcher(systemd_facts const& facts) {
  if (!facts.runs || (facts.user != 0 && !facts.lingers)) return {};
  std::vector<std::string> words;
  if (facts.user != 0) words = {"env", fmt::format("XDG_RUNTIME_DIR=/run/user/{}", facts.user)};
  words.emplace_back("systemd-run");
  if (facts.user != 0) words.emplace_back("--user");
  for (char const* const word : {"--quiet", "--collect", "--unit=holdfast-private-redis",
                                 "--service-type=exec", "--property=UMask=0077", "--"}) {
    words.emplace_back(word);
  }
  return words;
}

}  // namespace holdfast::cli
