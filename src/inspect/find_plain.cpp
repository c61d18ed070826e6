#include "inspect/glob.hpp"
#include "inspect/search.hpp"
#include "script/names.hpp"

namespace holdfast::inspection {
namespace {

constexpr std::string_view prefix{"holdfast_token:"};

/// The lock whose token counter this is; empty: it isn't one.
std::string lock_of(std::string_view counter) {
  if (!counter.starts_with(prefix) || counter.size() < prefix.size() + 2) return {};
  auto name = counter.substr(prefix.size());
  if (name.front() == '{') {
    name = name.substr(1, name.size() - 2);
  } else {
    name.remove_prefix(1);
  }
  return names::token_counter(name) == counter ? std::string{name} : std::string{};
}

bool wanted(lock_state const& state) {
  if (state.wire != wire::plain) return false;
  bool const of_holdfast = state.token != 0 || state.kind == lock_kind::exclusive;
  return state.waiting > 0 || (state.kind != lock_kind::free && of_holdfast);
}

}  // namespace

void find_plain(search& what) {
  auto const start = start_of(what.pattern());
  if (start.complete) {
    what.show({start.text}, wanted);
    return;
  }
  // The server sorts out by the beginning, and this end by the rest: a name stands in braces or behind a
  // colon, and no pattern of Redis's says "the brace again, if there was one".
  what.scan(escaped(prefix) + "[{:]" + escaped(start.text) + "*", {}, [&what](search::keys const& counters) {
    std::vector<std::string> names;
    for (auto const& key : counters) names.push_back(lock_of(key));
    return what.show(std::move(names), wanted);
  });
}

}  // namespace holdfast::inspection
