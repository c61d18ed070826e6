
#include "base/distinct.hpp"
#include "inspect/search.hpp"
#include "scripts/inspect.hpp"

namespace holdfast::inspection {
namespace {

namespace lua = scripts::inspect;

// The same as in names_redisson.hpp, for parsing names.
constexpr std::string_view semaphore_prefix{"redisson_sc:"};
constexpr std::string_view latch_prefix{"redisson_countdownlatch__channel__{"};

bool held_or_waited_for(lock_state const& state) {
  return state.wire == wire::redisson && (state.holding > 0 || state.waiting > 0);
}
bool of_hash(lock_state const& state) { return state.type == "hash" && held_or_waited_for(state); }
bool of_permits(lock_state const& state) {
  return state.kind == lock_kind::permits && held_or_waited_for(state);
}
/// A name such as "{a}", which shares its channel with "a".
bool is_twin(std::string_view name) {
  return name.starts_with('{') && name.ends_with('}') && name.find('{', 1) == std::string_view::npos;
}
/// Leaves out locks that are found by their keys. Where neither of two twins has a key, the name without
/// braces is meant.
bool of_channel(lock_state const& state) {
  bool const may_be =
      state.kind == lock_kind::counter || (state.kind == lock_kind::free && !is_twin(state.name));
  return may_be && held_or_waited_for(state);
}
/// Adds the names of a side key or a channel, whose suffix or prefix is cut off already: `{a}` belongs to "a"
/// and to "{a}".
void add_names_of(std::string_view text, std::vector<std::string>& to) {
  if (text.find('{') == std::string_view::npos) return;  // a name without braces is put in braces
  to.emplace_back(text);
  if (text.size() > 2 && is_twin(text)) to.emplace_back(text.substr(1, text.size() - 2));
}

}  // namespace

bool wanted_of_redisson(lock_state const& state) {
  return held_or_waited_for(state) || (state.wire == wire::redisson && state.kind != lock_kind::free);
}

bool find_hashes(search& query) {
  return query.scan(query.pattern(), "hash", [&query](search::keys const& hashes) {
    auto const question = [](std::vector<key> const& some) { return lua::sift{.hashes = some}(); };
    return query.show(query.sifted(hashes, question), of_hash);
  });
}

bool show_permits(search& query, search::keys const& beside) {
  search::keys names;
  for (std::string_view key : beside) {
    if (key.ends_with(permit_suffixes))
      add_names_of(key.substr(0, key.size() - permit_suffixes.size()), names);
  }
  return query.show(std::move(names), of_permits);
}

bool find_waited_for(search& query) {
  std::vector<std::string> names;
  for (std::string_view const text : query.channels("redisson_*")) {
    if (text.starts_with(semaphore_prefix)) add_names_of(text.substr(semaphore_prefix.size()), names);
    if (text.starts_with(latch_prefix) && text.ends_with('}'))
      names.emplace_back(text.substr(latch_prefix.size(), text.size() - latch_prefix.size() - 1));
  }
  make_distinct(names);
  return query.show(std::move(names), of_channel);
}

}  // namespace holdfast::inspection
