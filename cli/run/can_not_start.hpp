/// Why a command doesn't run.
#pragma once

#include "common/exit_codes.hpp"

#include <fmt/format.h>

#include <cstring>

namespace holdfast::cli {

/// `call`: that failed with `error`.
[[noreturn]] inline void can_not_start(char const* const call, int const error) {
  throw failure{internal, fmt::format("the command can't be started: {}: {}", call, std::strerror(error))};
}

}  // namespace holdfast::cli
