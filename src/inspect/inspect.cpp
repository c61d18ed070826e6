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
  server->check_kind(engine::votes::none);
  auto state = inspection::read_state(
      name,
      inspection::ask_one(*server, inspection::look_at(name, server->publishing_now(), queue_entries), name));
  auto const named = queue_entries == 0 ? inspection::pipeline_length : state.holders.size();
  inspection::directory{*server}.complete({&state, 1}, name, named);
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
    case lock_kind::reentrant:
      return "reentrant";
    case lock_kind::read_write:
      return "read_write";
    case lock_kind::permits:
      return "permits";
    case lock_kind::counter:
      return "counter";
  }
  return "unknown";
}

std::string_view to_string(hold_side side) noexcept {
  switch (side) {
    case hold_side::exclusive:
      return "exclusive";
    case hold_side::write:
      return "write";
    case hold_side::read:
      return "read";
    case hold_side::permit:
      return "permit";
  }
  return "unknown";
}

std::string_view to_string(counter_use use) noexcept {
  switch (use) {
    case counter_use::unknown:
      return "unknown";
    case counter_use::permits:
      return "permits";
    case counter_use::latch:
      return "latch";
  }
  return "unknown";
}

lock_state inspect(client& redis, std::string_view name) { return look(redis, name, longest_queue); }

lock_state peek(client& redis, std::string_view name) { return look(redis, name, 0); }

}  // namespace holdfast
