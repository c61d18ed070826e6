#include "process/prepared_program.hpp"

#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "process/find_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
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

/// What a script names behind #!; empty: it is none.
std::string interpreter_of(std::string const& file) {
  std::string line;
  if (file.empty() || !std::getline(std::ifstream{file}, line) || !line.starts_with("#!")) return {};
  line.erase(0, std::min(line.find_first_not_of(" \t", 2), line.size()));
  line.resize(std::min(line.find_first_of(" \t"), line.size()));
  return line;
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
  if (error == ENOENT) {
    if (auto const interpreter = interpreter_of(find_program(arguments_.front(), unnamed_folder::current));
        !interpreter.empty()) {
      throw failure{not_executable,
                    fmt::format("{}: can't be executed: its first line names the interpreter {}, "
                                "which was not found{}",
                                name, output::quoted(interpreter),
                                interpreter.ends_with('\r') ? " (its lines end with CR LF)" : "")};
    }
  }
  if (error == ENOENT || error == ENOTDIR)
    throw failure{not_found, fmt::format("{}: command not found", name)};
  throw failure{not_executable, fmt::format("{}: can't be executed: {}", name, std::strerror(error))};
}

}  // namespace holdfast::cli
