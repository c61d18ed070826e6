// Finds out the rights of this user by trying commands.
#include "doctor/facts.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

using needed = right_attempt::needed;

/// A client id that no connection has.
constexpr std::string_view no_connection{"9223372036854775807"};

/// Tries commands and records the refusals.
class rights {
 public:
  explicit rights(probe::server_session& server) : server_{server} {}

  /// Sends a command and records whether the server refused it.
  probe::reply run(needed const by, std::string_view const command,
                   std::initializer_list<std::string_view> const words) {
    auto reply = server_.try_to_ask(words);
    note(by, command, reply, words.size() > 1 ? words.begin()[1] : std::string_view{});
    return reply;
  }

  /// `name`: the key or channel that the command names.
  void note(needed const by, std::string_view const command, probe::reply const& reply,
            std::string_view const name) {
    right_attempt attempt{.rule = std::string{"+"}.append(command), .by = by};
    if (reply.refused && reply.text.starts_with("NOPERM")) {
      auto const has = [&reply](char const* const words) {
        return reply.text.find(words) != std::string::npos;
      };
      auto const& rules = server_.rules();
      // "… to run the 'get' command", "… to access one of the keys used as arguments", "… a channel"
      if (!has("to run the") && has("channel")) {
        attempt.rule = name == server_.names().hints ? rules.hints : rules.channels;
        if (by == needed::always) attempt.by = needed::for_messages;
      } else if (!has("to run the") && has("key")) {
        attempt.rule = name == server_.names().record ? rules.records : rules.keys;
      } else if (!has("to run the") && has("database")) {
        // Valkey 9.1: "to access database". A list such as db=3 would replace the user's present one.
        attempt.rule = "alldbs";
      }
      attempt.refusal = reply.text;
    } else if (reply.hung_up ||
               (reply.refused && (reply.text.find("unknown command") != std::string::npos ||
                                  reply.text.find("nknown subcommand") != std::string::npos))) {
      attempt.refusal = reply.text;
    }
    attempts_.push_back(std::move(attempt));
  }

  /// Tries MULTI and EXEC; in this order only if both are allowed, since nothing else ends a transaction.
  void try_transaction() {
    auto const by = needed::for_free_locks;
    auto const end = run(by, "exec", {"EXEC"});
    if (end.hung_up || (end.refused && !end.text.starts_with("ERR EXEC without"))) return;
    if (!run(by, "multi", {"MULTI"}).refused) (void)server_.try_to_ask({"EXEC"});
  }

  /// Tries whether the lock `lock` may be touched, without an effect on it.
  void try_name(std::string_view const lock) {
    auto const& prefix = server_.scope().prefix;
    auto const covered = prefix.empty() || lock.starts_with(prefix);
    auto const lock_rule = fmt::format("~{0}* ~{{{0}*", lock);
    for (auto const& key : {std::string{lock}, server_.beside(lock)}) {
      auto const reply = server_.try_to_ask({"ZREM", key, server_.names().lock});
      auto const refused = reply.refused && reply.text.starts_with("NOPERM") &&
                           reply.text.find("to run the") == std::string::npos;
      attempts_.push_back({.rule = covered ? server_.rules().keys : lock_rule,
                           .refusal = refused ? reply.text : std::string{},
                           .by = needed::always});
    }
  }

  [[nodiscard]] std::vector<right_attempt> take() { return std::move(attempts_); }

 private:
  probe::server_session& server_;
  std::vector<right_attempt> attempts_{};
};

/// Tries sharded pub/sub: whether the server has it, and (returned) whether it accepts a message for a slot.
bool try_shards(probe::server_session& server, rights& attempts, server_facts& facts) {
  auto const reply = server.try_to_ask({"SPUBLISH", server.names().inbox, "nobody hears this"});
  facts.shards_messages = reply.text.find("unknown command") == std::string::npos;
  if (facts.shards_messages) attempts.note(needed::for_messages, "spublish", reply, server.names().inbox);
  return !reply.refused;
}

void try_messages(probe::server_session& server, probe::message_reach const reach, rights& attempts,
                  known<bool>& result) {
  auto const message = server.message_to_itself(reach);
  using outcome = probe::delivery::outcome;
  auto const refused = message.result == outcome::not_subscribed || message.result == outcome::not_published;
  probe::reply const refusal{.refused = refused, .text = message.text};
  if (message.result == outcome::not_subscribed) {
    attempts.note(needed::for_messages, reach == probe::message_reach::slot ? "ssubscribe" : "subscribe",
                  refusal, server.names().inbox);
  }
  result = refused ? known<bool>{.refusal = message.text}
                   : known<bool>{.value = message.result == outcome::received};
}

/// Finds out what the server has beside scripts, and tries it on a lock that nobody holds.
void try_compare(probe::server_session& server, server_facts& facts) {
  auto const there = [](probe::reply const& info, std::size_t const index) {
    return index < info.parts.size() && !info.parts[index].parts.empty();
  };
  auto const info =
      server.try_to_ask({"COMMAND", "INFO", "DELEX", "DELIFEQ", "CAD", "HOLDFAST.EXCLUSIVE.RENEW",
                         "HOLDFAST.TAKE", "HOLDFAST.PERMITS.RENEW", "HOLDFAST.TAKE_PERMITS"});
  if (info.refused) {
    facts.compare.refusal = refusal_of("COMMAND INFO", info);
    return;
  }
  auto const& lock = server.names().lock;
  probe::reply tried;
  auto& way = facts.compare.value.emplace();
  auto const add = [&](std::string_view const found, std::string_view const right,
                       probe::reply const& reply) {
    way += (way.empty() ? "" : "; ") + std::string{found};
    if (!facts.rule.empty()) facts.rule += " " + std::string{right};
    if (reply.refused && facts.compare_refusal.empty()) facts.compare_refusal = reply.text;
  };
  if (there(info, 3)) {
    // A rule with a command that the server doesn't know would be refused; a cluster doesn't have the brief
    // ones.
    std::string brief{there(info, 4) ? "+holdfast.take +holdfast.give " : ""};
    if (there(info, 6))
      brief += "+holdfast.take_shared +holdfast.give_shared +holdfast.take_permits +holdfast.give_permits ";
    // A module of an earlier version has none for these.
    std::string const others{
        there(info, 5) ? " +holdfast.shared.acquire +holdfast.shared.release +holdfast.shared.renew "
                         "+holdfast.permits.acquire +holdfast.permits.release +holdfast.permits.renew"
                       : ""};
    add("the module holdfast",
        brief +
            "+holdfast.exclusive.acquire +holdfast.exclusive.release +holdfast.exclusive.renew "
            "+holdfast.exclusive.pass +holdfast.exclusive.abandon +holdfast.exclusive.release_unwanted "
            "+holdfast.fair.acquire +holdfast.fair.pass" +
            others,
        server.try_to_ask({"HOLDFAST.EXCLUSIVE.RENEW", "1", lock, "10", "nobody"}));
  }
  if (there(info, 1)) {
    add("DELIFEQ and SET with IFEQ", "+delifeq", server.try_to_ask({"DELIFEQ", lock, "nobody"}));
  } else if (there(info, 0)) {
    add("DELEX and SET with IFEQ", "+delex", server.try_to_ask({"DELEX", lock, "IFEQ", "nobody"}));
  } else if (there(info, 2)) {
    add("CAD and CAS", "+cad +cas", server.try_to_ask({"CAD", lock, "nobody"}));
  }
}

/// The rights by which a user with a prefix could affect other names.
std::vector<std::string> beyond(probe::server_session& server) {
  std::vector<std::string> all;
  auto const allowed = [&server](std::initializer_list<std::string_view> const words) {
    auto const reply = server.try_to_ask(words);
    return !reply.hung_up && !(reply.refused && reply.text.starts_with("NOPERM"));
  };
  auto const& stranger = server.names().stranger;
  if (allowed({"EXISTS", stranger})) all.emplace_back("touch other names");
  if (allowed({"PUBLISH", stranger, "nobody hears this"})) all.emplace_back("publish to others");
  if (allowed({"SCAN", "0", "COUNT", "1"})) all.emplace_back("find other names (SCAN)");
  if (allowed({"PUBSUB", "CHANNELS", stranger})) all.emplace_back("find other channels (PUBSUB)");
  if (allowed({"CLIENT", "LIST", "ID", "0"})) all.emplace_back("look at other connections (CLIENT LIST)");
  return all;
}

}  // namespace

void try_all(probe::server_session& server, server_facts& facts) {
  auto const& names = server.names();
  rights attempts{server};
  auto const always = needed::always;
  attempts.run(always, "ping", {"PING"});
  auto const written = attempts.run(always, "set", {"SET", names.counter, "0", "PX", "30000"});
  if (written.refused) {
    facts.writes.refusal = written.text;
  } else {
    facts.writes.value = true;
  }
  // None of these has an effect: XX adds nothing, HSET needs pairs, and the key holds text.
  attempts.run(always, "zadd", {"ZADD", names.queue, "XX", "0", "x"});
  auto const hash = attempts.run(always, "hset", {"HSET", names.record, "x", "0", "odd"});
  if (written.refused) {
    // HSETNX can't be tried without an effect; the rights to HSET and HSETNX come together.
    attempts.note(always, "hsetnx", hash, names.record);
  } else {
    attempts.run(always, "hsetnx", {"HSETNX", names.counter, "x", "0"});
  }
  attempts.run(always, "get", {"GET", names.counter});
  attempts.run(always, "exists", {"EXISTS", names.queue});
  attempts.run(always, "type", {"TYPE", names.counter});
  attempts.run(always, "pttl", {"PTTL", names.counter});
  attempts.run(always, "pexpire", {"PEXPIRE", names.counter, "30000"});
  attempts.run(always, "zcard", {"ZCARD", names.queue});
  attempts.run(always, "zcount", {"ZCOUNT", names.queue, "0", "0"});
  attempts.run(always, "zrange", {"ZRANGE", names.queue, "0", "0"});
  attempts.run(always, "zrank", {"ZRANK", names.queue, "x"});
  attempts.run(always, "zrem", {"ZREM", names.queue, "x"});
  attempts.run(always, "zpopmin", {"ZPOPMIN", names.queue, "0"});
  attempts.run(always, "zscore", {"ZSCORE", names.queue, "x"});
  attempts.run(always, "hgetall", {"HGETALL", names.record});
  attempts.run(always, "time", {"TIME"});
  attempts.run(needed::for_free_locks, "incr", {"INCR", names.counter});
  attempts.try_transaction();
  attempts.run(always, "del", {"DEL", names.counter});
  attempts.run(always, "eval", {"EVAL", "return 1", "0"});
  attempts.run(always, "evalsha", {"EVALSHA", "0000000000000000000000000000000000000000", "0"});
  if (!facts.lock.empty()) attempts.try_name(facts.lock);
  attempts.run(needed::for_messages, "publish", {"PUBLISH", names.inbox, "nobody hears this"});
  attempts.run(needed::for_messages, "unsubscribe", {"UNSUBSCRIBE", names.inbox});
  attempts.run(needed::to_be_asked, "publish", {"PUBLISH", names.hints, "nobody hears this"});
  auto const has_slots =
      facts.part_of == probe::deployment_kind::cluster && try_shards(server, attempts, facts);
  attempts.run(needed::for_order, "client|info", {"CLIENT", "INFO"});
  attempts.run(needed::for_order, "client|list", {"CLIENT", "LIST", "ID", no_connection});
  attempts.run(needed::for_order, "client|kill",
               {"CLIENT", "KILL", "ID", no_connection, "ADDR", "nowhere:1"});
  attempts.run(needed::for_replicas, "wait", {"WAIT", "0", "1"});
  attempts.run(needed::for_tools, "getrange", {"GETRANGE", names.counter, "0", "0"});
  attempts.run(needed::for_tools, "scan", {"SCAN", "0", "COUNT", "1"});

  auto const script = server.run_script();
  if (script.refused) {
    facts.scripts.refusal = script.text;
  } else {
    facts.scripts.value = true;
  }

  try_compare(server, facts);
  try_messages(server, probe::message_reach::everywhere, attempts, facts.messages);
  if (has_slots && facts.messages.value == true)
    try_messages(server, probe::message_reach::slot, attempts, facts.messages);
  facts.rights = attempts.take();
  if (!facts.prefix.empty()) facts.beyond = beyond(server);
}

}  // namespace holdfast::cli
