#include "etcd/queue_position.hpp"

#include <algorithm>
#include <span>

#include "etcd/keys.hpp"

namespace holdfast::etcd {

std::vector<std::pair<std::string, std::string>> waits_for(std::string const& prefix, place const& waiter,
                                                           std::string const& name) {
  auto folder = keys::folder(prefix, name);
  if (waiter.reads) return keys::all_but_readers(folder);
  auto end = keys::end_of(folder);
  return {{std::move(folder), std::move(end)}};
}

range oldest_of(std::string const& prefix, std::string const& name) {
  auto const folder = keys::folder(prefix, name);
  return {.key = folder, .end = keys::end_of(folder), .limit = 1};
}

range newest_of(std::string const& prefix, std::string const& name) {
  auto newest = oldest_of(prefix, name);
  newest.sorted = range::order::newest_first;
  return newest;
}

void queue_position::ask(transaction& request, std::string const& prefix, place const& waiter) {
  for (auto const& name : waiter.names) {
    for (auto const& [first, end] : waits_for(prefix, waiter, name)) {
      request.then.emplace_back(range{.key = first,
                                      .end = end,
                                      .sorted = range::order::newest_first,
                                      .limit = 2,  // its own may be among them
                                      .max_create_revision = waiter.revision});
    }
    request.then.emplace_back(oldest_of(prefix, name));
  }
}

queue_position::queue_position(place const& waiter, outcome&& answer, std::size_t from) {
  auto const answers = std::span{answer.answers}.subspan(from);
  auto const of_each = answers.size() / waiter.names.size();
  for (std::size_t i = 0; i != waiter.names.size() && !before; ++i) {
    name = waiter.names[i];
    read(waiter, answers.subspan(i * of_each, of_each));
  }
}

void queue_position::read(place const& waiter, std::span<found> answers) {
  others = 0;
  for (auto& part : answers.first(answers.size() - 1)) {
    others += part.count;
    for (auto& each : part.keys) {
      if (std::ranges::find(waiter.keys, each.key) != waiter.keys.end()) continue;
      if (!before || each.create_revision > before->create_revision) before = std::move(each);
    }
  }
  if (!waiter.reads) --others;  // itself
  first = std::move(answers.back());
}

}  // namespace holdfast::etcd
