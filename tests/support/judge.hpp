/// Checks a recorded history of holders: valid leases must not overlap, and tokens must grow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "judge/rules.hpp"

namespace holdfast::test {

/// CLOCK_BOOTTIME in nanoseconds: all processes of a machine share this clock, and leases use it.
inline std::int64_t boot_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// One lease, as recorded by its holder. Both times were taken *before* a valid() that returned true, so the
/// lease was valid at least between them.
struct interval {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t token = 0;
  std::int64_t holder = 0;
};

/// Lines of "<from> <to> <token> <holder>", each written by one write to a file opened with O_APPEND.
inline std::vector<interval> read_history(std::string const& path) {
  std::vector<interval> all;
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    std::istringstream words{line};
    if (interval i; words >> i.from >> i.to >> i.token >> i.holder) all.push_back(i);
  }
  return all;
}

/// The violations in the history; empty if there are none.
inline std::string judge(std::vector<interval> history) {
  std::sort(history.begin(), history.end(), [](auto const& a, auto const& b) { return a.from < b.from; });
  std::ostringstream violations;
  judging::token_rule tokens;
  if (!history.empty()) tokens.take(judging::company::none, history.front().token);
  for (std::size_t i = 1; i < history.size(); ++i) {
    auto const& before = history[i - 1];
    auto const& after = history[i];
    if (after.from < before.to) {
      violations << "overlap of " << before.to - after.from << " ns: " << before.holder << " with token "
                 << before.token << " and " << after.holder << " with token " << after.token << '\n';
    }
    auto const forgotten = after.token == 0 && before.token != 0;  // some kinds have no tokens
    if (!tokens.take(judging::company::none, after.token) || forgotten) {
      violations << "token " << after.token << " of " << after.holder << " follows " << before.token << " of "
                 << before.holder << '\n';
    }
  }
  return violations.str();
}

}  // namespace holdfast::test
