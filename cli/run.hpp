/// `holdfast run`: a command under a lock.
#pragma once

#include "loss_watch.hpp"

#include <chrono>
#include <optional>
#include <span>
#include <string>

namespace holdfast::cli {

struct run_options {
  std::string name;
  std::span<char* const> command;
  std::optional<std::chrono::milliseconds> wait;  ///< empty: for ever
  std::chrono::milliseconds ttl{30'000};
  std::chrono::milliseconds max_hold{0};  ///< 0: no limit
  on_lost policy = on_lost::term;
  std::string url;  ///< empty: choose
};

/// Returns what holdfast exits with. Throws failure and holdfast::error.
[[nodiscard]] int run(run_options const&);

}  // namespace holdfast::cli
