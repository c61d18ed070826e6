#include "engine/batches.hpp"

#include <functional>

#include "base/hash_slot.hpp"

namespace holdfast::engine {
namespace {

/// Keys in one command: enough to make the command's own cost vanish, and the server's pause (about 1.5 µs
/// each) stay well under a millisecond.
constexpr std::size_t batch_size = 256;

constexpr std::size_t usual_size = 16;

}  // namespace

std::size_t batches::hash::operator()(kind const& one) const noexcept {
  auto const ttl = static_cast<std::size_t>(one.ttl.count());
  return std::hash<void const*>{}(one.how) ^ (ttl * hash_slots + one.slot);
}

void batches::add(lease_state& one, std::uint16_t slot) {
  auto const& at = one.queue();
  kind const mine{.how = &at.protocol(), .ttl = one.options().ttl, .slot = slot};
  if (last_ == nullptr || mine != last_kind_) {
    last_ = &open_.try_emplace(mine, open_batch{.place = 0, .keys = batch_size}).first->second;
    last_kind_ = mine;
  }
  auto const keys = at.protocol().several == nullptr ? 1 : at.protocol().several->count(at.name());
  if (last_->keys + keys > batch_size) {
    all_.emplace_back();
    *last_ = {.place = all_.size() - 1, .keys = 0};
    all_.back().reserve(usual_size);
  }
  all_[last_->place].emplace_back(&one);
  last_->keys += keys;
}

}  // namespace holdfast::engine
