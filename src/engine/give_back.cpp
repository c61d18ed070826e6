// Gives back what this client no longer needs in the server, until the server confirms it.

#include <algorithm>
#include <new>
#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"

namespace holdfast::engine {
namespace {

/// Pauses before a release is sent again: after an error that passes, and after any other.
constexpr std::chrono::milliseconds release_pause{25};
constexpr std::chrono::milliseconds refused_release_pause{500};

/// Fewer leases are given back one by one, so that their waiters hear of it in one round trip.
constexpr std::size_t worth_a_batch = 16;

/// How long a cleanup request is worth sending: then the queue of a lock that nobody requests is gone.
constexpr std::chrono::minutes traces_last{1};

}  // namespace

core::giving_back::giving_back(lease_state const& lease, release_policy lease_policy)
    : queue{&lease.queue()}, number{lease.number()}, policy{lease_policy}, deadline{lease.deadline()} {}

struct core::release_under_way {
  release_under_way(giving_back const& given, release_handler handler)
      : item{given}, done{std::move(handler)} {}

  void report(release_result outcome) {
    if (done) std::exchange(done, {})(item.lost ? release_result::lost : outcome);
  }

  giving_back item;
  release_handler done;
};

/// When memory is short it is sent a little later, and the caller gets release_result::unknown.
void core::send_release(giving_back const& item, release_handler done) noexcept {
  std::shared_ptr<release_under_way> pending;
  try {
    pending = std::make_shared<release_under_way>(item, std::move(done));
    send_release(pending);
  } catch (std::bad_alloc const&) {
    owe({.queue = item.queue,
         .number = item.number,
         .type = owed::kind::release,
         .policy = item.policy,
         .until = item.deadline});
    if (pending) {
      pending->report(release_result::unknown);
    } else if (done) {
      done(item.lost ? release_result::lost : release_result::unknown);
    }
  }
}

void core::send_release(std::shared_ptr<release_under_way> const& pending) {
  auto const& item = pending->item;
  auto& queue = *item.queue;
  auto const owner = client_.owner_id(item.number);
  ++releasing_;
  queue.releasing = item.number;
  try {
    backend_->release(queue.protocol(), {.name = queue.name(), .owner = owner}, item.policy,
                      [this, pending](net::response&& response) { on_released(pending, response); },
                      {.while_down = net::retry_policy::endless, .give_up = item.deadline});
  } catch (...) {
    --releasing_;
    if (queue.releasing == item.number) queue.releasing = 0;
    throw;
  }
}

void core::on_released(std::shared_ptr<release_under_way> const& pending,
                       net::response const& response) noexcept {
  auto const& item = pending->item;
  auto& queue = *item.queue;
  if (queue.releasing == item.number) queue.releasing = 0;
  --releasing_;
  if (response.reply.is_integer()) {
    // A resent release that finds nothing was carried out the first time. Or clearing a ghost did it.
    auto const ours = queue.protocol().read_release(response.reply) == ownership::mine || response.resent ||
                      departed_.take_cleared(item.number);
    if (ours) note_released(item);
    pending->report(ours ? release_result::released : release_result::lost);
    return;
  }
  auto const now = boot_clock::now();
  if (response.failure || now >= item.deadline) {
    if (!unreleased_logged_) {
      log_(log_level::warning, [&] {
        return "release of " + queue.title() +
               " is not confirmed: " + (response.failure ? response.failure->what() : response.reply.text) +
               "; the lock is free at the end of its ttl at the latest";
      });
    }
    pending->report(release_result::unknown);
    return;
  }
  // The server is there and refuses. An error that passes is waited out; the caller hears of any other now.
  // Both are retried until the lease is over anyway.
  auto pause = release_pause;
  if (!passes(response.reply)) {
    pause = refused_release_pause;
    log_(log_level::warning,
         [&] { return std::string{explain(response.reply, queue, client_.url)->what()}; });
    pending->report(release_result::unknown);
  }
  try {
    later(std::min(now + pause, item.deadline), [this, pending] {
      --releasing_;
      send_release(pending->item, std::move(pending->done));
    });
    ++releasing_;
  } catch (std::bad_alloc const&) {
    send_release(item, std::move(pending->done));
  }
}

/// For the end of the client, which may have very many leases; they are lost already. Leases with waiters go
/// one by one, but in the same write.
void core::release_together(batches::leases leases) noexcept {
  if (leases.size() >= worth_a_batch) {
    std::shared_ptr<batches::leases> shared;
    try {
      shared = std::make_shared<batches::leases>();
      shared->swap(leases);
      send_releases(shared);
      return;
    } catch (std::bad_alloc const&) {
      if (shared) leases.swap(*shared);
    }
  }
  for (auto const& lease : leases) send_release({*lease, notifications_.policy_of(lease->options())}, {});
}

void core::send_releases(std::shared_ptr<batches::leases> const& leases) {
  std::vector<std::string> owners;
  std::vector<owned> list;
  owners.reserve(leases->size());
  list.reserve(leases->size());
  auto give_up = time_point::min();
  for (auto const& lease : *leases) {
    owners.push_back(client_.owner_id(lease->number()));
    list.push_back({.name = lease->queue().name(), .owner = owners.back()});
    give_up = std::max(give_up, lease->deadline());
  }
  auto const& protocol = leases->front()->queue().protocol();
  backend_->run(protocol.release_unwanted(list),
                [this, leases](net::response&& response) {
                  if (response.failure) return;  // the client has ended meanwhile
                  releasing_ -= leases->size();
                  on_released_together(*leases, response.reply);
                },
                {.while_down = net::retry_policy::endless, .give_up = give_up, .divisible = true});
  releasing_ += leases->size();
}

/// Leases with waiters are still to be released.
void core::on_released_together(batches::leases const& leases, resp::reply const& reply) noexcept {
  std::vector<std::size_t> wanted;
  auto understood = reply.is_array();
  try {
    if (understood) wanted = leases.front()->queue().protocol().read_wanted(reply);
    std::ranges::sort(wanted);
  } catch (std::bad_alloc const&) {
    understood = false;
  }
  auto next = wanted.begin();
  for (std::size_t i = 0; i != leases.size(); ++i) {
    auto const is_wanted = next != wanted.end() && *next == i;
    if (is_wanted) ++next;
    if (!understood || is_wanted) {
      send_release({*leases[i], notifications_.policy_of(leases[i]->options())}, {});
    } else {
      ++stats_.released;
    }
  }
}

void core::note_released(giving_back const& item) noexcept {
  ++stats_.released;
  departed_.note_release(item.queue->protocol(), item.queue->name(), item.number, item.policy, item.deadline);
}

/// Releases it as a lease of `queue`, as the server may know it by now.
void core::release_as(lock_queue& queue, lease_state const& lease) noexcept {
  giving_back back{lease, notifications_.policy_of(lease.options())};
  back.queue = lock_queue_ptr{&queue};
  send_release(back, {});
}

/// Cleans up after an acquisition that no caller waits for any more.
void core::abandon(lock_queue& queue, std::uint64_t number, release_policy policy) noexcept {
  if (queue.protocol().abandon == nullptr) return;
  auto const until = boot_clock::now() + traces_last;
  try {
    auto const owner = client_.owner_id(number);
    backend_->abandon(queue.protocol(), {.name = queue.name(), .owner = owner}, policy,
                      {.while_down = net::retry_policy::endless, .give_up = until});
  } catch (std::bad_alloc const&) {
    owe({.queue = lock_queue_ptr{&queue},
         .number = number,
         .type = owed::kind::abandon,
         .policy = policy,
         .until = until});
  }
}

/// Calls `f` once, at `when`.
void core::later(time_point when, callback<void()> f) {
  auto const entry = delayed_.emplace(delayed_.end());
  entry->call = std::move(f);
  entry->bell.set([this, entry] {
    auto now = std::move(entry->call);
    delayed_.erase(entry);
    now();
  });
  loop_.arm(entry->bell, when);
}

}  // namespace holdfast::engine
