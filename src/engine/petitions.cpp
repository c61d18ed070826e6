#include "engine/petitions.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {
namespace {

/// Hints kept at a time. A serious requester repeats its hint.
constexpr std::size_t most_hints = 64;

/// Any client that knows this client's uuid may send any number of hints. At most one part in so many of the
/// time goes to scanning the held locks.
constexpr int parts = 50;
constexpr std::chrono::milliseconds between_looks{10};

/// How long the check is of use: later the requester has taken the lock.
constexpr std::chrono::seconds question_lasts{2};

}  // namespace

petitions::petitions(reactor::loop& loop, lock_backend& backend, lock_queues const& queues, holders& held,
                     handler requested)
    : loop_{loop},
      backend_{backend},
      queues_{queues},
      holders_{held},
      requested_{std::move(requested)},
      timer_{[this] { look_at_hints(); }} {}

void petitions::on_hint(std::uint64_t number) {
  auto const known = std::ranges::find(hints_, number) != hints_.end();
  if (known || hints_.size() >= most_hints) return;
  hints_.push_back(number);
  if (!timer_.armed()) loop_.arm(timer_, std::max(next_look_, boot_clock::now()));
}

void petitions::look_at_hints() {
  auto const begun = boot_clock::now();
  auto const hinted = std::exchange(hints_, {});
  std::vector<std::pair<lock_queue_ptr, std::uint64_t>> held_here;
  queues_.for_each([&](lock_queue& queue) {
    if (queue.holder != nullptr && std::ranges::find(hinted, queue.holder->number()) != hinted.end())
      held_here.emplace_back(&queue, queue.holder->number());
  });
  for (auto const number : hinted) {
    holders_.for_each_sharing(number, [&](lock_queue& queue) { held_here.emplace_back(&queue, number); });
  }
  for (auto const& [queue, number] : held_here) ask_whether_requested(*queue, number, begun);
  auto const ended = boot_clock::now();
  next_look_ = ended + std::max<boot_clock::duration>(between_looks, parts * (ended - begun));
}

void petitions::ask_whether_requested(lock_queue& queue, std::uint64_t number, time_point now) {
  auto const owner = queue.client().owner_id(number);
  backend_.find_petition(queue.lock_recipe(), {.name = queue.name(), .owner = owner},
                         [this, pin = lock_queue_ptr{&queue}, number](answer<bool>&& found) {
                           if (found.outcome() == nullptr || !*found.outcome()) return;
                           // The leases that share its acquisition are meant with it.
                           if (auto* const lease = holders_.find(*pin, number)) requested_(*lease);
                         },
                         {.while_down = net::retry_policy::endless, .give_up = now + question_lasts});
}

}  // namespace holdfast::engine
