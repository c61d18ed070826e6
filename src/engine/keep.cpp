// Ends leases whose key stays: for its ttl, or for another one.

#include <algorithm>
#include <new>
#include <utility>

#include "engine/core.hpp"

namespace holdfast::engine {

/// Ends the lease without giving the lock back. For all others, in this process too, it is busy until its ttl
/// is over.
void core::keep(lease_state& lease, std::optional<milliseconds> remaining, release_handler done) noexcept {
  lease_state_ptr const pin{&lease};
  lock_queue_ptr const queue{&lease.queue()};
  if (lease.drop_handle()) {  // the last handle decides
    if (done) done(lease.status() == lease_state::state::held ? release_result::kept : release_result::lost);
    return;
  }
  if (lease.status() != lease_state::state::held) {
    if (done) done(release_result::lost);
    return;
  }
  (void)finish_here(lease);
  note_left_key(lease, remaining.value_or(milliseconds{0}));
  leave_key(lease, remaining, std::move(done));
  if (!queue->waiters.empty() && !queue->contender) begin_contending(*queue);
}

/// A late response mustn't undo what is kept.
void core::outlast_response(std::uint64_t number, time_point until) noexcept {
  if (auto const late = outrun_.find(number); late != outrun_.end()) late->second = until;
}

/// A key that is to get another ttl, its last one, and the handler of the outcome.
struct core::leaving {
  leaving(lease_state const& kept, time_point when) : lease{&kept}, until{when} {}

  void report(release_result outcome) noexcept {
    if (done) std::exchange(done, {})(outcome);
  }

  boost::intrusive_ptr<lease_state const> lease;
  time_point until;
  release_handler done{};
};

/// For its ttl, or for `remaining`.
void core::leave_key(lease_state& lease, std::optional<milliseconds> remaining,
                     release_handler done) noexcept {
  if (!remaining && lease.provisional) remaining = lease.options().ttl;
  auto const until = remaining ? boot_clock::now() + *remaining : time_point::max();
  outlast_response(lease.number(), until);
  presence_.stay_until(remaining ? until : lease.deadline());
  if (!remaining) {
    if (done) done(release_result::kept);
    return;
  }
  std::shared_ptr<leaving> pending;
  try {
    pending = std::make_shared<leaving>(lease, until);
    pending->done = std::move(done);
    lease.when_settled([this, pending] { set_last_ttl(pending); });
  } catch (std::bad_alloc const&) {
    owe_last_ttl(lease.queue(), lease.number(), until, lease.deadline());
    if (pending) {
      pending->report(release_result::unknown);
    } else if (done) {
      done(release_result::unknown);
    }
  }
}

/// Sends the last renewal, which may shorten the remaining ttl.
void core::set_last_ttl(std::shared_ptr<leaving> const& pending) noexcept {
  auto const& lease = *pending->lease;
  try {
    send_last_ttl(lease.queue(), lease.number(), pending->until, lease.deadline(),
                  [this, pending](net::response&& response) { on_last_ttl(*pending, response); });
  } catch (std::bad_alloc const&) {
    owe_last_ttl(lease.queue(), lease.number(), pending->until, lease.deadline());
    pending->report(release_result::unknown);
  }
}

/// The same, when no caller waits for the outcome any more.
void core::set_last_ttl(lock_queue& queue, std::uint64_t number, time_point until,
                        time_point deadline) noexcept {
  try {
    send_last_ttl(queue, number, until, deadline, {});
  } catch (std::bad_alloc const&) {
    owe_last_ttl(queue, number, until, deadline);
  }
}

void core::send_last_ttl(lock_queue& queue, std::uint64_t number, time_point until, time_point give_up,
                         lock_backend::handler done) {
  auto const remaining =
      std::max(std::chrono::ceil<milliseconds>(until - boot_clock::now()), milliseconds{1});
  auto const owner = client_.owner_id(number);
  backend_->set_ttl(queue.protocol(), remaining, {.name = queue.name(), .owner = owner}, std::move(done),
                    {.while_down = net::retry_policy::endless, .give_up = give_up});
}

void core::owe_last_ttl(lock_queue& queue, std::uint64_t number, time_point until,
                        time_point deadline) noexcept {
  owe({.queue = lock_queue_ptr{&queue},
       .number = number,
       .type = owed::kind::last_ttl,
       .policy = {},
       .until = deadline,
       .kept_until = until});
}

void core::on_last_ttl(leaving& pending, net::response const& response) noexcept {
  auto const& queue = pending.lease->queue();
  if (response.failure || !response.reply.is_array()) {
    log_(log_level::warning, [&] {
      return "the last ttl of " + queue.title() +
             " is not confirmed: " + (response.failure ? response.failure->what() : response.reply.text) +
             "; it keeps the one it has";
    });
    pending.report(release_result::unknown);
    return;
  }
  try {
    pending.report(queue.protocol().read_renew(response.reply).empty() ? release_result::kept
                                                                       : release_result::lost);
  } catch (std::bad_alloc const&) {
    pending.report(release_result::unknown);
  }
}

}  // namespace holdfast::engine
