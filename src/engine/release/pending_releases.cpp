#include "engine/release/pending_releases.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/failure.hpp"
#include "engine/release/pauses.hpp"

namespace holdfast::engine {
namespace {

/// Fewer leases are given back one by one, so that their waiters hear of it in one round trip.
constexpr std::size_t worth_a_batch = 16;

/// How long a cleanup request is worth sending, at least: then the queue of a lock that nobody requests is
/// gone, and the server has forgotten how many permits a request took.
constexpr std::chrono::milliseconds traces_last{std::chrono::minutes{2}};

/// The same for what lasts in the server until somebody gives it back.
constexpr std::chrono::milliseconds lasting_traces_last{std::chrono::hours{24}};

}  // namespace

returned_lock pending_releases::item(lease_state const& lease, time_point now) const {
  auto& queue = lease.queue();
  auto policy = notifications_.policy_of(lease.options());
  policy.in_steps = queue.waiters.empty() && !queue.contender &&
                    now - queue.held_here_since < lease.options().starvation_limit;
  return {.queue = lock_queue_ptr{&queue},
          .number = lease.number(),
          .policy = policy,
          .deadline = end_of_key(lease, now),
          .lease_deadline = lease.deadline()};
}

/// The key may outlive the lease: it may have been requested for an earlier caller with a longer ttl, which
/// no renewal cuts short while others share it, and the reply to a renewal may have been lost. A renewal that
/// is under way may still be carried out, in the last moment of the leases that it is for.
time_point pending_releases::end_of_key(lease_state const& lease, time_point now) const noexcept {
  auto const end = std::max(lease.deadline(), now + longest_ttl_);
  return lease.renewing ? end + std::max(longest_ttl_, lease.options().ttl) : end;
}

struct pending_releases::release_under_way {
  release_under_way(returned_lock const& given, release_handler handler)
      : item{given}, done{std::move(handler)} {}

  void report(release_result outcome) {
    if (done) std::exchange(done, {})(item.lost ? release_result::lost : outcome);
  }

  returned_lock item;
  release_handler done;
};

void pending_releases::send(returned_lock const& item, time_point now, release_handler done) noexcept {
  std::shared_ptr<release_under_way> pending;
  try {
    pending = std::make_shared<release_under_way>(item, std::move(done));
    send(pending);
  } catch (std::bad_alloc const&) {
    owed_.add({.queue = item.queue,
               .number = item.number,
               .type = owed_request::kind::release,
               .policy = item.policy,
               .until = item.deadline},
              now);
    if (pending) {
      pending->report(release_result::unknown);
    } else if (done) {
      done(item.lost ? release_result::lost : release_result::unknown);
    }
  }
}

void pending_releases::send(std::shared_ptr<release_under_way> const& pending) {
  auto const& item = pending->item;
  auto& queue = *item.queue;
  auto const owner = client_.owner_id(item.number);
  ++unconfirmed_;
  queue.releasing = item.number;
  try {
    backend_.release(queue.lock_recipe(), {.name = queue.name(), .owner = owner}, item.policy,
                     [this, pending = pending](answer<ownership>&& result) { on_answer(pending, result); },
                     {.while_down = net::retry_policy::endless, .give_up = item.deadline});
  } catch (...) {
    --unconfirmed_;
    if (queue.releasing == item.number) queue.releasing = 0;
    throw;
  }
}

void pending_releases::on_answer(std::shared_ptr<release_under_way> const& pending,
                                 answer<ownership> const& result) noexcept {
  auto const& item = pending->item;
  auto& queue = *item.queue;
  if (queue.releasing == item.number) queue.releasing = 0;
  --unconfirmed_;
  auto const now = boot_clock::now();
  if (auto const* const found = result.outcome()) {
    if (*found == ownership::awaited) {
      queue.note_busy(now);
      pending->item.policy.fast = false;
      send(pending->item, now, std::move(pending->done));
      return;
    }
    // Clearing a ghost may have released it.
    auto const was_held = *found == ownership::held || item.copied || departed_.take_cleared(item.number);
    if (was_held) note_released(item);
    pending->report(was_held ? release_result::released : release_result::lost);
    return;
  }
  if (result.failure() != nullptr || now >= item.deadline) {
    if (!unconfirmed_logged_) {
      log_(log_level::warning, [&] {
        return "release of " + queue.title() + " is not confirmed: " + std::string{result.reason()} +
               "; the lock is free at the end of its ttl at the latest";
      });
    }
    pending->report(release_result::unknown);
    return;
  }
  // The server is there and refuses. An error that passes is waited out; the caller hears of any other now.
  // Both are retried until the lease is over anyway.
  auto pause = passing_pause;
  auto const& refusal = result.refusal()->text;
  pending->item.copied = item.copied || result.refusal()->resent;
  pending->item.policy.fast = false;
  if (!is_transient(refusal)) {
    pause = refused_pause;
    log_(log_level::warning, [&] { return std::string{explain(refusal, queue, client_)->what()}; });
    pending->report(release_result::unknown);
  }
  try {
    delayed_.add(std::min(now + pause, item.deadline), [this, pending] {
      --unconfirmed_;
      send(pending->item, boot_clock::now(), std::move(pending->done));
    });
    ++unconfirmed_;
    queue.releasing = item.number;  // during the pause, too
  } catch (std::bad_alloc const&) {
    send(item, now, std::move(pending->done));
  }
}

void pending_releases::send_together(batches::leases leases, time_point now) noexcept {
  if (leases.size() >= worth_a_batch) {
    std::shared_ptr<batches::leases> shared;
    try {
      shared = std::make_shared<batches::leases>();
      shared->swap(leases);
      send_batch(shared, now);
      return;
    } catch (std::bad_alloc const&) {
      if (shared) leases.swap(*shared);
    }
  }
  for (auto const& lease : leases) send(*lease, now, {});
}

void pending_releases::send_batch(std::shared_ptr<batches::leases> const& leases, time_point now) {
  std::vector<std::string> owners;
  std::vector<owned> list;
  owners.reserve(leases->size());
  list.reserve(leases->size());
  auto give_up = time_point::min();
  for (auto const& lease : *leases) {
    owners.push_back(client_.owner_id(lease->number()));
    list.push_back({.name = lease->queue().name(), .owner = owners.back()});
    give_up = std::max(give_up, end_of_key(*lease, now));
  }
  auto const& lock_recipe = leases->front()->queue().lock_recipe();
  backend_.release_unwanted(
      lock_recipe, list,
      [this, leases](answer<still_wanted>&& result) {
        auto const* const failure = result.failure();
        if (failure != nullptr && failure->reason != backend_.no_memory) return;  // the client has ended
        unconfirmed_ -= leases->size();
        on_batch_answer(*leases, result, boot_clock::now());
      },
      {.while_down = net::retry_policy::endless, .give_up = give_up, .divisible = true});
  unconfirmed_ += leases->size();
}

/// Leases with waiters are still to be released.
void pending_releases::on_batch_answer(batches::leases const& leases, answer<still_wanted> const& result,
                                       time_point now) noexcept {
  auto const* const wanted = result.outcome();
  for (std::size_t i = 0; i != leases.size(); ++i) {
    if (wanted == nullptr || std::ranges::binary_search(*wanted, i)) {
      send(*leases[i], now, {});
    } else {
      ++stats_.released;
    }
  }
}

void pending_releases::note_released(returned_lock const& item) noexcept {
  ++stats_.released;
  auto policy = item.policy;
  policy.fast = false;  // a repetition doesn't know the waiters
  departed_.note_release(item.queue->lock_recipe(), item.queue->name(), item.number, policy,
                         item.lease_deadline);
}

void pending_releases::abandon(lock_queue& queue, std::uint64_t number, release_policy const& policy,
                               time_point now) noexcept {
  if (queue.lock_recipe().abandon == nullptr) return;
  auto const last = queue.lock_recipe().lasts ? lasting_traces_last : traces_last;
  send_abandon(lock_queue_ptr{&queue}, number, policy, now + std::max(last, longest_ttl_), now);
}

/// Sent again after a refusal: otherwise a lock would be nobody's for its ttl, and a permit for ever.
void pending_releases::send_abandon(lock_queue_ptr const& queue, std::uint64_t number,
                                    release_policy const& policy, time_point until, time_point now) noexcept {
  try {
    auto const owner = client_.owner_id(number);
    backend_.abandon(queue->lock_recipe(), {.name = queue->name(), .owner = owner}, policy,
                     [this, queue, number, policy, until](answer<abandoned>&& result) {
                       // A release under way, which this request has overtaken, finds nothing.
                       if (result.outcome() != nullptr && result.outcome()->had_lock)
                         departed_.note_cleared(number);
                       auto const* const refusal = result.refusal();
                       if (refusal == nullptr) return;
                       auto const refused = boot_clock::now();
                       auto const again =
                           refused + (is_transient(refusal->text) ? passing_pause : refused_pause);
                       if (again >= until) return;
                       try {
                         delayed_.add(again, [this, queue, number, policy, until] {
                           send_abandon(queue, number, policy, until, boot_clock::now());
                         });
                       } catch (std::bad_alloc const&) {
                         owe_abandon(queue, number, policy, until, refused);
                       }
                     },
                     {.while_down = net::retry_policy::endless, .give_up = until});
  } catch (std::bad_alloc const&) {
    owe_abandon(queue, number, policy, until, now);
  }
}

void pending_releases::owe_abandon(lock_queue_ptr const& queue, std::uint64_t number,
                                   release_policy const& policy, time_point until, time_point now) noexcept {
  owed_.add({.queue = queue,
             .number = number,
             .type = owed_request::kind::abandon,
             .policy = policy,
             .until = until},
            now);
}

/// The server may have lost data, including recent releases. Without a repeat their keys, which it has again,
/// would stay until the end of their ttl.
void pending_releases::repeat(time_point now) noexcept {
  if (!repeats_) return;
  for (auto& entry : departed_.take_releases(now)) {
    entry.policy.publish = notifications_.publish_method();
    std::shared_ptr<departed::given_back> record;
    try {
      record = std::make_shared<departed::given_back>(std::move(entry));
      auto const owner = client_.owner_id(record->number);
      backend_.release(*record->lock_recipe, {.name = record->name, .owner = owner}, record->policy,
                       [this, record](answer<ownership>&& result) {
                         // For the next time: perhaps this server has lost nothing.
                         if (result.failure() == nullptr) departed_.note_release(*record);
                       },
                       {.while_down = net::retry_policy::endless, .give_up = record->deadline});
    } catch (std::bad_alloc const&) {
      departed_.note_release(record ? *record : entry);  // there may be memory for the next entry
    }
  }
}

std::size_t pending_releases::count_at_end() noexcept {
  unconfirmed_logged_ = true;
  return unconfirmed_ + owed_.count(owed_request::kind::release);
}

}  // namespace holdfast::engine
