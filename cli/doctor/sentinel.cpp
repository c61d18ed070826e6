#include "doctor/sentinel.hpp"

#include "common/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::cli {
namespace {

bool answered(sentinel_view const& sentinel) { return sentinel.failure.empty(); }

std::vector<sentinel_view> reachable(sentinel_facts const& facts) {
  std::vector<sentinel_view> all;
  std::ranges::copy_if(facts.sentinels, std::back_inserter(all), answered);
  return all;
}

std::vector<sentinel_view> informed(sentinel_facts const& facts) {
  auto all = reachable(facts);
  std::erase_if(all, [](sentinel_view const& sentinel) { return !sentinel.master; });
  return all;
}

std::vector<finding> check_sentinels(sentinel_facts const& facts) {
  std::vector<finding> findings;
  auto const up = reachable(facts).size();
  for (auto const& sentinel : facts.sentinels) {
    if (answered(sentinel)) continue;
    finding down{.check = "sentinels",
                 .level = up == 0 ? severity::problem : severity::warning,
                 .found = sentinel.failure,
                 .servers = {to_string(sentinel.name)}};
    if (!sentinel.is_sentinel) {
      down.why = "the server that answers is not a sentinel, so it can't say where the master is";
      down.advice = "for a server that keeps data itself write redis:// (rediss:// with TLS) and this server";
    } else {
      down.why = "a master is found, and replaced, by the sentinels that are up";
      down.advice =
          sentinel.in_url
              ? "check host and port (26379 unless the URL says more), sentinel_user and sentinel_password "
                "in the URL, and that it runs"
              : "check that it runs; if it is gone for good, SENTINEL RESET at the others makes them forget "
                "it";
    }
    findings.push_back(std::move(down));
  }
  if (up == 0) return findings;
  std::vector<std::string> missing;
  for (auto const& sentinel : facts.sentinels) {
    if (!sentinel.in_url && answered(sentinel)) missing.push_back(to_string(sentinel.name));
  }
  finding rest{.check = "sentinels", .found = fmt::format("{} of {} answer", up, facts.sentinels.size())};
  if (!missing.empty()) {
    rest.level = severity::advice;
    rest.found += fmt::format("; the URL doesn't have {}", listed(missing));
    rest.why = "who starts while those in the URL are down finds no master";
    rest.advice = "put all of them into the URL";
  }
  findings.push_back(std::move(rest));
  return findings;
}

std::vector<finding> check_name(sentinel_facts const& facts) {
  std::vector<finding> findings;
  for (auto const& sentinel : reachable(facts)) {
    if (sentinel.master) continue;
    findings.push_back({"master name",
                        informed(facts).empty() ? severity::problem : severity::warning,
                        fmt::format("no master {}; it knows {}", output::quoted(facts.master_name),
                                    sentinel.other_names.empty() ? "none" : listed(sentinel.other_names)),
                        "with a wrong name clients can't find the master",
                        sentinel.other_names.empty() ? "SENTINEL MONITOR makes it watch a master"
                                                     : "write one of these behind the hosts in the URL",
                        {to_string(sentinel.name)}});
  }
  return findings;
}

finding check_agreement(sentinel_facts const& facts, probe::server_address const& agreed) {
  auto const sentinels = informed(facts);
  auto const differs = [&agreed](sentinel_view const& sentinel) { return sentinel.master != agreed; };
  if (std::ranges::none_of(sentinels, differs)) {
    return {.check = "agreement", .found = fmt::format("all name {}", to_string(agreed))};
  }
  std::vector<std::string> statements;
  statements.reserve(sentinels.size());
  for (auto const& sentinel : sentinels)
    statements.push_back(fmt::format("{} names {}", to_string(sentinel.name), to_string(*sentinel.master)));
  return {"agreement", severity::warning, listed(statements),
          "clients that ask different sentinels lock at different servers, until the sentinels agree",
          "run the doctor again when the failover is over; if it stays so, SENTINEL RESET at the one that is "
          "wrong"};
}

std::vector<finding> check_quorum(sentinel_facts const& facts) {
  std::vector<finding> findings;
  for (auto const& sentinel : informed(facts)) {
    auto const count = sentinel.others + 1;
    finding found{
        .check = "quorum",
        .found = fmt::format("{} sentinels, {} must agree that the master is down", count, sentinel.quorum),
        .servers = {to_string(sentinel.name)}};
    if (sentinel.check.value) {
      if (count < 3) {
        found.level = severity::warning;
        found.why =
            "with fewer than 3 sentinels the loss of one stops failover, and locks stop with the master";
        found.advice = "run 3 or 5 sentinels, on machines of their own";
      } else if (sentinel.quorum > count / 2 + 1 || sentinel.quorum * 2 < count) {
        found.level = severity::advice;
        found.why = sentinel.quorum * 2 < count
                        ? "a minority can declare the master down, which starts failovers for nothing"
                        : "more must be up than a failover itself needs";
        found.advice = fmt::format("SENTINEL SET {} quorum {}", facts.master_name, count / 2 + 1);
      } else if (count % 2 == 0) {
        found.level = severity::advice;
        found.why = "an even number survives no more losses than one fewer";
        found.advice = "run an odd number of sentinels";
      }
    } else {
      found.level = sentinel.check.refusal.starts_with("NOQUORUM") ? severity::warning : severity::advice;
      found.found += fmt::format("; CKQUORUM: {}", sentinel.check.refusal);
      found.why = "when the master is lost now, none is put in its place, and locks stop";
      found.advice = "start the sentinels that are missing, or look at their logs";
    }
    findings.push_back(std::move(found));
  }
  return grouped(std::move(findings));
}

std::vector<finding> check_down_after(sentinel_facts const& facts) {
  std::vector<finding> findings;
  for (auto const& sentinel : informed(facts)) {
    if (sentinel.down_after_ms == 0) continue;
    finding found{.check = "failover",
                  .found = fmt::format("begins when the master hasn't answered for {}",
                                       to_text(std::chrono::milliseconds{sentinel.down_after_ms})),
                  .servers = {to_string(sentinel.name)}};
    // The first renewal is due after a third of the ttl, so at least two thirds remain.
    constexpr std::int64_t too_long = 20'000;
    if (sentinel.down_after_ms >= too_long) {
      found.level = severity::advice;
      found.why = "a lease with the usual ttl of 30 s ends before another master can renew it";
      found.advice = fmt::format("SENTINEL SET {} down-after-milliseconds 5000", facts.master_name);
    }
    findings.push_back(std::move(found));
  }
  return grouped(std::move(findings));
}

std::vector<finding> check_servers(sentinel_facts const& facts) {
  std::vector<finding> findings;
  std::size_t stand_by = 0;
  for (auto const& server : facts.servers) {
    auto const master = server.duty == server_duty::serving;
    if (!master) ++stand_by;
    if (!server.facts) {
      findings.push_back(unreachable_at(master ? "master" : "stand-by", server,
                                        master ? severity::problem : severity::warning));
    } else if (master) {
      findings.push_back({.check = "master", .found = fmt::format("{} answers", to_string(server.name))});
    }
  }
  if (stand_by == 0) {
    findings.push_back({"stand-by", severity::warning, "the master has no replicas",
                        "if the master is lost, no replica can take its place, and locks stop",
                        "add two replicas; and check what the master loses in a restart (persistence)"});
  } else {
    findings.push_back(
        {.check = "stand-by", .found = fmt::format("{} replica{}", stand_by, stand_by == 1 ? "" : "s")});
  }
  return findings;
}

}  // namespace

std::optional<probe::server_address> agreed_master(std::vector<sentinel_view> const& sentinels) {
  std::optional<probe::server_address> best;
  std::ptrdiff_t votes = 0;
  for (auto const& sentinel : sentinels) {
    if (!answered(sentinel) || !sentinel.master) continue;
    auto const count = std::ranges::count(sentinels, sentinel.master, &sentinel_view::master);
    if (count <= votes) continue;
    best = sentinel.master;
    votes = count;
  }
  return best;
}

std::vector<finding> judge(sentinel_facts const& facts) {
  auto findings = check_sentinels(facts);
  append(findings, check_name(facts));
  auto const agreed = agreed_master(facts.sentinels);
  if (!agreed) return grouped(std::move(findings));
  findings.push_back(check_agreement(facts, *agreed));
  append(findings, check_quorum(facts));
  append(findings, check_down_after(facts));
  append(findings, check_servers(facts));
  append(findings, check_likeness(facts.servers));
  return with_each_server(std::move(findings), facts.servers);
}

}  // namespace holdfast::cli
