/// The two commands that a plain exclusive lock costs, as words: what the floors send.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

struct exclusive_commands {
  std::vector<std::string> acquire;
  std::vector<std::string> release;
};

/// EVALSHA of the library's own scripts with arguments like its own.
[[nodiscard]] exclusive_commands commands_for(std::string const& name, std::string const& owner);

/// What makes the server know both scripts.
[[nodiscard]] std::vector<std::vector<std::string>> script_loads();

}  // namespace holdfast::bench
