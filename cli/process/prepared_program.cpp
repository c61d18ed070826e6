#include "process/prepared_program.hpp"

#include "common/exit_codes.hpp"
#include "common/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace holdfast::cli {
namespace {

/// holdfast's environment with the additions, in the format of exec.
std::vector<char*> merged(std::vector<std::string>& additions) {
  std::vector<char*> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view const old{*entry};
    auto const name = old.substr(0, old.find('=') + 1);
    bool const replaced = std::ranges::any_of(additions, [&](auto const& a) { return a.starts_with(name); });
    if (!replaced) all.push_back(*entry);
  }
  for (auto& addition : additions) all.push_back(addition.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

prepared_program::prepared_program(std::span<char* const> const command, std::vector<std::string> environment)
    : additions_{std::move(environment)},
      arguments_{command.begin(), command.end()},
      environment_{merged(additions_)} {
  arguments_.push_back(nullptr);
}

void prepared_program::execute(signals const& mask, inherited_files const& files,
                               int const report) const noexcept {
  files.close_others(report);
  mask.restore_in_child();
  execvpe(arguments_.front(), arguments_.data(), environment_.data());
  int const error = errno;
  static_cast<void>(!write(report, &error, sizeof error));
  _exit(error == ENOENT ? not_found : not_executable);
}

void prepared_program::refuse(int const error) const {
  auto const name = output::quoted(arguments_.front());
  if (error == ENOENT || error == ENOTDIR)
    throw failure{not_found, fmt::format("{}: command not found", name)};
  throw failure{not_executable, fmt::format("{}: can't be executed: {}", name, std::strerror(error))};
}

}  // namespace holdfast::cli
