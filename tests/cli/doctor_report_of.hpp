/// `holdfast doctor --json`, as tests run it.
#pragma once

#include "holdfast_command.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace holdfast::test {

/// What the command said and exited with.
struct diagnosis {
  int code = 0;
  nlohmann::json report{};

  /// The first finding of a check, which is the worst.
  [[nodiscard]] nlohmann::json of(std::string const& check) const {
    for (auto const& one : report["findings"]) {
      if (one["check"] == check) return one;
    }
    return {};
  }
  [[nodiscard]] std::string severity(std::string const& check) const {
    return of(check).value("severity", "none");
  }
};

inline diagnosis doctor(std::string const& url, words const& more = {}) {
  words arguments{"doctor", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  auto command = holdfast_command(arguments, {{"HOLDFAST_URL", url}});
  auto const code = command.wait();
  return {code, nlohmann::json::parse(command.out(), nullptr, false)};
}

}  // namespace holdfast::test
