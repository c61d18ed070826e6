#include "doctor/facts.hpp"

#include "base/whole_number.hpp"
#include "common/boot_time.hpp"

#include <holdfast/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr auto ping_count = 100;

// Samples of TIME: at both ends for the rate, and in between.
constexpr auto best_of = 20;
constexpr auto best_of_few = 3;
constexpr auto between_looks = 100ms;

microseconds since(std::chrono::nanoseconds const start) {
  return std::chrono::duration_cast<microseconds>(boot_time() - start);
}

std::vector<microseconds> measure_pings(probe::server_session& server) {
  std::vector<microseconds> times;
  for (int i = 0; i < ping_count; ++i) {
    auto const start = boot_time();
    static_cast<void>(server.ask({"PING"}));
    times.push_back(since(start));
  }
  return times;
}

known<setting_map> read_config(probe::server_session& server) {
  setting_map settings;
  // One setting each: Redis before 7 takes one pattern at a time, and `*` would return passwords.
  for (auto const* const name :
       {"maxmemory-policy", "save", "appendfsync", "min-replicas-to-write", "min-replicas-max-lag", "timeout",
        "client-output-buffer-limit", "cluster-node-timeout", "cluster-require-full-coverage"}) {
    auto const found = server.try_to_ask({"CONFIG", "GET", name});
    if (found.refused) return {.refusal = refusal_of("CONFIG GET", found)};
    if (found.parts.size() == 2) settings.emplace(found.parts[0].text, found.parts[1].text);
  }
  return {.value = std::move(settings)};
}

/// The sample with the shortest round trip, which has the least uncertainty.
known<clock_sample> sample_time(probe::server_session& server, int const tries) {
  clock_sample best;
  for (int i = 0; i < tries; ++i) {
    auto const start = boot_time();
    auto const time = server.try_to_ask({"TIME"});
    auto const taken = since(start);
    if (time.refused) return {.refusal = refusal_of("TIME", time)};
    if (time.parts.size() != 2) return {.refusal = "a strange answer to TIME"};
    if (taken >= best.round_trip) continue;
    auto const seconds = whole_number(time.parts[0].text).value_or(0);
    auto const rest = whole_number(time.parts[1].text).value_or(0);
    best = {.here = std::chrono::duration_cast<microseconds>(start) + taken / 2,
            .there = std::chrono::seconds{seconds} + microseconds{rest},
            .round_trip = taken};
  }
  return {.value = best};
}

/// This machine's time of day at a time of the boot clock.
microseconds wall_time_at(microseconds const here) {
  auto const now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<microseconds>(now) - since(here);
}

/// Samples the clock repeatedly, so that a step shows as one, for long enough to tell 1 % from the duration
/// of the replies.
known<clock_facts> watch_clock(probe::server_session& server, known<clock_sample> const& first) {
  if (!first.value) return {.refusal = first.refusal};
  std::vector samples{*first.value};
  auto const long_enough = std::clamp<microseconds>(first.value->round_trip * 400, 1500ms, 5s);
  for (auto last = false; !last;) {
    last = since(first.value->here) >= long_enough;
    auto const next = sample_time(server, last ? best_of : best_of_few);
    if (!next.value) return {.refusal = next.refusal};
    samples.push_back(*next.value);
    if (!last) std::this_thread::sleep_for(between_looks);
  }
  auto facts = compare(samples);
  facts.ahead = facts.now - wall_time_at(samples.back().here);
  return {.value = facts};
}

known<key_facts> sample_keys(probe::server_session& server) {
  auto const count = server.try_to_ask({"DBSIZE"});
  if (count.refused) return {.refusal = refusal_of("DBSIZE", count)};
  key_facts facts{.keys = whole_number(count.text).value_or(0)};
  std::string cursor = "0";
  for (int step = 0; step < 10; ++step) {
    auto const found = server.try_to_ask({"SCAN", cursor, "COUNT", "100"});
    if (found.refused) return {.refusal = refusal_of("SCAN", found)};
    if (found.parts.size() != 2) return {.refusal = "a strange answer to SCAN"};
    for (auto const& key : found.parts[1].parts) {
      ++facts.sampled;
      if (key.text.ends_with(":holdfast_token")) ++facts.counters;
      if (key.text.ends_with(":holdfast_queue")) ++facts.queues;
      if (key.text.starts_with("holdfast_client:")) ++facts.clients;
    }
    cursor = found.parts[0].text;
    if (cursor == "0") break;
  }
  return {.value = facts};
}

/// The rule, with the commands that the deployment needs in addition.
std::string whole_rule(probe::server_session const& server, probe::deployment_kind const part_of) {
  auto rule = server.rules().whole;
  auto const& scope = server.scope();
  if (rule.empty() || !why_no_rule(scope.prefix, scope.lock).why.empty()) return {};
  switch (part_of) {
    case probe::deployment_kind::sentinel:
      return rule + " +role";
    case probe::deployment_kind::quorum:
      return rule + " +info";
    case probe::deployment_kind::cluster:
      return rule + ' ' + server.rules().in_cluster;
    case probe::deployment_kind::single:
    case probe::deployment_kind::etcd:
      break;
  }
  return rule;
}

}  // namespace

std::string refusal_of(std::string_view const command, probe::reply const& reply) {
  return reply.text.starts_with("NOPERM") ? fmt::format("no right to {} ({})", command, reply.text)
                                          : fmt::format("{}: {}", command, reply.text);
}

known<info_text> read_info(probe::server_session& server) {
  auto const info = server.try_to_ask({"INFO"});
  if (info.refused) return {.refusal = refusal_of("INFO", info)};
  return {.value = info_text{info.text}};
}

server_facts examine(probe::server_session& server, std::string_view const lock,
                     probe::deployment_kind const part_of) {
  // A busy or loading server answers but is of no use: its text becomes the error.
  auto const pong = server.ask({"PING"});
  if (pong.refused && !pong.text.starts_with("NOPERM")) {
    throw error{errc::refused, fmt::format("{}: {}", server.url(), pong.text)};
  }
  server_facts facts{.part_of = part_of,
                     .url = part_of == probe::deployment_kind::single ? server.url() : std::string{},
                     .transport = server.transport(),
                     .user = server.user(),
                     .lock = std::string{lock},
                     .prefix = server.scope().prefix,
                     .rule = whole_rule(server, part_of)};
  facts.pings = measure_pings(server);
  auto const clock_before = sample_time(server, best_of);
  facts.info = read_info(server);
  facts.config = read_config(server);
  try_all(server, facts);
  facts.keys = sample_keys(server);
  facts.clock = watch_clock(server, clock_before);
  return facts;
}

}  // namespace holdfast::cli
