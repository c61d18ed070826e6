#include "doctor_report.hpp"

#include "doctor_servers.hpp"
#include "json_lines.hpp"
#include "output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace holdfast::cli {
namespace {

std::size_t count_of(std::vector<finding> const& findings, severity const how) {
  return static_cast<std::size_t>(std::ranges::count(findings, how, &finding::how));
}

constexpr std::size_t most_names = 4;  ///< of servers, before a number stands for the rest
constexpr std::size_t most_fine = 6;   ///< lines of one check that say that all is well

/// Of which servers it is found: "h1:6379 and h2:6379: ".
std::string whose(finding const& one, bool const alone) {
  auto const count = one.servers.size();
  if (count == 0) return {};
  if (alone && count > 1) return fmt::format("all {}: ", count);
  if (count <= most_names) return listed(one.servers) + ": ";
  std::vector<std::string> some{one.servers.begin(), one.servers.begin() + most_names - 1};
  some.push_back(fmt::format("{} more", count - some.size()));
  return listed(some) + ": ";
}

/// All that one check found. An explanation that follows the same one isn't repeated.
std::string lines_of(std::span<finding const> const found, std::string& before) {
  std::string text;
  std::size_t fine = 0;
  for (auto const& one : found) {
    auto const first = &one == &found.front();
    if (one.how == severity::ok && ++fine > most_fine) continue;
    auto const same = !first && one.how == (&one)[-1].how;
    text += fmt::format("{:<8} {:<14} {}{}\n", same ? "" : to_string(one.how), first ? one.check : "",
                        whose(one, found.size() == 1), output::one_line(one.found));
    if (one.how == severity::ok) continue;
    auto explanation =
        fmt::format("{:24}why: {}\n{:24}do:  {}\n", "", one.why, "", output::one_line(one.advice));
    if (explanation == before) continue;
    text += explanation;
    before = std::move(explanation);
  }
  if (fine > most_fine) text += fmt::format("{:24}and {} more like these\n", "", fine - most_fine);
  return text;
}

constexpr severity from_worst[]{severity::problem, severity::warning, severity::advice, severity::ok};

}  // namespace

bool has_problem(std::vector<finding> const& findings) { return count_of(findings, severity::problem) != 0; }

std::string report_text(std::vector<finding> const& findings) {
  std::string text;
  std::string before;  // what can't be found out needs its explanation once
  for (auto one = findings.begin(); one != findings.end();) {
    auto const end = std::find_if(
        one, findings.end(), [check = one->check](finding const& other) { return other.check != check; });
    text += lines_of({one, end}, before);
    one = end;
  }
  text += '\n';
  std::string counts;
  for (auto const how : from_worst) {
    counts += fmt::format("{}{}: {}", counts.empty() ? "" : ", ", to_string(how), count_of(findings, how));
  }
  return text + counts;
}

std::string report_json(std::string_view const server, std::vector<finding> const& findings) {
  json_line::severity_counts counts;
  for (auto const how : from_worst) counts.emplace_back(how, count_of(findings, how));
  return json_line::of_findings(server, counts, findings);
}

}  // namespace holdfast::cli
