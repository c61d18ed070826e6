#include <algorithm>
#include <map>

#include "inspect/search.hpp"
#include "scripts/inspect.hpp"

namespace holdfast::inspection {
namespace {

namespace lua = scripts::inspect;

// As in names_redisson.hpp, for taking names apart.
constexpr std::string_view semaphore_prefix{"redisson_sc:"};
constexpr std::string_view latch_prefix{"redisson_countdownlatch__channel__{"};

bool held_or_waited_for(lock_state const& state) {
  return state.wire == wire::redisson && (state.holding > 0 || state.waiting > 0);
}
bool of_hash(lock_state const& state) { return state.type == "hash" && held_or_waited_for(state); }
bool of_permits(lock_state const& state) {
  return state.kind == lock_kind::permits && held_or_waited_for(state);
}
/// "{a}", whose channel is that of "a".
bool is_twin(std::string_view name) {
  return name.starts_with('{') && name.ends_with('}') && name.find('{', 1) == std::string_view::npos;
}
/// Whatever is found by its keys isn't shown once more. Where nothing stands under either of two twins, the
/// one without braces is meant.
bool of_channel(lock_state const& state) {
  bool const may_be =
      state.kind == lock_kind::counter || (state.kind == lock_kind::free && !is_twin(state.name));
  return may_be && held_or_waited_for(state);
}
/// The names whose side key or channel this text is, behind its prefix or before its suffix: `{a}` is that of
/// "a" and of "{a}".
void add_names_of(std::string_view text, std::vector<std::string>& to) {
  if (text.find('{') == std::string_view::npos) return;  // braces are put round a name without
  to.emplace_back(text);
  if (text.size() > 2 && is_twin(text)) to.emplace_back(text.substr(1, text.size() - 2));
}

}  // namespace

bool wanted_of_redisson(lock_state const& state) {
  return held_or_waited_for(state) || (state.wire == wire::redisson && state.kind != lock_kind::free);
}

bool find_hashes(search& what) {
  return what.scan(what.pattern(), "hash", [&what](search::keys const& hashes) {
    std::map<std::uint16_t, std::vector<key>> by_slot;  // a script's keys are of one
    for (auto const& one : hashes) by_slot[what.server().slot_of(one)].push_back({one});
    std::vector<call> questions;
    questions.reserve(by_slot.size());
    for (auto const& [slot, some] : by_slot) questions.push_back(lua::sift{.hashes = some}());
    auto const answers = ask_all(what.server(), questions, what.pattern());
    std::vector<std::string> names;
    auto answer = answers.begin();
    for (auto const& [slot, some] : by_slot) {
      for (auto const& place : (answer++)->elements)
        names.emplace_back(some[static_cast<std::size_t>(place.integer) - 1].text);
    }
    return what.show(std::move(names), of_hash);
  });
}

bool show_permits(search& what, search::keys const& beside) {
  std::vector<std::string> names;
  for (std::string_view one : beside) {
    if (one.ends_with(permit_suffixes))
      add_names_of(one.substr(0, one.size() - permit_suffixes.size()), names);
  }
  return what.show(std::move(names), of_permits);
}

bool find_waited_for(search& what) {
  std::vector<std::string> names;
  for (std::string_view const text : what.channels("redisson_*")) {
    if (text.starts_with(semaphore_prefix)) add_names_of(text.substr(semaphore_prefix.size()), names);
    if (text.starts_with(latch_prefix) && text.ends_with('}'))
      names.emplace_back(text.substr(latch_prefix.size(), text.size() - latch_prefix.size() - 1));
  }
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return what.show(std::move(names), of_channel);
}

}  // namespace holdfast::inspection
