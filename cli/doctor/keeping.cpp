// Checks whether the server keeps what it has acknowledged, and its connections.
#include "doctor/checks.hpp"

#include "base/whole_number.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::cli {
namespace {

std::string config_refusal(server_facts const& facts) {
  return facts.config.refusal.empty() ? "the server doesn't have this setting" : facts.config.refusal;
}

std::string_view yes(std::string_view const flag) { return flag == "1" ? "on" : "off"; }

struct replica_state {
  std::int64_t count = 0;
  std::int64_t offline = 0;
  std::int64_t bytes_behind = 0;    ///< the maximum
  std::int64_t seconds_silent = 0;  ///< the maximum
};

replica_state replicas_of(info_text const& info) {
  replica_state all{.count = info.number("connected_slaves").value_or(0)};
  auto const written = info.number("master_repl_offset").value_or(0);
  for (std::int64_t i = 0; i < all.count; ++i) {
    auto const replica = info.text(fmt::format("slave{}", i));
    if (value_in(replica, "state") != "online") ++all.offline;
    auto const received = whole_number(value_in(replica, "offset")).value_or(0);
    all.bytes_behind = std::max(all.bytes_behind, written - received);
    all.seconds_silent = std::max(all.seconds_silent, whole_number(value_in(replica, "lag")).value_or(0));
  }
  return all;
}

}  // namespace

std::optional<std::string_view> setting(server_facts const& facts, std::string_view const name) {
  if (!facts.config.value) return std::nullopt;
  auto const found = facts.config.value->find(name);
  if (found == facts.config.value->end()) return std::nullopt;
  return found->second;
}

std::optional<std::int64_t> number_of(server_facts const& facts, std::string_view const name) {
  auto const text = setting(facts, name);
  return text ? whole_number(*text) : std::nullopt;
}

bool keeps_all(server_facts const& facts) {
  return facts.info.value && facts.info.value->text("aof_enabled") == "1" &&
         setting(facts, "appendfsync") == "always";
}

finding check_eviction(server_facts const& facts) {
  std::string_view policy;
  if (facts.info.value) policy = facts.info.value->text("maxmemory_policy");
  if (policy.empty()) policy = setting(facts, "maxmemory-policy").value_or("");
  if (policy.empty()) {
    return unknown("eviction", facts.info.value ? config_refusal(facts) : facts.info.refusal);
  }
  finding result{.check = "eviction", .found = fmt::format("maxmemory-policy {}", policy)};
  if (policy == "noeviction") return result;
  result.level = severity::problem;
  result.why = "at maxmemory the server deletes keys to make room: a held lock is then free for another";
  result.advice =
      "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf; or a server of its own";
  if (facts.info.value && facts.info.value->number("maxmemory") == 0) {
    result.level = severity::warning;
    result.found += ", without maxmemory";
    result.why = "nothing is evicted as long as maxmemory is 0; once it is set, a held lock may be deleted";
  }
  return result;
}

finding check_memory(server_facts const& facts) {
  if (!facts.info.value) return unknown("memory", facts.info.refusal);
  auto const used = facts.info.value->number("used_memory");
  auto const most = facts.info.value->number("maxmemory");
  if (!used || !most) return unknown("memory", "INFO has no maxmemory");
  constexpr double mib = 1024.0 * 1024.0;
  if (*most == 0) {
    return {.check = "memory",
            .found = fmt::format("{:.1f} MiB used, no limit set", static_cast<double>(*used) / mib)};
  }
  auto const percent = 100.0 * static_cast<double>(*used) / static_cast<double>(*most);
  finding result{
      .check = "memory",
      .found = fmt::format("{:.1f} of {:.1f} MiB used ({:.0f} %)", static_cast<double>(*used) / mib,
                           static_cast<double>(*most) / mib, percent)};
  if (percent < 90) return result;
  result.level = severity::warning;
  result.why = "at its limit the server refuses to take locks (OOM), or evicts them";
  result.advice = "free memory, or raise maxmemory";
  return result;
}

finding check_persistence(server_facts const& facts) {
  if (!facts.info.value) return unknown("persistence", facts.info.refusal);
  auto const& info = *facts.info.value;
  if (!info.has("aof_enabled")) return unknown("persistence", "INFO says nothing of it");
  auto const aof = info.text("aof_enabled") == "1";
  auto const save = setting(facts, "save");
  auto const fsync = setting(facts, "appendfsync");
  finding result{.check = "persistence",
                 .found = fmt::format("AOF {}{}, RDB {}", yes(info.text("aof_enabled")),
                                      aof ? fmt::format(" (appendfsync {})", fsync.value_or("unknown")) : "",
                                      !save           ? "unknown"
                                      : save->empty() ? "off"
                                                      : "on")};
  auto const failed = [&info](char const* const field) {
    return info.has(field) && info.text(field) != "ok";
  };
  if (failed("rdb_last_bgsave_status") || failed("aof_last_write_status") ||
      failed("aof_last_bgrewrite_status")) {
    result.level = severity::problem;
    result.found += "; the last save failed";
    result.why = "a server that can't save may refuse all writes (MISCONF), and loses its locks at a restart";
    result.advice = "look at the server's log and disk, then BGSAVE or BGREWRITEAOF";
  } else if (facts.part_of == probe::deployment_kind::quorum && !keeps_all(facts)) {
    result.level = aof ? severity::advice : severity::warning;
    result.why =
        "after a restart it grants again what it forgot, so that two holders may have a majority: it must "
        "stay "
        "away from clients for the longest ttl before it comes back";
    result.advice =
        "keep to that (docs/quorum.md), or CONFIG SET appendonly yes and appendfsync always: then it may "
        "come "
        "back at once";
  } else if (!aof) {
    result.level = severity::warning;
    result.why =
        "a restart forgets the locks taken since the last save, or all locks: others can take them while "
        "their holders, until the next renewal, go on. Tokens still grow";
    result.advice =
        "CONFIG SET appendonly yes; and let nothing restart the server sooner than the longest ttl";
  } else if (fsync != "always") {
    result.level = severity::advice;
    result.why = "a crash of the machine forgets the locks of the last second or more (with `no`: some 30 s)";
    result.advice =
        "appendfsync always if that matters more than speed; else let a restart take longer than "
        "the longest ttl";
  }
  return result;
}

finding check_replicas(server_facts const& facts) {
  if (!facts.info.value) return unknown("replicas", facts.info.refusal);
  auto const state = replicas_of(*facts.info.value);
  if (state.count == 0) return {.check = "replicas", .found = "none"};
  auto const least = number_of(facts, "min-replicas-to-write");
  auto const lag = number_of(facts, "min-replicas-max-lag");
  auto const limit = !least       ? std::string{"unknown"}
                     : least != 0 ? fmt::format("{} (max-lag {} s)", *least, lag.value_or(0))
                                  : std::string{"0"};
  finding result{
      .check = "replicas",
      .found = fmt::format("{}, {} of them not online; at most {} bytes behind, last heard of {} s "
                           "ago; min-replicas-to-write {}",
                           state.count, state.offline, state.bytes_behind, state.seconds_silent, limit)};
  constexpr std::int64_t far_behind = 1 << 20;
  constexpr std::int64_t long_silent = 10;
  if (state.offline > 0 || state.bytes_behind > far_behind || state.seconds_silent > long_silent) {
    result.level = severity::warning;
    result.why = "a failover to a replica that is behind loses the locks that it hasn't heard of";
    result.advice = "find out what holds the replica back: its network, its disk, or the output buffer limit";
  } else if (least && *least != 0 && lag == 0) {
    result.level = severity::advice;
    result.why = "with a max-lag of 0 the server goes on without any replica: min-replicas-to-write is off";
    result.advice = "CONFIG SET min-replicas-max-lag 10";
  } else if (least.value_or(0) == 0) {
    result.level = severity::advice;
    result.why =
        "replication is asynchronous: a failover loses the last locks, and a master that was cut off "
        "goes on giving them out";
    result.advice =
        "use the lock option `replicas`, pass fencing tokens along, and CONFIG SET "
        "min-replicas-to-write 1 and min-replicas-max-lag 10";
  }
  return result;
}

finding check_idle_timeout(server_facts const& facts) {
  auto const seconds = number_of(facts, "timeout");
  if (!seconds) return unknown("idle timeout", config_refusal(facts));
  if (*seconds == 0) return {.check = "idle timeout", .found = "none: idle connections stay open"};
  finding result{.check = "idle timeout",
                 .found = fmt::format("idle connections are closed after {} s", *seconds)};
  if (*seconds >= 60) return result;
  result.level = severity::advice;
  result.why =
      "the next lock after an idle time connects anew, which costs some round trips. Inboxes are "
      "not affected: the server spares subscribers";
  result.advice = "CONFIG SET timeout 0, or 300";
  return result;
}

finding check_output_buffer(server_facts const& facts) {
  auto const limits = setting(facts, "client-output-buffer-limit");
  if (!limits) return unknown("output buffer", config_refusal(facts));
  auto const begin = limits->find("pubsub ");
  auto const rest = begin == std::string_view::npos ? std::string_view{} : limits->substr(begin + 7);
  auto const hard = whole_number(rest.substr(0, rest.find(' ')));
  if (!hard) return unknown("output buffer", "client-output-buffer-limit has no pubsub part");
  finding result{.check = "output buffer",
                 .found = *hard == 0 ? std::string{"no limit for subscribers"}
                                     : fmt::format("subscribers may be {} KiB behind", *hard / 1024)};
  if (*hard == 0 || *hard >= (1 << 20)) return result;
  result.level = severity::warning;
  result.why = "a process that is busy for a moment loses its inbox, and with it wake-ups";
  result.advice = "CONFIG SET client-output-buffer-limit \"pubsub 32mb 8mb 60\"";
  return result;
}

}  // namespace holdfast::cli
