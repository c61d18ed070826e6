#include "doctor_report.hpp"

#include "listing.hpp"
#include "output.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>

namespace holdfast::cli {
namespace {

std::size_t count_of(std::vector<finding> const& findings, severity const how) {
  return static_cast<std::size_t>(std::ranges::count(findings, how, &finding::how));
}

constexpr severity from_worst[]{severity::problem, severity::warning, severity::advice, severity::ok};

}  // namespace

bool has_problem(std::vector<finding> const& findings) { return count_of(findings, severity::problem) != 0; }

std::string report_text(std::vector<finding> const& findings) {
  std::string text;
  std::string before;  // what can't be found out needs its explanation once
  for (auto const& one : findings) {
    text += fmt::format("{:<8} {:<14} {}\n", to_string(one.how), one.check, output::one_line(one.found));
    if (one.how == severity::ok) continue;
    auto explanation =
        fmt::format("{:24}why: {}\n{:24}do:  {}\n", "", one.why, "", output::one_line(one.advice));
    if (explanation == before) continue;
    text += explanation;
    before = std::move(explanation);
  }
  text += '\n';
  std::string counts;
  for (auto const how : from_worst) {
    counts += fmt::format("{}{}: {}", counts.empty() ? "" : ", ", to_string(how), count_of(findings, how));
  }
  return text + counts;
}

std::string report_json(std::string_view const server, std::vector<finding> const& findings) {
  auto list = nlohmann::ordered_json::array();
  for (auto const& one : findings) {
    list.push_back({{"check", one.check},
                    {"severity", to_string(one.how)},
                    {"found", one.found},
                    {"why", one.why},
                    {"advice", one.advice}});
  }
  nlohmann::ordered_json counts;
  for (auto const how : from_worst) counts[to_string(how)] = count_of(findings, how);
  return listing::one_line_of({{"server", server}, {"counts", counts}, {"findings", list}});
}

}  // namespace holdfast::cli
