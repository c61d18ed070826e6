#include "show/lock_search.hpp"

#include "common/options.hpp"
#include "common/output.hpp"

#include <fmt/format.h>

namespace holdfast::cli {
namespace {

bool is_all(std::string_view const wire_option) { return wire_of(wire_option) == wire::automatic; }

}  // namespace

void add_searched_wire(command_options& command, std::string& to) {
  add_wire(command, to, "plain|redisson|all",
           "The format of the locks to show (default: all, whatever the URL says)");
}

std::string find_locks(client& redis, std::string_view pattern, std::string_view wire_option,
                       std::function<bool(lock_state const&)> const& visit) {
  if (!is_all(wire_option)) {
    for_each_lock(redis, pattern, visit, wire_of(wire_option));
    return {};
  }
  auto const refused = for_each_lock_on_wires(redis, pattern, visit);
  if (!refused) return {};
  return fmt::format("not all of Redisson's wire was searched (--wire plain leaves it out): {}",
                     refused->what());
}

void require_wire(lock_on_wires const& name, std::string_view wire_option) {
  require(!name.plain.on_etcd || wire_of(wire_option) != wire::redisson,
          "--wire redisson: that is a format of Redis; leave it out on etcd");
}

std::vector<lock_state const*> shown_of(lock_on_wires const& name, std::string_view wire_option) {
  require_wire(name, wire_option);
  auto const& first = name.on(wire_of(wire_option));
  std::vector<lock_state const*> all{&first};
  if (is_all(wire_option) && name.on_both())
    all.push_back(&first == &name.plain ? &name.redisson : &name.plain);
  return all;
}

std::string on_both_wires(std::string_view name) {
  return fmt::format(
      "{} is in use on both wires, but it is one key: a holder on one wire keeps out the clients of the "
      "other wire, and those fail, or wait without being told. Give one of the two another name",
      output::quoted(name));
}

}  // namespace holdfast::cli
