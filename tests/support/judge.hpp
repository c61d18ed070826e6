/// Judges a recorded history of holders: did two valid leases overlap, did tokens grow?
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::test {

/// CLOCK_BOOTTIME in nanoseconds: the one clock that all processes of a machine share, and that leases are
/// judged by.
inline std::int64_t boot_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// One lease, as its holder saw it. Both times were taken *before* the valid() that said yes, so the holder
/// was sure of itself for at least the time between them.
struct interval {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t token = 0;
  std::int64_t who = 0;
};

/// Lines of "<from> <to> <token> <who>", each written by one write to a file opened with O_APPEND.
inline std::vector<interval> read_history(std::string const& path) {
  std::vector<interval> all;
  std::ifstream file{path};
  for (std::string line; std::getline(file, line);) {
    std::istringstream words{line};
    if (interval i; words >> i.from >> i.to >> i.token >> i.who) all.push_back(i);
  }
  return all;
}

/// What is wrong with the history; empty when nothing is.
inline std::string judge(std::vector<interval> history) {
  std::sort(history.begin(), history.end(), [](auto const& a, auto const& b) { return a.from < b.from; });
  std::ostringstream wrong;
  for (std::size_t i = 1; i < history.size(); ++i) {
    auto const& before = history[i - 1];
    auto const& after = history[i];
    if (after.from < before.to) {
      wrong << "overlap of " << before.to - after.from << " ns: " << before.who << " with token "
            << before.token << " and " << after.who << " with token " << after.token << '\n';
    }
    auto const counted = after.token != 0 || before.token != 0;  // some kinds have no tokens
    if (counted && after.token <= before.token) {
      wrong << "token " << after.token << " of " << after.who << " follows " << before.token << " of "
            << before.who << '\n';
    }
  }
  return wrong.str();
}

}  // namespace holdfast::test
