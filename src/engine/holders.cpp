#include "engine/holders.hpp"

#include <algorithm>
#include <new>

namespace holdfast::engine {

void holders::open(lease_state& first, time_point now) {
  auto const [known, added] = shared_.try_emplace(&first.queue());
  try {
    known->second.open(first, now);
  } catch (...) {
    if (added) shared_.erase(known);
    throw;
  }
}

lease_state_ptr holders::join(lock_queue& queue, effective_options_ptr const& options, time_point now) {
  auto const known = shared_.find(&queue);
  return known == shared_.end() ? lease_state_ptr{} : known->second.join(queue, options, now);
}

void holders::give_to(std::uint32_t thread, lease_state& lease) noexcept try {
  by_thread_.emplace(thread, &lease);
  lease.thread = thread;
} catch (std::bad_alloc const&) {
  return;
}

bool holders::leave(lease_state& lease) noexcept {
  auto& queue = lease.queue();
  if (lease.thread != 0) by_thread_.erase({lease.thread, &lease});
  if (queue.lock_recipe().sharing == sharing::exclusive) {
    if (queue.holder == &lease) queue.holder = nullptr;
    return true;
  }
  auto const known = shared_.find(&queue);
  auto const last = known->second.leave(lease);
  if (known->second.empty()) shared_.erase(known);
  return last;
}

bool holders::has(lock_queue const& queue, std::uint64_t number) const noexcept {
  if (queue.lock_recipe().sharing == sharing::exclusive)
    return queue.holder != nullptr && queue.holder->number() == number;
  auto const known = shared_.find(&queue);
  return known != shared_.end() && known->second.contains(number);
}

bool holders::has_shared(std::uint64_t number) const noexcept {
  return std::ranges::any_of(shared_, [number](auto const& entry) { return entry.second.contains(number); });
}

lease_state* holders::find(lock_queue const& queue, std::uint64_t number) noexcept {
  if (queue.holder != nullptr && queue.holder->number() == number) return queue.holder;
  lease_state* any = nullptr;
  for_each_sharer(queue, number, [&any](lease_state& lease) { any = &lease; });
  return any;
}

lease_state* holders::any_shared() const noexcept {
  return shared_.empty() ? nullptr : &shared_.begin()->second.any();
}

}  // namespace holdfast::engine
