#include "engine/release/kept_keys.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/failure.hpp"
#include "engine/release/pauses.hpp"
#include "engine/token_counters.hpp"

namespace holdfast::engine {
namespace {

/// A key left on purpose counts as present for this much longer than our clock says, plus a fiftieth of its
/// time. It ends by itself, so clearing it isn't urgent.
constexpr std::chrono::seconds key_slack{10};
constexpr int key_drift = 50;
constexpr std::chrono::hours longest_key{24 * 365 * 100};

}  // namespace

void kept_keys::note(lease_state const& lease, milliseconds more, bool kept, time_point now) noexcept {
  // The request that sets its last ttl may wait for the server until the deadline.
  // A lease that a message granted has a short deadline, but is kept for its ttl, or has got that already.
  if (lease.provisional) more = std::max(more, lease.options().ttl);
  std::chrono::nanoseconds const longer = std::min<milliseconds>(more, longest_key);
  auto const end = std::max(now, lease.deadline()) + longer;
  auto const drift = (longer + std::chrono::nanoseconds{lease.options().ttl}) / key_drift;
  departed_.leave_key(lease.number(), end + drift + key_slack, now, kept);
}

/// A key that is to get another ttl, its last one, and the handler of the outcome.
struct kept_keys::leaving {
  void report(release_result outcome) noexcept {
    if (done) std::exchange(done, {})(outcome);
  }

  lock_queue_ptr queue;
  std::uint64_t number;
  time_point until;
  time_point deadline;  ///< of the lease: then its key is gone
  release_handler done{};
};

void kept_keys::leave(lease_state& lease, std::optional<milliseconds> remaining, time_point now,
                      release_handler done) noexcept {
  if (!remaining && lease.provisional) remaining = lease.options().ttl;
  auto const until = remaining ? now + *remaining : time_point::max();
  late_.key_stays_until(lease.number(), until);
  presence_.stay_until(remaining ? until : lease.deadline(), now);
  if (!remaining) {
    if (done) done(release_result::kept);
    return;
  }
  std::shared_ptr<leaving> pending;
  try {
    pending =
        std::make_shared<leaving>(lock_queue_ptr{&lease.queue()}, lease.number(), until, lease.deadline());
    pending->done = std::move(done);
    lease.when_settled([this, pending] { set_last_ttl(pending, boot_clock::now()); });
  } catch (std::bad_alloc const&) {
    owe(lease.queue(), lease.number(), until, lease.deadline(), now);
    if (pending) {
      pending->report(release_result::unknown);
    } else if (done) {
      done(release_result::unknown);
    }
  }
}

/// When no caller waits for the outcome any more.
void kept_keys::set_last_ttl(lock_queue& queue, std::uint64_t number, time_point until, time_point deadline,
                             time_point now) noexcept {
  try {
    send(std::make_shared<leaving>(lock_queue_ptr{&queue}, number, until, deadline), now);
  } catch (std::bad_alloc const&) {
    owe(queue, number, until, deadline, now);
  }
}

/// Sends the last renewal, which may shorten the remaining ttl.
void kept_keys::set_last_ttl(std::shared_ptr<leaving> const& pending, time_point now) noexcept {
  try {
    send(pending, now);
  } catch (std::bad_alloc const&) {
    owe(*pending->queue, pending->number, pending->until, pending->deadline, now);
    pending->report(release_result::unknown);
  }
}

void kept_keys::send(std::shared_ptr<leaving> const& pending, time_point now) {
  auto const remaining = std::max(std::chrono::ceil<milliseconds>(pending->until - now), milliseconds{1});
  auto const& queue = *pending->queue;
  auto const owner = client_.owner_id(pending->number);
  keep_token_counters(backend_, queue, remaining);
  backend_.set_ttl(
      queue.lock_recipe(), remaining, {.name = queue.name(), .owner = owner},
      [this, pending](answer<ownership>&& result) { on_answer(pending, result, boot_clock::now()); },
      {.while_down = net::retry_policy::endless, .give_up = pending->deadline});
}

void kept_keys::send_again(std::shared_ptr<leaving> const& pending, std::chrono::milliseconds pause,
                           time_point now) noexcept {
  try {
    delayed_.add(now + pause, [this, pending] { set_last_ttl(pending, boot_clock::now()); });
  } catch (std::bad_alloc const&) {
    set_last_ttl(pending, now);
  }
}

void kept_keys::owe(lock_queue& queue, std::uint64_t number, time_point until, time_point deadline,
                    time_point now) noexcept {
  owed_.add({.queue = lock_queue_ptr{&queue},
             .number = number,
             .type = owed_request::kind::last_ttl,
             .policy = {},
             .until = deadline,
             .kept_until = until},
            now);
}

/// A refusal is treated as that of a release: see pending_releases.
void kept_keys::on_answer(std::shared_ptr<leaving> const& pending, answer<ownership> const& result,
                          time_point now) noexcept {
  if (auto const* const found = result.outcome()) {
    pending->report(*found == ownership::held ? release_result::kept : release_result::lost);
    return;
  }
  auto const* const refusal = result.refusal();
  if (refusal != nullptr && is_transient(refusal->text) && now + passing_pause < pending->deadline) {
    send_again(pending, passing_pause, now);
    return;
  }
  log_(log_level::warning, [&] {
    return "the last ttl of " + pending->queue->title() +
           " is not confirmed: " + std::string{result.reason()} + "; it keeps the one it has";
  });
  pending->report(release_result::unknown);
  if (refusal != nullptr && now + refused_pause < pending->deadline) send_again(pending, refused_pause, now);
}

}  // namespace holdfast::engine
