#include "doctor_facts.hpp"

#include "boot_time.hpp"

#include <holdfast/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using needed = right_attempt::needed;

constexpr auto ping_count = 100;

microseconds since(std::chrono::nanoseconds const start) {
  return std::chrono::duration_cast<microseconds>(boot_time() - start);
}

std::vector<microseconds> measure_pings(server_session& server) {
  std::vector<microseconds> times;
  for (int i = 0; i < ping_count; ++i) {
    auto const start = boot_time();
    static_cast<void>(server.ask({"PING"}));
    times.push_back(since(start));
  }
  return times;
}

known<setting_map> read_config(server_session& server) {
  setting_map settings;
  // One by one: Redis before 7 takes one pattern at a time, and `*` would bring passwords.
  for (auto const* const name :
       {"maxmemory-policy", "save", "appendfsync", "min-replicas-to-write", "min-replicas-max-lag", "timeout",
        "client-output-buffer-limit", "cluster-node-timeout", "cluster-require-full-coverage"}) {
    auto const found = server.try_to_ask({"CONFIG", "GET", name});
    if (found.refused) return {.refusal = refusal_of("CONFIG GET", found)};
    if (found.parts.size() == 2) settings.emplace(found.parts[0].text, found.parts[1].text);
  }
  return {.value = std::move(settings)};
}

/// Tries commands, and keeps what each was refused for.
class rights {
 public:
  explicit rights(server_session& server) : server_{server} {}

  /// The server's answer, unless the command is what it refuses.
  answer tried(needed const by, std::string_view const command,
               std::initializer_list<std::string_view> const words) {
    auto how = server_.try_to_ask(words);
    note(by, command, how);
    return how;
  }

  void note(needed const by, std::string_view const command, answer const& how) {
    right_attempt one{.rule = fmt::format("+{}", command), .by = by};
    if (how.refused && how.text.starts_with("NOPERM")) {
      auto const has = [&how](char const* const words) { return how.text.find(words) != std::string::npos; };
      // "… to run the 'get' command", "… to access one of the keys used as arguments", "… a channel"
      if (!has("to run the") && has("channel")) {
        one.rule = "&holdfast_inbox:*";
        one.by = needed::for_messages;
      } else if (!has("to run the") && has("key")) {
        one.rule = "~holdfast_*";
      }
      one.refusal = how.text;
    } else if (how.hung_up || (how.refused && how.text.find("unknown command") != std::string::npos)) {
      one.refusal = how.text;
    }
    attempts_.push_back(std::move(one));
  }

  /// Whether a lock of this name can be touched, without touching it.
  void try_name(std::string_view const lock) {
    auto const how = server_.try_to_ask({"ZREM", lock, server_.names().lock});
    auto const refused =
        how.refused && how.text.starts_with("NOPERM") && how.text.find("to run the") == std::string::npos;
    attempts_.push_back({.rule = fmt::format("~{}", lock),
                         .refusal = refused ? how.text : std::string{},
                         .by = needed::always});
  }

  [[nodiscard]] std::vector<right_attempt> take() { return std::move(attempts_); }

 private:
  server_session& server_;
  std::vector<right_attempt> attempts_{};
};

/// Fills in rights, scripts, messages and writing.
void try_all(server_session& server, std::string_view const lock, server_facts& facts) {
  auto const& names = server.names();
  rights may{server};
  auto const always = needed::always;
  may.tried(always, "ping", {"PING"});
  auto const written = may.tried(always, "set", {"SET", names.counter, "0", "PX", "30000"});
  if (written.refused) {
    facts.writes.refusal = written.text;
  } else {
    facts.writes.value = true;
  }
  // None of these has an effect: XX adds nothing, a hash's values come in pairs, and the key holds text.
  may.tried(always, "zadd", {"ZADD", names.queue, "XX", "0", "x"});
  auto const hash = may.tried(always, "hset", {"HSET", names.record, "x", "0", "odd"});
  if (written.refused) {
    may.note(always, "hsetnx", hash);  // it can't be tried without an effect; rights to both come together
  } else {
    may.tried(always, "hsetnx", {"HSETNX", names.counter, "x", "0"});
  }
  may.tried(always, "get", {"GET", names.counter});
  may.tried(always, "exists", {"EXISTS", names.queue});
  may.tried(always, "type", {"TYPE", names.counter});
  may.tried(always, "pttl", {"PTTL", names.counter});
  may.tried(always, "pexpire", {"PEXPIRE", names.counter, "30000"});
  may.tried(always, "zcard", {"ZCARD", names.queue});
  may.tried(always, "zrange", {"ZRANGE", names.queue, "0", "0"});
  may.tried(always, "zrank", {"ZRANK", names.queue, "x"});
  may.tried(always, "zrem", {"ZREM", names.queue, "x"});
  may.tried(always, "zpopmin", {"ZPOPMIN", names.queue, "0"});
  may.tried(always, "zscore", {"ZSCORE", names.queue, "x"});
  may.tried(always, "hgetall", {"HGETALL", names.record});
  may.tried(always, "time", {"TIME"});
  may.tried(always, "del", {"DEL", names.counter});
  may.tried(always, "eval", {"EVAL", "return 1", "0"});
  may.tried(always, "evalsha", {"EVALSHA", "0000000000000000000000000000000000000000", "0"});
  if (!lock.empty()) may.try_name(lock);
  may.tried(needed::for_messages, "publish", {"PUBLISH", names.channel, "nobody hears this"});
  if (facts.part_of == deployment_kind::cluster) {
    auto const told = server.try_to_ask({"SPUBLISH", names.sharded_channel, "nobody hears this"});
    facts.shards_messages = told.text.find("unknown command") == std::string::npos;
    if (facts.shards_messages) may.note(needed::for_messages, "spublish", told);
  }
  may.tried(needed::for_replicas, "wait", {"WAIT", "0", "1"});
  may.tried(needed::for_tools, "getrange", {"GETRANGE", names.counter, "0", "0"});
  may.tried(needed::for_tools, "scan", {"SCAN", "0", "COUNT", "1"});

  auto const script = server.run_script();
  if (script.refused) {
    facts.scripts.refusal = script.text;
  } else {
    facts.scripts.value = true;
  }

  auto const message = server.message_to_itself();
  using outcome = delivery::outcome;
  auto const refused = message.how == outcome::not_subscribed || message.how == outcome::not_published;
  answer const how{.refused = refused, .text = message.words};
  if (message.how == outcome::not_subscribed) may.note(needed::for_messages, "subscribe", how);
  if (refused) {
    facts.messages.refusal = message.words;
  } else {
    facts.messages.value = message.how == outcome::received;
  }
  facts.rights = may.take();
}

/// What TIME said, and when that was here.
struct time_sample {
  microseconds here{};
  microseconds there{};
  microseconds round_trip = microseconds::max();
};

/// The best of several: the shorter the round trip, the less doubt.
known<time_sample> sample_time(server_session& server) {
  time_sample best;
  for (int i = 0; i < 20; ++i) {
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

/// What this machine's calendar said at a time of the boot clock.
microseconds wall_time_at(microseconds const here) {
  auto const now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<microseconds>(now) - since(here);
}

/// The second sample, long enough after the first to tell 1 % from the time that answers take.
known<clock_facts> compare_clocks(server_session& server, known<time_sample> const& first) {
  if (!first.value) return {.refusal = first.refusal};
  auto const& before = *first.value;
  auto const long_enough = std::clamp<microseconds>(before.round_trip * 400, 1500ms, 5s);
  auto const passed = since(before.here);
  if (passed < long_enough) std::this_thread::sleep_for(long_enough - passed);
  auto const second = sample_time(server);
  if (!second.value) return {.refusal = second.refusal};
  auto const& after = *second.value;
  return {.value = clock_facts{.ours = after.here - before.here,
                               .server = after.there - before.there,
                               .doubt = (before.round_trip + after.round_trip) / 2,
                               .ahead = after.there - wall_time_at(after.here)}};
}

known<key_facts> sample_keys(server_session& server) {
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
      if (key.text.starts_with("holdfast_token:")) ++facts.counters;
      if (key.text.starts_with("holdfast_queue:")) ++facts.queues;
      if (key.text.starts_with("holdfast_client:")) ++facts.clients;
    }
    cursor = found.parts[0].text;
    if (cursor == "0") break;
  }
  return {.value = facts};
}

}  // namespace

std::string refusal_of(std::string_view const what, answer const& how) {
  return how.text.starts_with("NOPERM") ? fmt::format("no right to {} ({})", what, how.text)
                                        : fmt::format("{}: {}", what, how.text);
}

known<info_text> read_info(server_session& server) {
  auto const info = server.try_to_ask({"INFO"});
  if (info.refused) return {.refusal = refusal_of("INFO", info)};
  return {.value = info_text{info.text}};
}

server_facts examine(server_session& server, std::string_view const lock, deployment_kind const part_of) {
  // By its words, a server that is busy or loading is there, and of no use.
  auto const pong = server.ask({"PING"});
  if (pong.refused && !pong.text.starts_with("NOPERM")) {
    throw error{errc::refused, fmt::format("{}: {}", server.url(), pong.text)};
  }
  server_facts facts{.part_of = part_of,
                     .url = part_of == deployment_kind::single ? server.url() : std::string{},
                     .line = server.line(),
                     .user = server.user(),
                     .lock = std::string{lock}};
  facts.pings = measure_pings(server);
  auto const clock_before = sample_time(server);
  facts.info = read_info(server);
  facts.config = read_config(server);
  try_all(server, lock, facts);
  facts.keys = sample_keys(server);
  facts.clock = compare_clocks(server, clock_before);
  return facts;
}

}  // namespace holdfast::cli
