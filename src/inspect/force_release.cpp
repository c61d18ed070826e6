#include <holdfast/inspect.hpp>

#include <algorithm>
#include <thread>

#include "engine/access.hpp"
#include "inspect/view.hpp"
#include "script/names.hpp"
#include "scripts.hpp"
#include "sync/options_check.hpp"

namespace holdfast {
namespace {

namespace lua = scripts::inspect;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// An inbox opens half a second after its client took a lease, so the first question may go unheard.
constexpr auto ask_every = 100ms;
constexpr auto look_every = 10ms;

/// How asking ended: a negative answer of the script says that the lock isn't the holder's any more.
struct petition {
  std::int64_t answer = 0;
  bool heard = false;
};

petition ask_holder(engine::core& server, lock_state const& seen, std::chrono::milliseconds grace) {
  auto const end = clock::now() + grace;
  auto next_ask = clock::now();
  for (petition so_far;;) {
    bool const asks = clock::now() >= next_ask;
    if (asks) next_ask += ask_every;
    lua::ask const question{.lock = {seen.name}, .owner = seen.holder.owner, .mode = asks ? "ask" : "look"};
    so_far.answer = inspection::ask_one(server, question(), seen.name).integer;
    so_far.heard = so_far.heard || so_far.answer > 0;
    auto const left = end - clock::now();
    if (so_far.answer < 0 || left <= 0ms) return so_far;
    std::this_thread::sleep_for(std::min<clock::duration>(left, look_every));
  }
}

/// As the script answers, but that a deletion whose answer was lost counts as one: sent again, the script
/// finds what it has left behind.
std::int64_t take_away(engine::core& server, lock_state const& seen) {
  auto const counter = names::token_counter(seen.name);
  auto const queue = names::queue(seen.name);
  lua::force const script{.lock = {seen.name},
                          .counter = {counter},
                          .queue = {queue},
                          .owner = seen.holder.owner,
                          .grant_ms = engine::grant_ttl.count()};
  auto const broken_before = server.stats().disconnects;
  auto const answer = inspection::ask_one(server, script(), seen.name).integer;
  return server.stats().disconnects == broken_before ? answer : 1;
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
  }
  return "unknown";
}

force_result force_release(client& redis, std::string_view name, force_options options) {
  sync::check(options.grace >= 0ms, "force_options::grace must not be negative");
  auto const seen = peek(redis, name);
  if (seen.kind == lock_kind::free) return force_result::not_held;
  if (seen.kind == lock_kind::other) return force_result::refused_other;
  if (!options.owner.empty() && options.owner != seen.holder.owner) return force_result::changed;
  if (seen.kind == lock_kind::foreign && !options.foreign) return force_result::refused_foreign;
  auto const server = engine::access::core_of(redis);
  petition asked;
  if (seen.kind == lock_kind::exclusive) asked = ask_holder(*server, seen, options.grace);
  bool gone = asked.answer == -1;
  if (asked.answer >= 0) {
    auto const answer = take_away(*server, seen);
    if (answer > 0) return force_result::deleted;
    gone = answer == 0;
  }
  if (asked.heard) return force_result::released_by_holder;
  return gone ? force_result::not_held : force_result::changed;
}

}  // namespace holdfast
