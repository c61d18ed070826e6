#include "doctor/quorum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace holdfast::cli {
namespace {

using std::chrono::microseconds;

std::vector<examined> reachable(quorum_facts const& facts) {
  std::vector<examined> all;
  std::ranges::copy_if(facts.servers, std::back_inserter(all),
                       [](examined const& server) { return server.facts.has_value(); });
  return all;
}

finding check_size(quorum_facts const& facts) {
  auto const count = facts.servers.size();
  finding result{.check = "servers",
                 .found = fmt::format("{}, of which {} may be lost", count, (count - 1) / 2)};
  if (count < 3) {
    result.level = severity::warning;
    result.why = "of fewer than 3 none may be lost: then one server alone, with a token, does as much";
    result.advice = "use 3 or 5 independent masters, on machines of their own; or redis:// with one";
  } else if (count % 2 == 0) {
    result.level = severity::warning;
    result.why = "an even number survives no more losses than one fewer, and ends in a draw more often";
    result.advice = "leave one out of the URL, or add one: in the URL of all clients alike";
  }
  return result;
}

std::vector<finding> check_majority(quorum_facts const& facts) {
  std::vector<finding> findings;
  auto const up = reachable(facts).size();
  auto const majority = facts.servers.size() / 2 + 1;
  auto const enough = up >= majority;
  for (auto const& server : facts.servers) {
    if (server.facts) continue;
    findings.push_back({"majority",
                        enough ? severity::warning : severity::problem,
                        fmt::format("can't be asked: {}", server.failure),
                        enough ? "each server that is down leaves fewer that may be lost"
                               : "without a majority nobody gets a lock, and held locks end with their ttl",
                        "start it; unless it kept all its data it must stay away for the longest ttl first",
                        {to_string(server.name)}});
  }
  auto const summary = fmt::format("{} of {} answer; {} are needed", up, facts.servers.size(), majority);
  if (enough) {
    findings.push_back({.check = "majority", .found = summary});
  } else {
    findings.push_back({"majority", severity::problem, summary,
                        "without a majority nobody gets a lock, and held locks end with their ttl",
                        "start the others"});
  }
  return findings;
}

finding check_distinct(std::vector<examined> const& servers) {
  std::map<std::string, std::vector<std::string>, std::less<>> by_id;
  for (auto const& server : servers) {
    if (!server.facts->info.value) continue;
    auto const id = server.facts->info.value->text("run_id");
    if (!id.empty()) by_id[std::string{id}].push_back(to_string(server.name));
  }
  if (by_id.empty()) return unknown("distinct", "no server told its run_id");
  std::vector<std::string> twice;
  for (auto const& [id, names] : by_id) {
    if (names.size() > 1) twice.push_back(listed(names));
  }
  if (twice.empty()) return {.check = "distinct", .found = "each is a server of its own"};
  std::string found;
  for (auto const& names : twice) found += (found.empty() ? "" : "; ") + names + " are one server";
  return {"distinct", severity::problem, found,
          "one server would have several votes, and might be a majority almost alone",
          "give each server once, at one of its addresses"};
}

/// A server that has lost its locks grants its vote to the first caller.
std::vector<finding> check_restarts(std::vector<examined> const& servers) {
  constexpr std::int64_t usual_ttl = 30;
  std::vector<finding> findings;
  for (auto const& server : servers) {
    if (!server.facts->info.value || keeps_all(*server.facts)) continue;
    auto const uptime = server.facts->info.value->number("uptime_in_seconds");
    if (!uptime || *uptime >= usual_ttl) continue;
    findings.push_back(
        {"restarts",
         severity::warning,
         fmt::format("started {} s ago", *uptime),
         "it grants again what it forgot, so that two holders may have a majority at once",
         "after a restart keep it away from clients for the longest ttl, or let it keep all: appendonly yes "
         "and "
         "appendfsync always",
         {to_string(server.name)}});
  }
  if (findings.empty()) {
    findings.push_back(
        {.check = "restarts",
         .found = fmt::format("none in the last {} s that may have forgotten locks", usual_ttl)});
  }
  return findings;
}

/// The deviation of one clock from another in percent, with its uncertainty.
struct rate {
  double percent = 0;
  double doubt = 0;
};

rate rate_of(clock_facts const& clock) {
  auto const passed = static_cast<double>(std::max(clock.local, microseconds{1}).count());
  return {100.0 * static_cast<double>((clock.server - clock.local).count()) / passed,
          100.0 * static_cast<double>(clock.doubt.count()) / passed};
}

std::vector<finding> check_clocks(std::vector<examined> const& servers) {
  std::vector<clock_facts> clocks;
  for (auto const& server : servers) {
    if (server.facts->clock.value) clocks.push_back(*server.facts->clock.value);
  }
  if (clocks.size() < 2) return {unknown("clock spread", "fewer than two clocks could be read")};
  auto const [slow, fast] = std::ranges::minmax_element(
      clocks, {}, [](clock_facts const& clock) { return rate_of(clock).percent; });
  auto const spread = rate_of(*fast).percent - rate_of(*slow).percent;
  auto const doubt = rate_of(*fast).doubt + rate_of(*slow).doubt;
  auto const [behind, ahead] = std::ranges::minmax_element(clocks, {}, &clock_facts::ahead);
  auto const apart = ahead->ahead - behind->ahead;
  constexpr double promised = 1.0;
  finding rates{.check = "clock spread",
                .found = fmt::format("rates differ by {:.2f} % (± {:.2f} %), times by {}", spread, doubt,
                                     to_text(apart))};
  if (spread - doubt >= promised) {
    rates.level = severity::problem;
    rates.why = "a vote that ends too soon may be given to another while the lease still counts it";
    rates.advice = "mend the time of those machines (chronyc tracking); nothing may step or stop a clock";
  } else if (spread + doubt >= promised) {
    rates.level = severity::advice;
    rates.why = "leases count on rates that differ by less than 1 %; answers took too long to say that here";
    rates.advice = "run the doctor again, nearer to the servers or when the network is quiet";
  }
  std::vector<finding> findings{std::move(rates)};
  using namespace std::chrono_literals;
  if (apart >= 1s) {
    findings.push_back(
        {"clock spread", severity::advice, fmt::format("times are {} apart", to_text(apart)),
         "leases count on rates alone, but tokens begin at the server's time: where none is known "
         "yet they jump by as much",
         "let NTP keep all servers"});
  }
  return findings;
}

}  // namespace

std::vector<finding> judge(quorum_facts const& facts) {
  std::vector<finding> findings{check_size(facts)};
  append(findings, check_majority(facts));
  auto const up = reachable(facts);
  if (!up.empty()) {
    findings.push_back(check_distinct(up));
    findings.push_back(check_same_version(up));
    append(findings, check_restarts(up));
    append(findings, check_clocks(up));
  }
  return with_each_server(std::move(findings), facts.servers);
}

}  // namespace holdfast::cli
