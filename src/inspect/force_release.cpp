#include <holdfast/inspect.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <span>
#include <vector>

#include "base/ranges.hpp"
#include "engine/access.hpp"
#include "engine/presence.hpp"
#include "inspect/on_etcd.hpp"
#include "inspect/petitions.hpp"
#include "inspect/view.hpp"
#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "scripts/barrier.hpp"
#include "scripts/inspect.hpp"
#include "scripts/redisson_rw.hpp"
#include "scripts/run.hpp"
#include "sync/options_check.hpp"
#include "wire/plain/permits.hpp"
#include "wire/plain/shared.hpp"
#include "wire/redisson/permit_id.hpp"

namespace holdfast {
namespace {

namespace lua = scripts::inspect;
namespace of_redisson = names::redisson;

/// `content`: of the key.
call take_plain(lock_state const& seen, std::string_view content, engine::publishing publish) {
  auto const counter = names::token_counter(seen.name);
  auto const queue = names::queue(seen.name);
  return lua::force{.lock = {seen.name},
                    .counter = {counter},
                    .queue = {queue},
                    .owner = content,
                    .grant_ms = engine::grant_ttl.count(),
                    .publish = word_of(publish)}();
}

/// One reader of the plain wire, or the upgrade lease.
call take_reader(lock_state const& seen, hold_info const& hold, engine::publishing publish) {
  engine::release_policy const policy{.publish = publish};
  auto const& kind = hold.side == hold_side::upgrade ? recipes::plain::upgradable : recipes::plain::reader;
  return kind.release({.name = seen.name, .owner = hold.process.owner}, policy);
}

/// What one owner has of the permits of the plain wire.
call take_permits_of(lock_state const& seen, std::string_view owner, engine::publishing publish) {
  engine::release_policy const policy{.publish = publish};
  return recipes::plain::permits.release({.name = seen.name, .owner = owner}, policy);
}

call take_reentrant(lock_state const& seen, std::string_view owner, engine::publishing publish) {
  auto const queue = of_redisson::fair_queue(seen.name);
  auto const timeouts = of_redisson::fair_timeouts(seen.name);
  auto const channel = of_redisson::lock_channel(seen.name);
  return lua::force_reentrant{.lock = {seen.name},
                              .queue = {queue},
                              .timeouts = {timeouts},
                              .owner = owner,
                              .publish = word_of(publish),
                              .channel = channel}();
}

/// `field`: of the hash; empty: all.
call take_read_write(lock_state const& seen, std::string_view field, engine::publishing publish) {
  auto const lives = of_redisson::suffixed(seen.name, "");
  auto const channel = of_redisson::rw_channel(seen.name);
  return scripts::redisson_rw::force{
      .lock = {seen.name}, .field = field, .lives = lives, .publish = word_of(publish), .channel = channel}();
}

/// `id`: in printable form; empty: all.
call take_permits(lock_state const& seen, std::string_view id, engine::publishing publish) {
  auto const permits = of_redisson::permits(seen.name);
  auto const channel = of_redisson::semaphore_channel(seen.name);
  auto const bytes = recipes::redisson::read_permit_id(id).value_or("");
  return lua::force_permits{.counter = {seen.name},
                            .permits = {permits},
                            .publish = word_of(publish),
                            .channel = channel,
                            .bytes = bytes,
                            .text = id}();
}

/// The scripts that take the lock from holders that didn't release it. Shared holders that aren't all known
/// lose it together.
std::vector<call> takings(lock_state const& seen, std::span<inspection::petition const> asked, bool whole,
                          engine::publishing publish) {
  bool const on_redisson = seen.wire == wire::redisson;
  if (seen.kind == lock_kind::permits && on_redisson && whole) return {take_permits(seen, {}, publish)};
  if (seen.kind == lock_kind::read_write && seen.wire == wire::redisson && whole &&
      seen.holding > std::ssize(seen.holders))
    return {take_read_write(seen, {}, publish)};
  if (seen.kind == lock_kind::foreign) return {take_plain(seen, seen.holder.owner, publish)};
  // Of readers whose set the server has lost.
  if (seen.kind == lock_kind::read_write && seen.wire == wire::plain && whole && seen.holding == 0)
    return {take_plain(seen, names::held_by_readers, publish)};
  std::vector<call> all;
  for (auto const& petition : asked) {
    auto const& owner = petition.holder->process.owner;
    if (petition.answer < 0) continue;
    if (seen.kind == lock_kind::exclusive) all.push_back(take_plain(seen, owner, publish));
    if (seen.kind == lock_kind::reentrant) all.push_back(take_reentrant(seen, owner, publish));
    if (seen.kind == lock_kind::permits)
      all.push_back(on_redisson ? take_permits(seen, owner, publish) : take_permits_of(seen, owner, publish));
    if (seen.kind == lock_kind::read_write && seen.wire == wire::plain)
      all.push_back(take_reader(seen, *petition.holder, publish));
    else if (seen.kind == lock_kind::read_write)
      all.push_back(take_read_write(
          seen, petition.holder->side == hold_side::write ? owner + ":write" : owner, publish));
  }
  return all;
}

/// The best of the answers: 1: something was deleted; 0: it was gone. After a broken connection it counts as
/// deleted: the answer to the first copy may be lost, and the second copy finds what the first has left.
std::int64_t take_away(engine::core& server, lock_state const& seen, std::span<call const> scripts) {
  auto const broken_before = server.stats().disconnects;
  auto best = std::int64_t{-1};
  for (auto const& reply : inspection::ask_all(server, scripts, seen.name))
    best = std::max(best, reply.integer);
  return server.stats().disconnects == broken_before ? best : 1;
}

std::vector<hold_info const*> holders_meant(lock_state const& seen, std::string_view owner) {
  std::vector<hold_info const*> all;
  for (auto const& holder : seen.holders) {
    if (owner.empty() || holder.process.owner == owner) all.push_back(&holder);
  }
  return all;
}

/// False: the last run is another one by now, or none is known any more.
bool forget_run(engine::core& server, lock_state const& seen) {
  auto const record = names::last_run(seen.name);
  call const script[]{scripts::run::forget{.record = {record}, .owner = seen.last_run->process.owner}()};
  return take_away(server, seen, script) == 1;
}

/// Ends what a run that is over keeps others from. Its process isn't asked: it has let go already.
force_result let_go(engine::core& server, lock_state const& seen, std::string_view owner) {
  auto const& runner = seen.last_run->process.owner;
  if (!owner.empty() && owner != runner) return force_result::changed;
  auto const publish = server.publishing_now();
  if (seen.kind != lock_kind::free) {
    call const taking[]{seen.kind == lock_kind::reentrant ? take_reentrant(seen, runner, publish)
                                                          : take_plain(seen, seen.holder.owner, publish)};
    if (take_away(server, seen, taking) < 0) return force_result::changed;
  }
  bool const forgotten = forget_run(server, seen);
  return forgotten || seen.kind != lock_kind::free ? force_result::run_was_over : force_result::changed;
}

/// Those that have arrived are told at once; they hold nothing that they could give back.
force_result break_barrier(engine::core& server, lock_state const& seen) {
  auto const arrived = names::arrived(seen.name);
  auto const forced_by =
      server.constants().uuid + ' ' + engine::describe_self(server.constants().options.label).to_string();
  auto const channel = names::inbox_of_all(seen.name);
  call const script[]{scripts::barrier::force{.barrier = {seen.name},
                                              .arrived = {arrived},
                                              .participant = forced_by,
                                              .publish = word_of(server.publishing_now()),
                                              .channel = channel}()};
  return take_away(server, seen, script) == 1 ? force_result::deleted : force_result::not_held;
}

/// What has ended the holds that were asked for, of which none was taken away. `answer`: of the scripts that
/// were to do that.
force_result ended_before(std::span<inspection::petition const> asked, std::int64_t answer) {
  auto const now = std::chrono::steady_clock::now();
  auto const gone = [answer](inspection::petition const& each) {
    return each.answer == -1 || (each.answer >= 0 && answer == 0);
  };
  auto const expired = [&](inspection::petition const& each) {
    return (gone(each) || each.heard) && each.may_have_expired(each.answer < 0 ? each.gone_at : now);
  };
  if (std::ranges::any_of(asked, expired)) return force_result::expired;
  if (std::ranges::any_of(asked, &inspection::petition::heard)) return force_result::released_by_holder;
  return answer == 0 || std::ranges::any_of(asked, gone) ? force_result::not_held : force_result::changed;
}

}  // namespace

std::string_view to_string(force_result result) noexcept {
  switch (result) {
    case force_result::not_held:
      return "not held";
    case force_result::released_by_holder:
      return "released by its holder";
    case force_result::deleted:
      return "deleted";
    case force_result::changed:
      return "held by somebody else by now";
    case force_result::refused_foreign:
      return "refused: not a lock of Holdfast";
    case force_result::refused_other:
      return "refused: not a lock";
    case force_result::refused_counter:
      return "refused: a counter, which nobody holds";
    case force_result::expired:
      return "expired before its holder gave it back";
    case force_result::run_was_over:
      return "its run was over";
  }
  return "unknown";
}

force_result force_release(client& redis, std::string_view name, force_options options) {
  ranges::check(options, ranges::of_force,
                [](char const* option) { return std::string{"force_options::"} + option; });
  auto const server = engine::access::core_of(redis);
  if (server->requests().has_viewer()) return inspection::on_etcd::force_release(*server, name, options);
  auto seen = peek_on_wires(redis, name).on(options.of);
  if (seen.holding > std::ssize(seen.holders)) seen = inspect_on_wires(redis, name).on(options.of);
  if (kept_until(seen)) return let_go(*server, seen, options.owner);
  if (seen.kind == lock_kind::free || (seen.kind == lock_kind::permits && seen.holding == 0))
    return force_result::not_held;
  if (seen.kind == lock_kind::other) return force_result::refused_other;
  if (seen.kind == lock_kind::counter || seen.kind == lock_kind::latch) return force_result::refused_counter;
  if (seen.kind == lock_kind::barrier) {
    bool const meant = options.owner.empty() || !holders_meant(seen, options.owner).empty();
    return meant ? break_barrier(*server, seen) : force_result::changed;
  }
  // Leases of readers, and so HOLDFAST_OWNER, say what they are; inspect() says it beside the id.
  if (seen.wire == wire::plain) options.owner = names::without_suffix(options.owner);
  auto const meant = holders_meant(seen, options.owner);
  bool const whole = options.owner.empty();
  bool const foreign = seen.kind == lock_kind::foreign;
  if (!whole && (foreign ? options.owner != seen.holder.owner : meant.empty())) return force_result::changed;
  if (foreign && !options.foreign) return force_result::refused_foreign;
  auto const asked = inspection::ask_holders(*server, seen, meant, options.grace);
  auto const calls = takings(seen, asked, whole, server->publishing_now());
  auto const answer = calls.empty() ? std::int64_t{-1} : take_away(*server, seen, calls);
  auto const result = answer > 0 ? force_result::deleted : ended_before(asked, answer);
  bool const ran = seen.last_run && std::ranges::any_of(meant, [&seen](hold_info const* holder) {
                     return holder->process.owner == seen.last_run->process.owner;
                   });
  if (ran && (result == force_result::deleted || result == force_result::expired))
    static_cast<void>(forget_run(*server, seen));
  return result;
}

}  // namespace holdfast
