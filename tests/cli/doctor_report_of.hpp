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

/// Of a server with which nothing is wrong: examined again, if need be, until it answers as fast as it does
/// when the machine has nothing else to do.
template <class Examine>
diagnosis doctor_at_rest(Examine examine) {
  auto seen = examine();
  for (auto left = 5; left > 0 && seen.report["counts"]["ok"] != seen.report["findings"].size(); --left)
    seen = examine();
  return seen;
}

inline diagnosis doctor(std::string const& url, words const& more = {}) {
  words arguments{"doctor", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  auto command = holdfast_command(arguments, {{"HOLDFAST_URL", url}});
  auto const code = command.wait();
  return {code, nlohmann::json::parse(command.out(), nullptr, false)};
}

/// The same, again where the server wasn't reached in time, until it says something of that check.
inline diagnosis doctor_on(std::string const& check, std::string const& url, words const& more) {
  auto seen = doctor(url, more);
  for (auto left = 5; left > 0 && seen.of(check).is_null(); --left) seen = doctor(url, more);
  return seen;
}

}  // namespace holdfast::test
