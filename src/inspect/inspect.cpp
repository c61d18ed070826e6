#include <holdfast/inspect.hpp>

#include <array>
#include <span>

#include "engine/access.hpp"
#include "inspect/last_run.hpp"
#include "inspect/on_etcd.hpp"
#include "inspect/states.hpp"
#include "inspect/view.hpp"
#include "script/names.hpp"
#include "scripts/condition.hpp"
#include "scripts/inspect.hpp"
#include "sync/options_check.hpp"

namespace holdfast {
namespace {

/// Of a longer queue only the length is shown.
constexpr std::int64_t longest_queue = 1000;

lock_on_wires look(client& redis, std::string_view name, std::int64_t queue_entries,
                   inspection::look_for scope) {
  sync::check(!name.empty(), "a lock has a name: it is empty");
  auto const server = engine::access::core_of(redis);
  if (server->requests().has_viewer())
    return inspection::on_etcd::look(*server, name, static_cast<std::size_t>(queue_entries));
  server->constants().check_kind(engine::deciders::one);
  auto const record = names::last_run(name);
  auto const condition = names::condition(name);
  call const questions[]{inspection::look_at(name, server->publishing_now(), queue_entries, scope),
                         scripts::inspect::record{.record = {record}}(),
                         scripts::condition::count{.waiting = {condition}}()};
  auto const with_queue = queue_entries != 0;
  auto const replies = server->requests().ask(std::span{questions}.first(with_queue ? 3 : 2));
  if (replies[0].is_error()) throw inspection::refused(replies[0], name, *server);
  auto all = inspection::read_states(name, replies[0]);
  // A user whose rights were given key by key may have none to these, and looks at locks all the same.
  all.plain.last_run = all.redisson.last_run = inspection::read_run(replies[1]);
  if (with_queue && replies[2].is_integer()) all.plain.waiting_for_condition = replies[2].integer;
  auto const named = with_queue ? std::size_t{longest_queue} : inspection::pipeline_length;
  inspection::directory{*server}.complete(std::array{&all.plain, &all.redisson}, name, named);
  return all;
}

}  // namespace

bool in_use(lock_state const& state) noexcept { return state.kind != lock_kind::free || state.waiting > 0; }

std::optional<run_info::time_point> kept_until(lock_state const& state) noexcept {
  if (!state.last_run) return std::nullopt;
  auto const& last = *state.last_run;
  if (state.kind == lock_kind::free) return last.counts_until > state.seen ? last.counts_until : std::nullopt;
  bool const exclusive = state.kind == lock_kind::exclusive || state.kind == lock_kind::reentrant;
  if (!exclusive || !last.finished() || state.holder.owner != last.process.owner || !state.ttl_left)
    return std::nullopt;
  return state.seen + *state.ttl_left;
}

lock_state const& lock_on_wires::on(holdfast::wire of) const noexcept {
  if (of != wire::automatic) return of == wire::redisson ? redisson : plain;
  bool const of_redisson =
      redisson.kind != lock_kind::free || (in_use(redisson) && !in_use(plain) && plain.token == 0);
  return of_redisson ? redisson : plain;
}

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
    case lock_kind::latch:
      return "latch";
    case lock_kind::barrier:
      return "barrier";
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
    case hold_side::upgrade:
      return "upgrade";
    case hold_side::arrived:
      return "arrived";
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

lock_state inspect(client& redis, std::string_view name) {
  return look(redis, name, longest_queue, inspection::look_for::holder).on(wire::automatic);
}

lock_state peek(client& redis, std::string_view name) {
  return look(redis, name, 0, inspection::look_for::holder).on(wire::automatic);
}

lock_on_wires inspect_on_wires(client& redis, std::string_view name) {
  return look(redis, name, longest_queue, inspection::look_for::both);
}

lock_on_wires peek_on_wires(client& redis, std::string_view name) {
  return look(redis, name, 0, inspection::look_for::both);
}

}  // namespace holdfast
