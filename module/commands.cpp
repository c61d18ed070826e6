#include "commands.hpp"

#include "call_words.hpp"
#include "command_table.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::server {

using abi::redis;

namespace {

constexpr char const* since = HOLDFAST_MODULE_VERSION;
constexpr std::string_view prefix = "holdfast.";

/// The commands that were added, as HOLDFAST.VERSION says them.
constinit std::array<bool, commands.size()> added{};
constinit std::array<bool, compare_commands.size()> added_compare{};

/// What the server calls: it passes nothing along that would say which command it is.
template <auto const& Table, std::size_t Index>
int run(abi::context* const context, abi::string** const words, int const count) {
  constexpr auto shape = shape_of(Table[Index]);
  std::span<abi::string* const> const all{words, static_cast<std::size_t>(count)};
  if constexpr (shape.has_number()) {
    if (redis.is_keys_position_request(context) != 0) {
      for (std::size_t i = 0; i < number_of_keys(all); ++i)
        redis.key_at_position(context, static_cast<int>(first_key + i));
      return abi::ok;
    }
  }
  call_words parts{};
  auto const fault = split(shape, all, parts);
  if (fault == word_fault::arity) return redis.wrong_arity(context);
  if (fault != word_fault::none) return redis.reply_error(context, explanation(shape, fault));
  request call{context, parts.keys, parts.arguments};
  Table[Index].run(call);
  return abi::ok;
}

int tell_version(abi::context* const context, abi::string** /*words*/, int const count) {
  if (count != 1) return redis.wrong_arity(context);
  long size = 1;
  for (auto const is_added : added) size += is_added ? 1 : 0;
  redis.reply_array(context, size);
  redis.reply_text(context, since, std::strlen(since));
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (!added[i]) continue;
    std::string_view const name{commands[i].name};
    redis.reply_text(context, name.data() + prefix.size(), name.size() - prefix.size());
  }
  return abi::ok;
}

constexpr abi::command_info_version info_version{.version = 1,
                                                 .size_of_history_entry = sizeof(abi::history_entry),
                                                 .size_of_key_spec = sizeof(abi::key_spec),
                                                 .size_of_argument = sizeof(abi::command_argument)};

/// Where the keys are: at a fixed place, or behind their number.
std::array<abi::key_spec, 2> key_specs_of(call_shape const& shape) {
  abi::key_spec spec{};
  spec.flags = abi::key_read_write | abi::key_access | abi::key_update;
  spec.begin = abi::begins_at_index;
  spec.from.index.position = 1;
  if (!shape.has_number()) {
    spec.find = abi::finds_range;
    spec.keys.range = {.last = 0, .step = 1, .limit = 0};
  } else {
    spec.find = abi::finds_number;
    spec.keys.number = {.number_index = 0, .first = 1, .step = 1};
  }
  return {spec, {}};
}

abi::command_argument argument_named(char const* const name, abi::argument_type const type,
                                     int const flags = 0) {
  return {.name = name,
          .type = type,
          .key_spec_index = type == abi::key_argument ? 0 : -1,
          .token = nullptr,
          .summary = nullptr,
          .since = nullptr,
          .flags = flags,
          .deprecated_since = nullptr,
          .parts = nullptr,
          .display_text = nullptr};
}

/// For COMMAND DOCS, COMMAND GETKEYS, the rights to keys, and the routing of a cluster.
void describe(abi::context* const context, command_row const& row) {
  if (redis.set_command_info == nullptr) return;
  auto* const command = redis.get_command(context, row.name);
  if (command == nullptr) return;
  std::vector<std::string> names;
  std::vector<int> flags;
  for (auto left = row.arguments; !left.empty();) {
    auto const end = std::min(left.find(' '), left.size());
    auto name = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    auto const repeats = name.ends_with("...");
    auto const is_optional = name.ends_with('?');
    if (repeats) name.remove_suffix(3);
    if (is_optional) name.remove_suffix(1);
    names.emplace_back(name);
    flags.push_back(repeats ? abi::argument_multiple : is_optional ? abi::argument_optional : 0);
  }
  std::vector<abi::command_argument> arguments;
  auto const has_number = shape_of(row).has_number();
  if (has_number) arguments.push_back(argument_named("numkeys", abi::integer_argument));
  arguments.push_back(argument_named("key", abi::key_argument, has_number ? abi::argument_multiple : 0));
  for (std::size_t i = 0; i < names.size(); ++i)
    arguments.push_back(argument_named(names[i].c_str(), abi::text_argument, flags[i]));
  arguments.push_back({});
  auto specs = key_specs_of(shape_of(row));
  abi::command_info const info{.version = &info_version,
                               .summary = row.summary,
                               .complexity = row.complexity,
                               .since = since,
                               .history = nullptr,
                               .tips = nullptr,
                               .arity = -static_cast<int>(shape_of(row).least_words()),
                               .key_specs = specs.data(),
                               .arguments = arguments.data()};
  redis.set_command_info(command, &info);
}

template <auto const& Table, std::size_t Index>
bool add(abi::context* const context) {
  constexpr auto const& row = Table[Index];
  constexpr int fixed_key = shape_of(row).has_number() ? 0 : 1;
  if (redis.create_command(context, row.name, run<Table, Index>, row.flags, fixed_key, fixed_key,
                           fixed_key) != abi::ok)
    return false;
  describe(context, row);
  return true;
}

template <std::size_t... Indices>
bool add_all(abi::context* const context, std::index_sequence<Indices...> /*of the table*/) {
  auto const knows_rights_to_channels = redis.set_command_info != nullptr;
  // Where the server has to know all keys of a command, since they may be on the move to another.
  auto const takes_keys_alone = (redis.context_flags(context) & abi::context_cluster) != 0;
  auto const add_one = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index> /*row*/) {
    if (commands[Index].publishes && !knows_rights_to_channels) return true;
    if (commands[Index].keys == key_shape::name && takes_keys_alone) return true;
    added[Index] = add<commands, Index>(context);
    return added[Index];
  };
  return (add_one(std::integral_constant<std::size_t, Indices>{}) && ...);
}

}  // namespace

bool add_commands(abi::context* const context) {
  added = {};
  added_compare = {};
  return redis.create_command(context, "holdfast.version", tell_version,
                              "readonly fast allow-loading allow-stale", 0, 0, 0) == abi::ok &&
         add_all(context, std::make_index_sequence<commands.size()>{});
}

void add_compare_commands(abi::context* const context) {
  added_compare = {add<compare_commands, 0>(context), add<compare_commands, 1>(context)};
}

bool is_own_command(std::string_view const name) {
  if (name.starts_with(prefix)) return true;
  for (std::size_t i = 0; i < compare_commands.size(); ++i) {
    if (added_compare[i] && name == compare_commands[i].name) return true;
  }
  return false;
}

}  // namespace holdfast::server
