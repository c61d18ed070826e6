#include "serve/lock_news.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace holdfast::cli {

void lock_news::add(lock_store& store, lock_state const& lock, lock_store::time const now,
                    lock_store::day_time const at) {
  auto const before = store.change_count();
  if (store.saw(lock, now, at)) ids_.push_back(store.find(lock.name, lock.wire)->id);
  // These alone: other threads look at other locks meanwhile, and tell of theirs.
  auto const& all = store.changes();
  auto const made =
      static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(store.change_count() - before, all.size()));
  changes_.insert(changes_.end(), all.end() - made, all.end());
}

json lock_news::to_json(lock_store const& store, std::string_view const deployment,
                        lock_store::time const now) {
  std::ranges::sort(ids_);
  ids_.erase(std::ranges::unique(ids_).begin(), ids_.end());
  auto locks = json::list();
  auto changes = json::list();
  for (auto const& id : ids_) {
    if (auto const* const found = store.find(id)) locks.add(cli::to_json(*found, deployment, now));
  }
  for (auto const& each : changes_) changes.add(cli::to_json(each));
  json object;
  object.set("deployment", deployment).set("locks", std::move(locks)).set("changes", std::move(changes));
  return object;
}

}  // namespace holdfast::cli
