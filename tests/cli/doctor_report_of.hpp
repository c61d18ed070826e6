/// `holdfast doctor --json`, as tests run it.
#pragma once

#include "holdfast_command.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace holdfast::test {

/// The report and the exit code of the command.
struct diagnosis {
  int code = 0;
  nlohmann::json report{};

  /// The first finding of a check, which is the worst.
  [[nodiscard]] nlohmann::json finding(std::string const& check) const {
    for (auto const& entry : report["findings"]) {
      if (entry["check"] == check) return entry;
    }
    return {};
  }
  [[nodiscard]] std::string severity(std::string const& check) const {
    return finding(check).value("severity", "none");
  }
};

/// The diagnosis of a server without problems. Examines it again, if need be, until it answers as fast as on
/// an idle machine.
template <class Examine>
diagnosis doctor_when_idle(Examine examine) {
  auto result = examine();
  for (auto left = 5; left > 0 && result.report["counts"]["ok"] != result.report["findings"].size(); --left)
    result = examine();
  return result;
}

inline diagnosis doctor(std::string const& url, words const& more = {}) {
  words arguments{"doctor", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  auto command = holdfast_command(arguments, {{"HOLDFAST_URL", url}});
  auto const code = command.wait();
  return {code, nlohmann::json::parse(command.out(), nullptr, false)};
}

/// Like doctor(), but repeated until the report has `check`: the server may not be reached in time.
inline diagnosis doctor_on(std::string const& check, std::string const& url, words const& more) {
  auto result = doctor(url, more);
  for (auto left = 5; left > 0 && result.finding(check).is_null(); --left) result = doctor(url, more);
  return result;
}

}  // namespace holdfast::test
