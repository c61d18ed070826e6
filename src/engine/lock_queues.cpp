#include "engine/lock_queues.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

lock_queues::lock_queues(core* engine, client_constants const& client, std::function<void()> emptied)
    : engine_{engine}, client_{client}, emptied_{std::move(emptied)} {}

lock_queue_ptr lock_queues::pin(recipe const& lock_recipe, std::string_view name) {
  if (auto* const known = find(lock_recipe, name)) return lock_queue_ptr{known};
  if (std::ranges::find(kinds_, &lock_recipe) == kinds_.end()) kinds_.push_back(&lock_recipe);
  auto const& added = *all_.emplace(*this, lock_recipe, name).first;
  return lock_queue_ptr{const_cast<lock_queue*>(&added)};
}

lock_queue* lock_queues::find(recipe const& lock_recipe, std::string_view name) const noexcept {
  auto const known = all_.find(key{lock_recipe, name});
  return known == all_.end() ? nullptr : const_cast<lock_queue*>(&*known);
}

void lock_queues::erase(lock_queue& queue) noexcept {
  all_.erase(all_.find(key{queue}));
  if (all_.empty()) emptied_();
}

void lock_queues::add(lock_queue& queue, std::unique_ptr<contender> opened) noexcept {
  opened->queue = &queue;
  contenders_.insert(contenders_.end(), *opened);  // as a rule it has the greatest number
  queue.contender = std::move(opened);
}

void lock_queues::remove_contender(lock_queue& queue) noexcept { queue.contender.reset(); }

void lock_queues::remove_contenders() noexcept {
  for (auto const& queue : all_) const_cast<lock_queue&>(queue).contender.reset();
}

lock_queue* lock_queues::contending(std::uint64_t number) const noexcept {
  auto const known = contenders_.find(number);
  return known == contenders_.end() ? nullptr : known->queue;
}

void intrusive_ptr_add_ref(lock_queue* queue) noexcept { ++queue->references_; }

void intrusive_ptr_release(lock_queue* queue) noexcept {
  if (--queue->references_ == 0) queue->home_.erase(*queue);
}

core& lock_queue::engine() const noexcept { return home_.engine(); }

client_constants const& lock_queue::client() const noexcept { return home_.client(); }

}  // namespace holdfast::engine
