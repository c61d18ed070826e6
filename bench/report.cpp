#include "report.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "stats.hpp"

namespace holdfast::bench {
namespace {

/// Three digits that count, without exponents.
std::string number(double value) {
  double const size = value < 0 ? -value : value;
  if (size >= 100 || value == 0) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}", value, size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

std::string middle(std::vector<double> const& samples) {
  return samples.empty() ? "" : number(median(samples));
}

std::string spread(std::vector<double> const& samples) {
  if (samples.size() < 2) return {};
  return number(quantile(samples, 0)) + "–" + number(quantile(samples, 1));
}

std::string goal_text(std::optional<target> const& goal) {
  if (!goal) return {};
  auto bound = fmt::format("{} {}", goal->bound == target::side::at_most ? "≤" : "≥", number(goal->limit));
  switch (goal->measure) {
    case target::of::ratio:
      return bound + " ×";
    case target::of::difference:
      return bound + " more";
    case target::of::own:
      break;
  }
  return bound;
}

std::string verdict(line const& l) {
  auto const met = l.met();
  if (!met) return {};
  return *met ? "yes" : "NO";
}

std::string ratio(std::vector<double> const& own, std::vector<double> const& other) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < std::min(own.size(), other.size()); ++round) {
    ratios.push_back(own[round] / other[round]);
  }
  return middle(ratios);
}

nlohmann::json samples(std::vector<double> const& values) {
  if (values.empty()) return nullptr;
  return {{"median", median(values)},
          {"min", quantile(values, 0)},
          {"max", quantile(values, 1)},
          {"rounds", values}};
}

}  // namespace

std::vector<double> line::judged() const {
  if (!goal || goal->measure == target::of::own) return own;
  std::vector<double> values;
  for (std::size_t round = 0; round < std::min(own.size(), floor.size()); ++round) {
    values.push_back(goal->measure == target::of::ratio ? own[round] / floor[round]
                                                        : own[round] - floor[round]);
  }
  return values;
}

std::optional<bool> line::met() const {
  auto const values = judged();
  if (!goal || values.empty()) return std::nullopt;
  double const value = median(values);
  return goal->bound == target::side::at_most ? value <= goal->limit : value >= goal->limit;
}

machine this_machine() {
  machine here;
  std::ifstream info{"/proc/cpuinfo"};
  for (std::string text; std::getline(info, text);) {
    if (!text.starts_with("model name")) continue;
    here.processor = text.substr(text.find(':') + 2);
    break;
  }
  utsname system{};
  if (uname(&system) == 0) here.kernel = fmt::format("{} {}", system.sysname, system.release);
  return here;
}

std::string table(machine const& where, std::vector<line> const& lines) {
  std::string text =
      fmt::format("{}; {}; {} on loopback TCP; {}; RTT (PING, median) {:.1f} µs\n\n", where.processor,
                  where.kernel, where.server, where.pinning, where.round_trip_us);
  constexpr auto format = "{:<4} {:<50} {:>9} {:>9} {:>7} {:>12} {:<4} {:>9} {:>7} {:>19} {:>19}\n";
  fmt::format_to(std::back_inserter(text), format, "row", "what", "ours", "floor", "ratio", "target", "met",
                 "same cmds", "ratio", "ours min–max", "floor min–max");
  for (auto const& l : lines) {
    fmt::format_to(std::back_inserter(text), format, l.row, l.quantity, middle(l.own), middle(l.floor),
                   ratio(l.own, l.floor), goal_text(l.goal), verdict(l), middle(l.same), ratio(l.own, l.same),
                   spread(l.own), spread(l.floor));
  }
  return text;
}

std::string json(machine const& where, std::vector<line> const& lines) {
  nlohmann::json document{{"processor", where.processor},  {"kernel", where.kernel},
                          {"server", where.server},        {"pinning", where.pinning},
                          {"rtt_us", where.round_trip_us}, {"lines", nlohmann::json::array()}};
  for (auto const& l : lines) {
    auto const met = l.met();
    document["lines"].push_back(
        {{"row", l.row},
         {"what", l.quantity},
         {"ours", samples(l.own)},
         {"floor", samples(l.floor)},
         {"same_commands", samples(l.same)},
         {"judged", samples(l.judged())},
         {"target", l.goal ? nlohmann::json(goal_text(l.goal)) : nlohmann::json(nullptr)},
         {"met", met ? nlohmann::json(*met) : nlohmann::json(nullptr)}});
  }
  return document.dump(2) + "\n";
}

}  // namespace holdfast::bench
