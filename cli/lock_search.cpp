#include "lock_search.hpp"

#include "arguments.hpp"

namespace holdfast::cli {

void add_searched_wire(command_options& command, std::string& to) {
  add_wire(command, to, "plain|redisson|all", "Locks of which format (default: as the URL says)");
}

void find_locks(client& redis, std::string_view pattern, std::string_view on,
                std::function<bool(lock_state const&)> const& f) {
  if (on != "all") {
    for_each_lock(redis, pattern, f, wire_of(on));
    return;
  }
  bool enough = false;
  for_each_lock(
      redis, pattern,
      [&](lock_state const& lock) {
        enough = !f(lock);
        return !enough;
      },
      wire::plain);
  if (!enough) for_each_lock(redis, pattern, f, wire::redisson);
}

}  // namespace holdfast::cli
