// What the server lets us do, by trying it.
#include "doctor_facts.hpp"

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

using needed = right_attempt::needed;

/// A number that no connection has.
constexpr std::string_view no_connection{"9223372036854775807"};

/// Tries commands, and keeps what each was refused for.
class rights {
 public:
  explicit rights(server_session& server) : server_{server} {}

  /// The server's answer, unless the command is what it refuses.
  answer tried(needed const by, std::string_view const command,
               std::initializer_list<std::string_view> const words) {
    auto how = server_.try_to_ask(words);
    note(by, command, how, words.size() > 1 ? words.begin()[1] : std::string_view{});
    return how;
  }

  /// `name`: of the key or channel that it was about.
  void note(needed const by, std::string_view const command, answer const& how, std::string_view const name) {
    right_attempt one{.rule = std::string{"+"}.append(command), .by = by};
    if (how.refused && how.text.starts_with("NOPERM")) {
      auto const has = [&how](char const* const words) { return how.text.find(words) != std::string::npos; };
      auto const& rules = server_.rules();
      // "… to run the 'get' command", "… to access one of the keys used as arguments", "… a channel"
      if (!has("to run the") && has("channel")) {
        one.rule = name == server_.names().hints ? rules.hints : rules.channels;
        if (by == needed::always) one.by = needed::for_messages;
      } else if (!has("to run the") && has("key")) {
        one.rule = name == server_.names().record ? rules.records : rules.keys;
      } else if (!has("to run the") && has("database")) {
        // Valkey 9.1: "to access database". A list, as db=3, would replace the one that the user has.
        one.rule = "alldbs";
      }
      one.refusal = how.text;
    } else if (how.hung_up || (how.refused && (how.text.find("unknown command") != std::string::npos ||
                                               how.text.find("nknown subcommand") != std::string::npos))) {
      one.refusal = how.text;
    }
    attempts_.push_back(std::move(one));
  }

  /// Whether a lock of this name can be touched, without touching it.
  void try_name(std::string_view const lock) {
    auto const& prefix = server_.scope().prefix;
    auto const covered = prefix.empty() || lock.starts_with(prefix);
    auto const one_rule = fmt::format("~{0}* ~{{{0}*", lock);
    for (auto const& key : {std::string{lock}, server_.beside(lock)}) {
      auto const how = server_.try_to_ask({"ZREM", key, server_.names().lock});
      auto const refused =
          how.refused && how.text.starts_with("NOPERM") && how.text.find("to run the") == std::string::npos;
      attempts_.push_back({.rule = covered ? server_.rules().keys : one_rule,
                           .refusal = refused ? how.text : std::string{},
                           .by = needed::always});
    }
  }

  [[nodiscard]] std::vector<right_attempt> take() { return std::move(attempts_); }

 private:
  server_session& server_;
  std::vector<right_attempt> attempts_{};
};

/// Whether messages can go to a slot alone, and whether it has any.
bool try_shards(server_session& server, rights& may, server_facts& facts) {
  auto const told = server.try_to_ask({"SPUBLISH", server.names().inbox, "nobody hears this"});
  facts.shards_messages = told.text.find("unknown command") == std::string::npos;
  if (facts.shards_messages) may.note(needed::for_messages, "spublish", told, server.names().inbox);
  return !told.refused;
}

void try_messages(server_session& server, message_reach const reach, rights& may, known<bool>& to) {
  auto const message = server.message_to_itself(reach);
  using outcome = delivery::outcome;
  auto const refused = message.how == outcome::not_subscribed || message.how == outcome::not_published;
  answer const how{.refused = refused, .text = message.words};
  if (message.how == outcome::not_subscribed) {
    may.note(needed::for_messages, reach == message_reach::slot ? "ssubscribe" : "subscribe", how,
             server.names().inbox);
  }
  to = refused ? known<bool>{.refusal = message.words}
               : known<bool>{.value = message.how == outcome::received};
}

/// What a user for a prefix of names could do to others.
std::vector<std::string> beyond(server_session& server) {
  std::vector<std::string> all;
  auto const allowed = [&server](std::initializer_list<std::string_view> const words) {
    auto const how = server.try_to_ask(words);
    return !how.hung_up && !(how.refused && how.text.starts_with("NOPERM"));
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

void try_all(server_session& server, server_facts& facts) {
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
    // It can't be tried without an effect; rights to both come together.
    may.note(always, "hsetnx", hash, names.record);
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
  if (!facts.lock.empty()) may.try_name(facts.lock);
  may.tried(needed::for_messages, "publish", {"PUBLISH", names.inbox, "nobody hears this"});
  may.tried(needed::for_messages, "unsubscribe", {"UNSUBSCRIBE", names.inbox});
  may.tried(needed::to_be_asked, "publish", {"PUBLISH", names.hints, "nobody hears this"});
  auto const has_slots = facts.part_of == deployment_kind::cluster && try_shards(server, may, facts);
  may.tried(needed::for_order, "client|info", {"CLIENT", "INFO"});
  may.tried(needed::for_order, "client|list", {"CLIENT", "LIST", "ID", no_connection});
  may.tried(needed::for_order, "client|kill", {"CLIENT", "KILL", "ID", no_connection, "ADDR", "nowhere:1"});
  may.tried(needed::for_replicas, "wait", {"WAIT", "0", "1"});
  may.tried(needed::for_tools, "getrange", {"GETRANGE", names.counter, "0", "0"});
  may.tried(needed::for_tools, "scan", {"SCAN", "0", "COUNT", "1"});

  auto const script = server.run_script();
  if (script.refused) {
    facts.scripts.refusal = script.text;
  } else {
    facts.scripts.value = true;
  }

  try_messages(server, message_reach::everywhere, may, facts.messages);
  if (has_slots && facts.messages.value == true)
    try_messages(server, message_reach::slot, may, facts.messages);
  facts.rights = may.take();
  if (!facts.prefix.empty()) facts.beyond = beyond(server);
}

}  // namespace holdfast::cli
