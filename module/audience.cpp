#include "audience.hpp"

#include "calls.hpp"
#include "tokens.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

namespace holdfast::server {

using abi::redis;

namespace {

/// A part of INFO.
class server_facts {
 public:
  server_facts(abi::context* context, char const* section)
      : context_{context}, facts_{redis.get_server_info(context, section)} {}
  ~server_facts() { redis.free_server_info(context_, facts_); }
  server_facts(server_facts const&) = delete;
  server_facts& operator=(server_facts const&) = delete;

  /// Empty: it isn't there.
  [[nodiscard]] std::string_view text(char const* const name) const {
    auto const* const found = redis.server_info_text(facts_, name);
    return found == nullptr ? std::string_view{} : found;
  }

 private:
  abi::context* context_;
  abi::server_info* facts_;
};

using version = std::pair<std::int64_t, std::int64_t>;

/// "7.0.15": 7 and 0.
std::optional<version> version_in(std::string_view const text) {
  auto const dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  auto const rest = text.substr(dot + 1);
  auto const great = parse_number(text.substr(0, dot));
  auto const small = parse_number(rest.substr(0, rest.find('.')));
  return great && small ? std::optional{version{*great, *small}} : std::nullopt;
}

/// Is it one of those whose source was read for decision 81? In another one somebody may begin to listen in a
/// way of which we know nothing.
bool is_understood(abi::context* const context) {
  constexpr version oldest{7, 0};
  constexpr version newest_redis{7, 4};
  constexpr version newest_valkey{8, 0};
  server_facts const facts{context, "server"};
  auto const valkey = facts.text("valkey_version");
  auto const found = version_in(valkey.empty() ? facts.text("redis_version") : valkey);
  return found && *found >= oldest && *found <= (valkey.empty() ? newest_redis : newest_valkey);
}

bool nobody_listens(abi::context* const context) {
  constexpr int hindrances = abi::context_replica | abi::context_cluster | abi::context_append_only |
                             abi::context_loading | abi::context_active_child;
  if ((redis.context_flags(context) & hindrances) != 0) return false;
  server_facts const facts{context, "replication"};
  return facts.text("role") == "master" && facts.text("connected_slaves") == "0" &&
         facts.text("repl_backlog_active") == "0";
}

void somebody_may_come(abi::context* /*context*/, abi::event /*event*/, std::uint64_t /*kind*/,
                       void* /*details*/) {
  listeners.possible = true;
}

void look(abi::context* const context, abi::event /*event*/, std::uint64_t /*kind*/, void* /*details*/) {
  using clock = std::chrono::steady_clock;
  static std::optional<bool> understood;
  static std::optional<clock::time_point> looked_at;
  auto const now = clock::now();
  if (looked_at && now - *looked_at < std::chrono::milliseconds{100}) return;
  looked_at = now;
  count_untold_changes(context);
  if (!understood) understood = is_understood(context);
  listeners.possible = !*understood || !nobody_listens(context);
}

bool hears_all(abi::context* const context) {
  auto const hears = [context](std::uint64_t const id) {
    return redis.subscribe(context, {.id = id, .version = 1}, somebody_may_come) == abi::ok;
  };
  auto const all = {abi::event_role_changed,    abi::event_persistence, abi::event_loading,
                    abi::event_replica_changed, abi::event_fork,        abi::event_config};
  return std::ranges::all_of(all, hears);
}

}  // namespace

/// What is replicated with A and R goes neither into an append-only file nor to replicas: the server counts
/// it, and that is all. It takes a while, so of many the rest is counted by the next look.
void count_untold_changes(abi::context* const context) {
  constexpr auto most_at_once = 1000ULL;
  auto const changes = std::min(listeners.changes_untold, most_at_once);
  listeners.changes_untold -= changes;
  for (auto i = 0ULL; i < changes; ++i) redis.replicate(context, "DEL", "AR");
}

char const* renamed_command(abi::context* const context) {
  for (auto const* const each : {"SET", "PEXPIREAT", "DEL", "ZADD", "ZREM", "HSET", "HDEL"}) {
    if (!knows_command(context, each)) return each;
  }
  return nullptr;
}

void watch_for_listeners(abi::context* const context) {
  auto const has_all = redis.subscribe != nullptr && redis.get_server_info != nullptr &&
                       redis.free_server_info != nullptr && redis.server_info_text != nullptr;
  auto const is_redis_7 = redis.key_exists != nullptr;
  if (!has_all || !is_redis_7 || !hears_all(context)) return;
  redis.subscribe(context, {.id = abi::event_cron, .version = 1}, look);
}

}  // namespace holdfast::server
