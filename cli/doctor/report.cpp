#include "doctor/report.hpp"

#include "common/output.hpp"
#include "doctor/servers.hpp"
#include "show/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace holdfast::cli {
namespace {

std::size_t count_of(std::vector<finding> const& findings, severity const level) {
  return static_cast<std::size_t>(std::ranges::count(findings, level, &finding::level));
}

constexpr std::size_t most_names = 4;  ///< servers that are named, before a number stands for the rest
constexpr std::size_t most_fine = 6;   ///< ok lines of one check

/// The servers of a finding: "h1:6379 and h2:6379: ".
std::string servers_prefix(finding const& finding, bool const alone) {
  auto const count = finding.servers.size();
  if (count == 0) return {};
  if (alone && count > 1) return fmt::format("all {}: ", count);
  if (count <= most_names) return listed(finding.servers) + ": ";
  std::vector<std::string> some{finding.servers.begin(), finding.servers.begin() + most_names - 1};
  some.push_back(fmt::format("{} more", count - some.size()));
  return listed(some) + ": ";
}

/// All findings of one check. An explanation equal to the previous one is omitted.
std::string lines_of(std::span<finding const> const found, std::string& before) {
  std::string text;
  std::size_t fine = 0;
  for (auto const& finding : found) {
    auto const first = &finding == &found.front();
    if (finding.level == severity::ok && ++fine > most_fine) continue;
    auto const same = !first && finding.level == (&finding)[-1].level;
    text +=
        fmt::format("{:<8} {:<15} {}{}\n", same ? "" : to_string(finding.level), first ? finding.check : "",
                    servers_prefix(finding, found.size() == 1), output::one_line(finding.found));
    if (finding.level == severity::ok) continue;
    auto explanation =
        fmt::format("{:25}why: {}\n{:25}do:  {}\n", "", finding.why, "", output::one_line(finding.advice));
    if (explanation == before) continue;
    text += explanation;
    before = std::move(explanation);
  }
  if (fine > most_fine) text += fmt::format("{:25}and {} more like these\n", "", fine - most_fine);
  return text;
}

json to_json(finding const& finding) {
  json object;
  object.set("check", finding.check).set("severity", to_string(finding.level)).set("found", finding.found);
  object.set("why", finding.why).set("advice", finding.advice).set("servers", json{finding.servers});
  return object;
}

constexpr severity from_worst[]{severity::problem, severity::warning, severity::advice, severity::ok};

}  // namespace

bool has_problem(std::vector<finding> const& findings) { return count_of(findings, severity::problem) != 0; }

std::string report_text(std::vector<finding> const& findings) {
  std::string text;
  std::string before;  // the explanation of unknown facts appears once
  for (auto next = findings.begin(); next != findings.end();) {
    auto const end = std::find_if(
        next, findings.end(), [check = next->check](finding const& other) { return other.check != check; });
    text += lines_of({next, end}, before);
    next = end;
  }
  text += '\n';
  std::string counts;
  for (auto const level : from_worst) {
    counts +=
        fmt::format("{}{}: {}", counts.empty() ? "" : ", ", to_string(level), count_of(findings, level));
  }
  return text + counts;
}

std::string report_json(std::string_view const server, std::vector<finding> const& findings) {
  json counts;
  for (auto const level : from_worst) counts.set(to_string(level), count_of(findings, level));
  auto list = json::list();
  for (auto const& finding : findings) list.add(to_json(finding));
  return json{}
      .set("server", server)
      .set("counts", std::move(counts))
      .set("findings", std::move(list))
      .line();
}

}  // namespace holdfast::cli
