#include "run/lock_name.hpp"

#include "common/exit_codes.hpp"
#include "common/output.hpp"

#include <fmt/format.h>

namespace holdfast::cli {
namespace {

/// The lock beside which a key of that name stands; empty: it is none of ours.
std::string_view lock_beside(std::string_view const key) {
  constexpr std::string_view wrapped{"}:holdfast_"};
  constexpr std::string_view unwrapped{"::holdfast_"};
  if (auto const end = key.find(wrapped); key.starts_with('{') && end != std::string_view::npos)
    return key.substr(1, end - 1);
  auto const end = key.find(unwrapped);
  return end == std::string_view::npos ? std::string_view{} : key.substr(0, end);
}

}  // namespace

std::string lock_name_of(std::string_view const option, std::string_view const name) {
  if (auto const lock = lock_beside(name); !lock.empty()) {
    throw failure{usage,
                  fmt::format("{}: {} is a key that Holdfast keeps beside the lock {}; choose another name",
                              option, output::quoted(name), output::quoted(lock))};
  }
  if (name.starts_with("holdfast_client:")) {
    throw failure{usage, fmt::format("{}: {} is a key in which Holdfast notes a client; choose another name",
                                     option, output::quoted(name))};
  }
  return std::string{name};
}

}  // namespace holdfast::cli
