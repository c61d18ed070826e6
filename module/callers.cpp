#include "callers.hpp"

#include "calls.hpp"
#include "commands.hpp"

#include <algorithm>
#include <string_view>

namespace holdfast::server {

namespace {

/// Of a line of CLIENT LIST, whose values have no spaces.
std::string_view field(std::string_view const line, std::string_view const name) {
  auto const found = line.find(name);
  if (found == std::string_view::npos) return {};
  auto const value = line.substr(found + name.size());
  return value.substr(0, value.find(' '));
}

/// One that is executing its transaction may be the one that unloads the module; unless its EXEC waits for
/// the end of CLIENT PAUSE.
bool refers_to_a_command(std::string_view const line) {
  auto const last = field(line, " cmd=");
  auto const is_blocked = field(line, " flags=").find('b') != std::string_view::npos;
  auto const in_transaction = field(line, " multi=") != "-1" && (last != "exec" || is_blocked);
  return in_transaction || is_own_command(last);
}

}  // namespace

bool close_connections_of_callers(abi::context* const context) {
  auto const all = list_of_clients(context);
  if (all.empty()) return false;
  for (std::string_view rest{all}; !rest.empty();) {
    auto const end = std::min(rest.find('\n'), rest.size());
    auto const line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.empty() && refers_to_a_command(line)) close_client(context, field(line, "id="));
  }
  return true;
}

}  // namespace holdfast::server
