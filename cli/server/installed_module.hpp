/// The module of ours for the private server (docs/module.md).
#pragma once

#include <cstdint>
#include <filesystem>

namespace holdfast::cli {

/// The file that is installed with this command, or was built with it; empty: there is none.
[[nodiscard]] std::filesystem::path installed_module();

/// What a server writes into its log from now on.
class new_log_lines {
 public:
  explicit new_log_lines(std::filesystem::path log);

  /// Has a server ended since it couldn't load a module?
  [[nodiscard]] bool refuse_a_module() const { return contain("Can't load module"); }
  /// A server listens before it has loaded its modules.
  [[nodiscard]] bool say_that_it_is_ready() const { return contain("eady to accept connections"); }

 private:
  [[nodiscard]] bool contain(char const* words) const;

  std::filesystem::path log_;
  std::uintmax_t begin_;
};

}  // namespace holdfast::cli
