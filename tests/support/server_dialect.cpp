#include "server_dialect.hpp"

#include "resp/command.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace holdfast::test {
namespace {

using scripting::dialect;

std::string command_of(std::vector<std::string> const& words) {
  std::vector<std::string_view> const views{words.begin(), words.end()};
  std::string bytes;
  resp::append_command(bytes, views);
  return bytes;
}

fate run_in_place(std::string script, std::vector<std::string> keys, std::vector<std::string> arguments) {
  std::vector<std::string> words{"EVAL", std::move(script), std::to_string(keys.size())};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return fate::rewrite(command_of(words));
}

/// As a reply of the server, so that it is one inside a transaction, too.
fate refuse_in_place(std::string text) {
  return run_in_place("return redis.error_reply(ARGV[1])", {}, {std::move(text)});
}

constexpr std::string_view out_of_memory{"OOM command not allowed when used memory > 'maxmemory'."};

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

bool is_spoken(dialect native, std::string_view command) {
  switch (native) {
    case dialect::redis:
      return command == "DELEX";
    case dialect::valkey:
      return command == "DELIFEQ";
    case dialect::tair:
      return command == "CAD" || command == "CAS";
    case dialect::none:
      break;
  }
  return false;
}

bool is_some_native(std::string_view command) {
  return command == "DELEX" || command == "DELIFEQ" || command == "CAD" || command == "CAS";
}

/// The commands of other names are asked about, too: the module's, which isn't there.
fate list_commands(request const& asked, dialect native) {
  std::vector<std::string> known;
  for (std::size_t i = 2; i < asked.words.size(); ++i)
    known.push_back(is_spoken(native, upper(asked.words[i])) ? asked.words[i] : "");
  return run_in_place(
      "local all = {} for i, name in ipairs(ARGV) do all[i] = name ~= '' and {name, 3, {}, 1, 1, 1} end "
      "return all",
      {}, std::move(known));
}

constexpr auto delete_script = R"(
local found = redis.pcall('GET', KEYS[1])
if type(found) == 'table' then return redis.error_reply(ARGV[2]) end
if not found then return tonumber(ARGV[3]) end
if found ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1]))";

fate delete_if(std::string const& key, std::string const& value, dialect native) {
  auto const* const wrong_type = native == dialect::redis
                                     ? "ERR Key should be of string type if conditions are specified"
                                     : "WRONGTYPE Operation against a key holding the wrong kind of value";
  return run_in_place(delete_script, {key}, {value, wrong_type, native == dialect::tair ? "-1" : "0"});
}

constexpr auto set_script = R"(
local found = redis.call('GET', KEYS[1])
local tair = ARGV[4] == 'tair'
if not found then return tair and -1 or false end
if found ~= ARGV[1] then return tair and 0 or false end
if ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[2]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return tair and 1 or redis.status_reply('OK'))";

fate set_if(std::string const& key, std::string const& expected, std::string const& value,
            std::string const& ttl_ms, dialect native) {
  return run_in_place(set_script, {key}, {expected, value, ttl_ms, native == dialect::tair ? "tair" : ""});
}

fate carry_out(request const& received, server_facts_shown const& facts) {
  auto const& words = received.words;
  auto const native = facts.speaks;
  auto const unknown = [&received] {
    return refuse_in_place("ERR unknown command '" + received.words[0] + "'");
  };
  auto const refused = [&received] {
    return refuse_in_place("NOPERM User default has no permissions to run the '" + received.words[0] +
                           "' command");
  };
  if (received.name == "COMMAND") return facts.listed ? list_commands(received, native) : refused();
  if ((received.name == "EVAL" || received.name == "EVALSHA") && !facts.scripts) {
    return refuse_in_place("NOPERM User default has no permissions to run the '" +
                           std::string{received.name == "EVAL" ? "eval" : "evalsha"} + "' command");
  }
  if (is_some_native(received.name)) {
    if (!is_spoken(native, received.name)) return unknown();
    if (!facts.allowed) return refused();
    if (native == dialect::tair && facts.at_maxmemory) return refuse_in_place(std::string{out_of_memory});
    if (received.name == "CAS" && words.size() >= 4)
      return set_if(words[1], words[2], words[3], words.size() == 6 ? words[5] : "", native);
    return delete_if(words[1], words.back(), native);
  }
  if (received.name == "SET" && words.size() > 3 && words[3] == "IFEQ") {
    if (native == dialect::none || native == dialect::tair) return refuse_in_place("ERR syntax error");
    if (!facts.allowed) return refused();
    if (facts.at_maxmemory) return refuse_in_place(std::string{out_of_memory});
    return set_if(words[1], words[4], words[2], words.size() == 7 ? words[6] : "", native);
  }
  return fate::pass();
}

}  // namespace

std::function<fate(request const&)> speaking(std::shared_ptr<server_facts_shown const> facts) {
  return [facts = std::move(facts)](request const& received) { return carry_out(received, *facts); };
}

}  // namespace holdfast::test
