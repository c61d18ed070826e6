#include "inspect/glob.hpp"
#include "inspect/search.hpp"
#include "script/names.hpp"

namespace holdfast::inspection {
namespace {

constexpr std::string_view of_counter{":holdfast_token"};

/// The lock whose token counter this is; empty: it isn't one.
std::string lock_of(std::string_view counter) {
  if (!counter.ends_with(of_counter) || counter.size() < of_counter.size() + 2) return {};
  auto name = counter.substr(0, counter.size() - of_counter.size());
  if (name.back() == ':') {
    name.remove_suffix(1);
  } else {
    name = name.substr(1, name.size() - 2);
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
  // The server sorts out by what the name begins with and the key ends with, and this end by the rest: a name
  // stands in braces or before a colon, and no pattern of Redis's says "perhaps a brace".
  auto const begin = start.text.empty() ? std::string{} : "*" + escaped(start.text);
  what.scan(begin + "*" + std::string{of_counter}, {}, [&what](search::keys const& counters) {
    std::vector<std::string> names;
    for (auto const& key : counters) names.push_back(lock_of(key));
    return what.show(std::move(names), wanted);
  });
}

}  // namespace holdfast::inspection
