#include "script/capabilities.hpp"

#include <algorithm>
#include <array>

#include "resp/command.hpp"
#include "script/replies.hpp"

namespace holdfast::scripting {
namespace {

constexpr std::array<std::string_view, 4> natives{"DELEX", "DELIFEQ", "CAD", "CAS"};
enum native_index : std::size_t { delex_index, delifeq_index, cad_index, cas_index };  // in `natives`

/// One command of COMMAND INFO: {name, arity, flags, first key, last key, step, …}; nil: there is none. One
/// of that name that has its key elsewhere is something else.
bool is_there(resp::reply const& info, std::size_t index) {
  constexpr std::size_t first_key = 3;
  if (!info.is_array() || index >= info.size()) return false;
  auto const& command = info[index];
  return command.is_array() && command.size() > first_key && command[first_key].integer == 1;
}

/// The keys of most of our module's commands are behind their number, which no position tells.
bool is_listed(resp::reply const& info, std::size_t index) {
  return info.is_array() && index < info.size() && info[index].is_array() && info[index].size() != 0;
}

dialect dialect_in(resp::reply const& info) {
  if (is_there(info, delifeq_index)) return dialect::valkey;
  if (is_there(info, delex_index)) return dialect::redis;
  return is_there(info, cad_index) && is_there(info, cas_index) ? dialect::tair : dialect::none;
}

}  // namespace

std::string_view name_of(dialect native) noexcept {
  switch (native) {
    case dialect::redis:
      return "DELEX and SET with IFEQ";
    case dialect::valkey:
      return "DELIFEQ and SET with IFEQ";
    case dialect::tair:
      return "CAD and CAS";
    case dialect::none:
      break;
  }
  return {};
}

bool capabilities::has_module() const noexcept { return std::ranges::find(module, true) != module.end(); }

net::exchange probe_of(script_trial trial) {
  std::vector<std::string_view> words{"COMMAND", "INFO"};
  words.insert(words.end(), natives.begin(), natives.end());
  for (auto const& each : module_commands()) words.push_back(each.command);
  net::exchange probe{.replies = 2};
  resp::append_command(probe.bytes, words);
  resp::append_command(probe.bytes, {"TIME"});
  if (trial == script_trial::wanted) {
    resp::append_command(probe.bytes, {"EVAL", "return 1", "0"});
    ++probe.replies;
  }
  return probe;
}

capabilities read_capabilities(script_trial trial, std::span<resp::reply const> replies) {
  capabilities found;
  if (replies.size() < 2) return found;
  auto const& info = replies[0];
  found.native = dialect_in(info);
  found.native_expiry = found.native != dialect::none;
  for (std::size_t i = 0; i != module_commands().size(); ++i)
    found.module.push_back(is_listed(info, natives.size() + i));
  found.connected_us = microseconds_in(replies[1]);
  found.scripts = trial == script_trial::needed ||
                  (trial == script_trial::wanted && replies.size() > 2 && !replies[2].is_error());
  if (trial == script_trial::wanted && replies.size() > 2 && replies[2].is_error())
    found.no_scripts = replies[2].text;
  return found;
}

}  // namespace holdfast::scripting
