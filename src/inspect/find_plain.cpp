#include "inspect/search.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "script/names.hpp"
#include "scripts/inspect.hpp"

namespace holdfast::inspection {
namespace {

constexpr std::string_view of_counter{":holdfast_token"};
constexpr std::string_view of_queue{":holdfast_queue"};
constexpr std::string_view of_counts{":holdfast_counted"};
constexpr std::string_view of_arrivals{":holdfast_arrived"};

/// It has a queue, and no counter by which it would be found a second time.
bool wanted_by_queue(lock_state const& state) { return wanted_of_plain(state) && state.token == 0; }

/// The same for those that have counted a latch down, or arrived at a barrier.
bool wanted_by_members(lock_state const& state) {
  return (state.kind == lock_kind::latch || state.kind == lock_kind::barrier) && state.token == 0 &&
         state.waiting == 0;
}

/// Permits that are out for longer than their counter lives.
bool wanted_by_set(lock_state const& state) {
  return state.wire == wire::plain && state.kind == lock_kind::permits && state.token == 0;
}

}  // namespace

std::string lock_of(std::string_view key, std::string_view suffix) {
  if (!key.ends_with(suffix) || key.size() < suffix.size() + 2) return {};
  auto name = key.substr(0, key.size() - suffix.size());
  if (name.back() == ':') {
    name.remove_suffix(1);
  } else {
    name = name.substr(1, name.size() - 2);
  }
  return names::beside(name, suffix.substr(1)) == key ? std::string{name} : std::string{};
}

bool wanted_of_plain(lock_state const& state) {
  if (state.wire != wire::plain) return false;
  bool const of_holdfast = state.token != 0 || state.kind == lock_kind::exclusive ||
                           state.kind == lock_kind::latch || state.kind == lock_kind::permits ||
                           (state.kind == lock_kind::barrier && state.holding > 0);
  return state.waiting > 0 || (state.kind != lock_kind::free && of_holdfast);
}

bool show_plain(search& query, search::keys const& beside) {
  std::vector<std::string> by_counter;
  std::vector<std::string> by_queue;
  std::vector<std::string> by_members;
  for (auto const& key : beside) {
    by_counter.push_back(lock_of(key, of_counter));
    by_queue.push_back(lock_of(key, of_queue));
    by_members.push_back(lock_of(key, of_counts));
    by_members.push_back(lock_of(key, of_arrivals));
  }
  return query.show(std::move(by_counter), wanted_of_plain, look_for::plain) &&
         query.show(std::move(by_queue), wanted_by_queue, look_for::plain) &&
         query.show(std::move(by_members), wanted_by_members, look_for::plain);
}

search::keys names_of_sets(search& query, search::keys const& sets) {
  return query.sifted(
      sets, [](std::vector<key> const& some) { return scripts::inspect::sift_sets{.sets = some}(); });
}

bool show_sets(search& query) {
  return query.scan(query.pattern(), "zset", [&query](search::keys const& sets) {
    return query.show(names_of_sets(query, sets), wanted_by_set, look_for::plain);
  });
}

}  // namespace holdfast::inspection
