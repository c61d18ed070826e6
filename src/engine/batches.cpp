#include "engine/batches.hpp"

#include <functional>

#include "base/hash_slot.hpp"

namespace holdfast::engine {
namespace {

/// Keys in one command. The cost of the command itself becomes negligible, and the server's pause (about 1.5
/// µs a key) stays well under a millisecond.
constexpr std::size_t batch_size = 256;

constexpr std::size_t usual_size = 16;

}  // namespace

std::size_t batches::hash::operator()(kind const& key) const noexcept {
  auto const ttl = static_cast<std::size_t>(key.ttl.count());
  return std::hash<void const*>{}(key.lock_recipe) ^ (ttl * hash_slots + key.slot);
}

void batches::add(lease_state& lease, std::uint16_t slot) {
  auto const& queue = lease.queue();
  kind const wanted{.lock_recipe = &queue.lock_recipe(), .ttl = lease.options().ttl, .slot = slot};
  if (last_ == nullptr || wanted != last_kind_) {
    last_ = &open_.try_emplace(wanted, open_batch{.index = 0, .keys = batch_size}).first->second;
    last_kind_ = wanted;
  }
  auto const keys =
      queue.lock_recipe().several == nullptr ? 1 : queue.lock_recipe().several->count(queue.name());
  if (last_->keys + keys > batch_size) {
    all_.emplace_back();
    *last_ = {.index = all_.size() - 1, .keys = 0};
    all_.back().reserve(usual_size);
  }
  all_[last_->index].emplace_back(&lease);
  last_->keys += keys;
}

}  // namespace holdfast::engine
