#include "doctor/servers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace holdfast::cli {
namespace {

auto content_of(finding const& finding) {
  return std::tie(finding.check, finding.level, finding.found, finding.why, finding.advice);
}

}  // namespace

std::vector<finding> judge_all(std::span<examined const> const servers) {
  std::vector<finding> findings;
  for (auto const& check : server_checks()) {
    for (auto const& server : servers) {
      if (!server.facts || !concerns(check, *server.facts, server.duty)) continue;
      findings.push_back(check.run(*server.facts));
      findings.back().servers = {to_string(server.name)};
    }
  }
  return grouped(std::move(findings));
}

std::vector<finding> grouped(std::vector<finding> findings) {
  std::vector<finding> result;
  for (auto& entry : findings) {
    auto const first = std::ranges::find(result, entry.check, &finding::check);
    auto const same = std::find_if(first, result.end(), [&entry](finding const& other) {
      return content_of(other) == content_of(entry);
    });
    if (same != result.end()) {
      same->servers.insert(same->servers.end(), entry.servers.begin(), entry.servers.end());
      continue;
    }
    // Insert after the findings of the same check that are as severe.
    auto const behind = std::find_if(first, result.end(), [&entry](finding const& other) {
      return other.check != entry.check || other.level < entry.level;
    });
    result.insert(behind, std::move(entry));
  }
  return result;
}

finding check_same_version(std::span<examined const> const servers) {
  std::vector<finding> seen;
  for (auto const& server : servers) {
    if (!server.facts || !server.facts->info.value) continue;
    auto version = server_name(*server.facts->info.value);
    if (!version.empty())
      seen.push_back({.check = "versions", .found = version, .servers = {to_string(server.name)}});
  }
  auto const kinds = grouped(std::move(seen));
  if (kinds.empty()) return unknown("versions", "no server told its own");
  if (kinds.size() == 1) return {.check = "versions", .found = fmt::format("one: {}", kinds.front().found)};
  std::vector<std::string> versions;
  versions.reserve(kinds.size());
  for (auto const& kind : kinds) versions.push_back(fmt::format("{} ({})", kind.found, listed(kind.servers)));
  return {"versions", severity::advice, listed(versions),
          "what works on one server may fail, or work differently, on the next",
          "fine during an upgrade; otherwise bring all servers to the same version"};
}

finding unreachable_at(std::string_view const topic, examined const& server, severity const level) {
  auto const name = to_string(server.name);
  return {
      topic,
      level,
      fmt::format("can't be asked: {}", server.failure),
      "clients connect to the address that a server announces; without it they get no locks from that server",
      fmt::format("if it runs and has another address for clients (NAT, containers), add that address to the "
                  "URL: ?nat={}/HOST:PORT",
                  name),
      {name}};
}

void append(std::vector<finding>& to, std::vector<finding> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<finding> check_likeness(std::span<examined const> const servers) {
  std::vector<finding> findings{check_same_version(servers)};
  append(findings, check_times(servers));
  return findings;
}

std::vector<finding> with_each_server(std::vector<finding> of_deployment,
                                      std::span<examined const> const servers) {
  auto findings = grouped(std::move(of_deployment));
  append(findings, judge_all(servers));
  return findings;
}

std::string listed(std::vector<std::string> const& words) {
  std::string text;
  for (auto const& word : words) {
    auto const* const between = text.empty() ? "" : &word == &words.back() ? " and " : ", ";
    text += between + word;
  }
  return text;
}

}  // namespace holdfast::cli
