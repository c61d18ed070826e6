#include "engine/contention/fast_path.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>

#include "engine/failure.hpp"

namespace holdfast::engine {
namespace {

/// How far the counter may fall behind the clock. How long a lock is held is computed from the counter, and
/// has to be right to within a second; and a failover takes longer than this.
constexpr std::chrono::milliseconds longest_count{500};

/// For so long after the lock was busy each request is a full script: a contended lock costs no request more.
constexpr std::chrono::milliseconds calm{1000};

/// A lock that was held for so long is rarely free again at once for its own client, to which the shorter
/// release would be worth something, and others are more likely to wait, who would have to wait for two
/// requests.
constexpr std::chrono::milliseconds short_hold{500};

bool is_calm(lock_queue::counted const& known, time_point now) noexcept {
  return known.busy_at == time_point{} || now - known.busy_at >= calm;
}

/// Of permits: a single one, if the caller knows how many there are. In a cluster only exclusive locks. Any
/// other key is a text until a second holder comes; a script then puts a set in its place, which it can't do
/// while the slot moves.
bool may_be_fast(lock_queue const& queue, acquire_request const& request,
                 client_constants const& client) noexcept {
  auto const kind = queue.lock_recipe().sharing;
  if (kind == sharing::exclusive) return true;
  if (client.deployment.slots) return false;
  return kind == sharing::shared || (request.amount == 1 && request.size > 0);
}

/// A proxy may end the connection at a command that it doesn't know. One broken connection may be chance.
constexpr int most_cut_off = 2;

/// Whether a refusal is about the commands, and not about the lock or the state of the server.
bool about_commands(std::string_view refusal) noexcept {
  return first_word(refusal) == "ERR" || about_rights(refusal);
}

}  // namespace

bool fast_path::fits(lock_queue const& queue, acquire_request const& request, time_point now) const noexcept {
  auto const* const known = queue.counter();
  return may_be_fast(queue, request, client_) && known != nullptr && is_for(queue) && !refused_ &&
         known->by_script > trouble_at_ && now - known->by_script < longest_count && is_calm(*known, now);
}

bool fast_path::decides(lock_queue& queue, answer<verdict> const& result, time_point now) noexcept {
  auto* const known = queue.counter();
  auto const* const found = result.outcome();
  if (found == nullptr) {
    known->by_script = {};
    auto const* const refusal = result.refusal();
    if (refusal != nullptr && about_commands(refusal->text)) give_up(refusal->text);
    if (refusal == nullptr && result.failure()->sent && !works_ && ++cut_off_ == most_cut_off)
      give_up("the connection breaks at MULTI");
    return false;
  }
  works_ = true;
  if (auto const* const grant = std::get_if<granted>(found)) {
    auto const has_new_token = queue.lock_recipe().sharing != sharing::shared;  // readers get the last one
    auto const oldest = known->token + (has_new_token ? 1 : 0);
    if (known->by_script > trouble_at_ && grant->token >= oldest) return true;
    known->by_script = {};
    return false;
  }
  auto const* const reply = std::get_if<undecided>(found);
  if (reply == nullptr) return true;
  if (reply->taken && !reply->overtook) {
    known->by_script = {};
  } else {
    known->busy_at = now;
  }
  return false;
}

void fast_path::note_granted(lock_queue& queue, granted const& grant, time_point sent_at) noexcept {
  auto* const known = queue.counter();
  if (known == nullptr) return;
  known->token = std::max(known->token, grant.token + grant.count - 1);
  if (!queue.contender->fast) known->by_script = sent_at;
}

bool fast_path::worth_fast_release(lock_queue& queue, lease_state const& lease, time_point now) noexcept {
  if (!is_for(queue)) return false;
  if (!queue.uncontended) {
    queue.note_busy(now);
    return false;
  }
  auto const* const known = queue.counter();
  if (known != nullptr && !is_calm(*known, now)) return false;
  if (known == nullptr && now - queue.held_here_since < longest_count) {
    try {
      queue.note_counter() = {.token = lease.token() + lease.tokens_left, .by_script = queue.held_here_since};
    } catch (std::bad_alloc const&) {
      // The next request asks by script again.
    }
  }
  // A script notes the holders of a shared lock in a set, which the short release doesn't change.
  auto const in_set = queue.lock_recipe().sharing != sharing::exclusive && queue.taken_fast == 0;
  return !in_set && ways_.releases_by_script && now - queue.held_here_since < short_hold;
}

void fast_path::give_up(std::string_view reason) noexcept {
  if (refused_) return;
  refused_ = true;
  log_(log_level::warning, [&] {
    return client_.url + ": " + std::string{reason} +
           "; so each free lock is taken by a script, which costs the server more; Holdfast needs +multi "
           "+exec +set +incr +get +exists";
  });
}

}  // namespace holdfast::engine
