#include <holdfast/inspect.hpp>

#include "engine/access.hpp"
#include "inspect/view.hpp"
#include "sync/options_check.hpp"

namespace holdfast {
namespace {

/// A longer queue is a number: nobody reads it.
constexpr std::int64_t longest_queue = 1000;

lock_state look(client& redis, std::string_view name, std::int64_t queue_entries) {
  sync::check(!name.empty(), "a lock has a name: it is empty");
  auto const server = engine::access::core_of(redis);
  auto state = inspection::read_state(
      name, inspection::ask_one(*server, inspection::look_at(name, queue_entries), name));
  inspection::directory{*server}.complete({&state, 1}, name);
  return state;
}

}  // namespace

std::string_view to_string(lock_kind kind) noexcept {
  switch (kind) {
    case lock_kind::free:
      return "free";
    case lock_kind::exclusive:
      return "exclusive";
    case lock_kind::foreign:
      return "foreign";
    case lock_kind::other:
      return "other";
  }
  return "unknown";
}

lock_state inspect(client& redis, std::string_view name) { return look(redis, name, longest_queue); }

lock_state peek(client& redis, std::string_view name) { return look(redis, name, 0); }

}  // namespace holdfast
