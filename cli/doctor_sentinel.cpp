#include "doctor_sentinel.hpp"

#include "output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::cli {
namespace {

bool answered(sentinel_view const& one) { return one.failure.empty(); }

std::vector<sentinel_view> who_answered(sentinel_facts const& facts) {
  std::vector<sentinel_view> all;
  std::ranges::copy_if(facts.sentinels, std::back_inserter(all), answered);
  return all;
}

std::vector<sentinel_view> who_know(sentinel_facts const& facts) {
  auto all = who_answered(facts);
  std::erase_if(all, [](sentinel_view const& one) { return !one.master; });
  return all;
}

std::vector<finding> check_sentinels(sentinel_facts const& facts) {
  std::vector<finding> findings;
  auto const up = who_answered(facts).size();
  for (auto const& one : facts.sentinels) {
    if (answered(one)) continue;
    finding down{.check = "sentinels",
                 .how = up == 0 ? severity::problem : severity::warning,
                 .found = one.failure,
                 .servers = {to_string(one.name)}};
    if (!one.is_sentinel) {
      down.why = "what answers there is no sentinel, so it can't say where the master is";
      down.advice = "for a server that keeps data itself write redis:// (rediss:// with TLS) and this server";
    } else {
      down.why = "a master is found, and replaced, by the sentinels that are up";
      down.advice =
          one.in_url
              ? "check host and port (26379 unless the URL says more), sentinel_user and sentinel_password "
                "in the URL, and that it runs"
              : "check that it runs; if it is gone for good, SENTINEL RESET at the others makes them forget "
                "it";
    }
    findings.push_back(std::move(down));
  }
  if (up == 0) return findings;
  std::vector<std::string> missing;
  for (auto const& one : facts.sentinels) {
    if (!one.in_url && answered(one)) missing.push_back(to_string(one.name));
  }
  finding rest{.check = "sentinels", .found = fmt::format("{} of {} answer", up, facts.sentinels.size())};
  if (!missing.empty()) {
    rest.how = severity::advice;
    rest.found += fmt::format("; the URL doesn't have {}", listed(missing));
    rest.why = "who starts while those in the URL are down finds no master";
    rest.advice = "put all of them into the URL";
  }
  findings.push_back(std::move(rest));
  return findings;
}

std::vector<finding> check_name(sentinel_facts const& facts) {
  std::vector<finding> findings;
  for (auto const& one : who_answered(facts)) {
    if (one.master) continue;
    findings.push_back({"master name",
                        who_know(facts).empty() ? severity::problem : severity::warning,
                        fmt::format("no master {}; it knows {}", output::quoted(facts.master_name),
                                    one.other_names.empty() ? "none" : listed(one.other_names)),
                        "without the name nobody learns where the master is",
                        one.other_names.empty() ? "SENTINEL MONITOR makes it watch a master"
                                                : "write one of these behind the hosts in the URL",
                        {to_string(one.name)}});
  }
  return findings;
}

finding check_agreement(sentinel_facts const& facts, address const& agreed) {
  auto const know = who_know(facts);
  auto const differs = [&agreed](sentinel_view const& one) { return one.master != agreed; };
  if (std::ranges::none_of(know, differs)) {
    return {.check = "agreement", .found = fmt::format("all name {}", to_string(agreed))};
  }
  std::vector<std::string> said;
  said.reserve(know.size());
  for (auto const& one : know)
    said.push_back(fmt::format("{} names {}", to_string(one.name), to_string(*one.master)));
  return {"agreement", severity::warning, listed(said),
          "clients that ask different sentinels lock at different servers, until the sentinels agree",
          "run the doctor again when the failover is over; if it stays so, SENTINEL RESET at the one that is "
          "wrong"};
}

std::vector<finding> check_quorum(sentinel_facts const& facts) {
  std::vector<finding> findings;
  for (auto const& one : who_know(facts)) {
    auto const count = one.others + 1;
    finding found{
        .check = "quorum",
        .found = fmt::format("{} sentinels, {} must agree that the master is down", count, one.quorum),
        .servers = {to_string(one.name)}};
    if (one.check.value) {
      if (count < 3) {
        found.how = severity::warning;
        found.why =
            "with fewer than 3 sentinels the loss of one stops failover, and locks stop with the master";
        found.advice = "run 3 or 5 sentinels, on machines of their own";
      } else if (one.quorum > count / 2 + 1 || one.quorum * 2 < count) {
        found.how = severity::advice;
        found.why = one.quorum * 2 < count
                        ? "a minority can declare the master down, which starts failovers for nothing"
                        : "more must be up than a failover itself needs";
        found.advice = fmt::format("SENTINEL SET {} quorum {}", facts.master_name, count / 2 + 1);
      } else if (count % 2 == 0) {
        found.how = severity::advice;
        found.why = "an even number survives no more losses than one fewer";
        found.advice = "run an odd number of sentinels";
      }
    } else {
      found.how = one.check.refusal.starts_with("NOQUORUM") ? severity::warning : severity::advice;
      found.found += fmt::format("; CKQUORUM: {}", one.check.refusal);
      found.why = "when the master is lost now, none is put in its place, and locks stop";
      found.advice = "start the sentinels that are missing, or look at their logs";
    }
    findings.push_back(std::move(found));
  }
  return grouped(std::move(findings));
}

std::vector<finding> check_down_after(sentinel_facts const& facts) {
  std::vector<finding> findings;
  for (auto const& one : who_know(facts)) {
    if (one.down_after_ms == 0) continue;
    finding found{.check = "failover",
                  .found = fmt::format("begins when the master hasn't answered for {}",
                                       to_text(std::chrono::milliseconds{one.down_after_ms})),
                  .servers = {to_string(one.name)}};
    // A lease is renewed first after a third of its ttl, so two thirds are left at the worst.
    constexpr std::int64_t too_long = 20'000;
    if (one.down_after_ms >= too_long) {
      found.how = severity::advice;
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
  for (auto const& one : facts.servers) {
    auto const master = one.duty == server_duty::serving;
    if (!master) ++stand_by;
    if (!one.facts) {
      findings.push_back(unreachable_at(master ? "master" : "stand-by", one,
                                        master ? severity::problem : severity::warning));
    } else if (master) {
      findings.push_back({.check = "master", .found = fmt::format("{} answers", to_string(one.name))});
    }
  }
  if (stand_by == 0) {
    findings.push_back({"stand-by", severity::warning, "the master has no replicas",
                        "when it is lost there is nothing to put in its place, and locks stop",
                        "add two replicas; and see what it loses when it restarts (persistence)"});
  } else {
    findings.push_back(
        {.check = "stand-by", .found = fmt::format("{} replica{}", stand_by, stand_by == 1 ? "" : "s")});
  }
  return findings;
}

}  // namespace

std::optional<address> agreed_master(std::vector<sentinel_view> const& sentinels) {
  std::optional<address> best;
  std::ptrdiff_t votes = 0;
  for (auto const& one : sentinels) {
    if (!answered(one) || !one.master) continue;
    auto const count = std::ranges::count(sentinels, one.master, &sentinel_view::master);
    if (count <= votes) continue;
    best = one.master;
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
  findings.push_back(check_same_version(facts.servers));
  append(findings, check_times(facts.servers));
  findings = grouped(std::move(findings));
  append(findings, judge_all(facts.servers));
  return findings;
}

}  // namespace holdfast::cli
