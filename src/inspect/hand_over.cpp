#include <holdfast/inspect.hpp>

#include <array>

#include "base/ranges.hpp"
#include "engine/access.hpp"
#include "engine/record.hpp"
#include "inspect/petitions.hpp"
#include "inspect/states.hpp"
#include "inspect/view.hpp"
#include "sync/leader_watch.hpp"
#include "sync/options_check.hpp"
#include "wire/plain/election.hpp"

namespace holdfast {
namespace {

std::optional<sync::seen_leader> leader_of(engine::core& server, std::string_view name) {
  return sync::read_leader(inspection::ask_one(server, recipes::plain::read_leader(name), name)).leader;
}

/// The script that names a candidate says no.
constexpr std::int64_t first_refusal = 2;

}  // namespace

std::string_view to_string(hand_over_result result) noexcept {
  switch (result) {
    case hand_over_result::handed_over:
      return "handed over";
    case hand_over_result::no_leader:
      return "nobody leads";
    case hand_over_result::not_waiting:
      return "the candidate does not wait";
    case hand_over_result::unanswered:
      return "the leader leads on";
    case hand_over_result::passed_by:
      return "somebody else leads";
  }
  return "unknown";
}

hand_over_result ask_to_hand_over(client& redis, std::string_view name, std::string_view candidate,
                                  std::chrono::milliseconds grace) {
  sync::check(!name.empty(), "an election has a name: it is empty");
  sync::check(!engine::uuid_of(candidate).empty(), "a candidate for \"" + std::string{name} +
                                                       "\" is named by its owner id, not \"" +
                                                       std::string{candidate} + "\"");
  ranges::check(force_options{.grace = grace}, ranges::of_force,
                [](char const* option) { return std::string{option}; });
  auto const server = engine::access::core_of(redis);
  sync::check(
      !server->constants().deployment.etcd,
      server->constants().url +
          ": on etcd a leader can't be asked to hand over: its key has the value that it has proclaimed, "
          "and no place for a question; election::resign_to() names the next candidate");
  server->constants().check_kind(engine::deciders::one);
  auto const leader = leader_of(*server, name);
  if (!leader) return hand_over_result::no_leader;
  if (leader->owner == candidate) return hand_over_result::handed_over;
  auto const naming =
      recipes::plain::nominate({.name = name, .owner = leader->owner}, candidate, server->publishing_now());
  auto const named = inspection::ask_one(*server, naming, name).integer;
  if (named >= first_refusal) return hand_over_result::not_waiting;
  if (named <= 0) return hand_over_result::no_leader;  // it has resigned a moment ago
  lock_state const seen{.name = std::string{name}, .kind = lock_kind::exclusive};
  hold_info const holder{.process = {.owner = leader->owner}};
  std::array const holders{&holder};
  auto const asked = inspection::ask_holders(*server, seen, holders, grace);
  if (asked.front().answer >= 0) return hand_over_result::unanswered;
  auto const now = inspection::look_at(name, server->publishing_now(), 0, inspection::look_for::plain);
  auto const found = inspection::read_states(name, inspection::ask_one(*server, now, name));
  return found.plain.holder.owner == candidate ? hand_over_result::handed_over : hand_over_result::passed_by;
}

}  // namespace holdfast
