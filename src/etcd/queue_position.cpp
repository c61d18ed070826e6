#include "etcd/queue_position.hpp"

#include <span>

#include "etcd/keys.hpp"

namespace holdfast::etcd {

std::vector<std::pair<std::string, std::string>> waits_for(std::string const& prefix, place const& waiter) {
  auto folder = keys::folder(prefix, waiter.name);
  if (waiter.reads) return keys::all_but_readers(folder);
  auto end = keys::end_of(folder);
  return {{std::move(folder), std::move(end)}};
}

range oldest_of(std::string const& prefix, place const& waiter) {
  auto const folder = keys::folder(prefix, waiter.name);
  return {.key = folder, .end = keys::end_of(folder), .limit = 1};
}

void queue_position::ask(transaction& request, std::string const& prefix, place const& waiter) {
  for (auto const& [first, end] : waits_for(prefix, waiter)) {
    request.then.emplace_back(range{.key = first,
                                    .end = end,
                                    .sorted = range::order::newest_first,
                                    .limit = 2,  // its own may be among them
                                    .max_create_revision = waiter.revision});
  }
  request.then.emplace_back(oldest_of(prefix, waiter));
}

queue_position::queue_position(place const& waiter, outcome&& answer, std::size_t from)
    : first{std::move(answer.answers.back())} {
  answer.answers.pop_back();
  for (auto& part : std::span{answer.answers}.subspan(from)) {
    others += part.count;
    for (auto& each : part.keys) {
      if (each.key == waiter.key) continue;
      if (!before || each.create_revision > before->create_revision) before = std::move(each);
    }
  }
  if (!waiter.reads) --others;  // itself
}

}  // namespace holdfast::etcd
