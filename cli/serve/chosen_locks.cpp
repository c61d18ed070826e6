#include "serve/chosen_locks.hpp"

#include "show/listing.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <tuple>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

bool contains(std::string_view const text, std::string_view const part) {
  return text.find(part) != std::string_view::npos;
}

bool fits(lock_state const& lock, lock_filter const& filter) {
  if (filter.waited_for && lock.waiting == 0) return false;
  if (!filter.kind.empty() && filter.kind != listing::kind_word(lock)) return false;
  if (!filter.wire.empty() && filter.wire != listing::wire_word(lock)) return false;
  return filter.text.empty() || contains(lock.name, filter.text) ||
         contains(lock.holder.label, filter.text) || contains(lock.holder.host, filter.text) ||
         contains(lock.holder.program, filter.text);
}

/// What comes first where two are equal otherwise.
bool is_before(lock_store::entry const& a, lock_store::entry const& b) {
  return std::tie(a.state.name, a.id) < std::tie(b.state.name, b.id);
}

bool is_before(lock_store::entry const& a, lock_store::entry const& b, lock_filter::order const by) {
  constexpr auto forever = std::chrono::milliseconds::max();
  switch (by) {
    case lock_filter::order::contention: {
      auto const rank = [](lock_store::entry const& each) {
        return std::pair{-each.state.waiting, -each.state.held_for.value_or(0us)};
      };
      if (auto const x = rank(a), y = rank(b); x != y) return x < y;
      break;
    }
    case lock_filter::order::held:
      if (a.state.held_for != b.state.held_for) return a.state.held_for > b.state.held_for;
      break;
    case lock_filter::order::ttl:
      if (a.state.ttl_left != b.state.ttl_left)
        return a.state.ttl_left.value_or(forever) < b.state.ttl_left.value_or(forever);
      break;
    case lock_filter::order::name:
      break;
  }
  return is_before(a, b);
}

}  // namespace

std::pair<std::vector<lock_store::entry const*>, std::size_t> chosen_locks(lock_store const& store,
                                                                           lock_filter const& filter,
                                                                           std::size_t const skipped,
                                                                           std::size_t const at_most) {
  std::vector<lock_store::entry const*> some;
  some.reserve(store.all().size());
  for (auto const& [id, each] : store.all()) {
    if (in_use(each.state) && fits(each.state, filter)) some.push_back(&each);
  }
  auto const count = some.size();
  auto const first = std::min(skipped, count);
  auto const last = std::min(first + at_most, count);
  std::partial_sort(
      some.begin(), some.begin() + static_cast<std::ptrdiff_t>(last), some.end(),
      [&](lock_store::entry const* a, lock_store::entry const* b) { return is_before(*a, *b, filter.by); });
  some.resize(last);
  some.erase(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(first));
  return {std::move(some), count};
}

}  // namespace holdfast::cli
