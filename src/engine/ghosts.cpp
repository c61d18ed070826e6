// Ghosts: what a server with older data than it had (restarted from a snapshot, or a replica that took over)
// knows of acquisitions that are over here. This process is alive, so nobody else can tell.

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>

#include "engine/core.hpp"
#include "script/names.hpp"
#include "scripts/exclusive.hpp"
#include "scripts/quorum.hpp"

namespace holdfast::engine {
namespace {

/// A key that is left on purpose is taken for there so much longer than our clock says, and a fiftieth of its
/// time: nothing hurries to clear away what ends by itself.
constexpr std::chrono::seconds key_slack{10};
constexpr int key_drift = 50;
constexpr std::chrono::hours longest_key{24 * 365 * 100};

/// A bid clears ghosts away so often: the server may refuse. More than once, since a script that the server
/// has forgotten is carried out behind the request that asks again.
constexpr int most_ghosts = 4;

/// Of an owner id; zero: it isn't one of that client's.
std::uint64_t number_under(std::string_view uuid, std::string_view owner) noexcept {
  if (owner.size() <= uuid.size() + 1 || !owner.starts_with(uuid) || owner[uuid.size()] != ':') return 0;
  owner.remove_prefix(uuid.size() + 1);
  std::uint64_t number = 0;
  auto const [end, failure] = std::from_chars(owner.data(), owner.data() + owner.size(), number);
  return failure == std::errc{} && end == owner.data() + owner.size() ? number : 0;
}

/// Ends a wait for a lock of the plain wire of which no more than the name is known.
template <class Script>
call leave_queue(std::string_view name, std::string_view owner, publishing how) {
  auto const counter = names::token_counter(name);
  auto const queue = names::queue(name);
  // Whoever is next is granted it, as where the order is strict: it may be such a lock.
  return Script{.lock = {name},
                .counter = {counter},
                .queue = {queue},
                .owner = owner,
                .starvation_us = 0,
                .grant_ms = grant_ttl.count(),
                .publish = word_of(how)}();
}

}  // namespace

/// Nothing can be alive of it: no bid, no lease, also one that was handed on, and no key that is to stay. It
/// was for one of these names, perhaps with others. Not all locks of the process are gone through for each
/// message that comes late, but those of several names, if there are any.
bool core::is_over(std::uint64_t number, std::span<std::string_view const> names) const {
  if (closing_ || number == 0 || number > last_number_) return false;
  if (bids_.contains(number) || departed_.has_left_key(number, boot_clock::now())) return false;
  for (auto const& [place, those] : shared_holders_) {
    if (those.contains(number)) return false;
  }
  auto const holds = [number](lock_queue const& at) {
    return at.holder != nullptr && at.holder->number() == number;
  };
  auto const has_one_name = [](recipe const* how) { return how->several == nullptr; };
  if (!std::ranges::all_of(kinds_, has_one_name)) return std::ranges::none_of(lines_, holds);
  for (auto const name : names) {
    for (auto const* const how : kinds_) {
      auto const known = lines_.find(line_key{*how, name});
      if (known != lines_.end() && holds(*known)) return false;
    }
  }
  return true;
}

/// A message for a contender that is gone. Usually what ended it has told the server, and this changes
/// nothing. But the server may have fallen back to a time when it waited: then the wake-up, or a grant of two
/// seconds, would be lost on it.
void core::answer_for(std::uint64_t number, std::string_view name) {
  if (name.empty() || !is_over(number, {&name, 1})) return;
  auto const owner = owner_id(number);
  auto const how = how_to_publish();
  servers_->run(is_quorum() ? leave_queue<scripts::quorum::abandon>(name, owner, how)
                            : leave_queue<scripts::exclusive::abandon>(name, owner, how),
                {}, {.while_down = net::retry_policy::endless, .give_up = boot_clock::now() + grant_ttl});
}

/// Is it an acquisition of ours that is in the way, one which is over? Then it is given back (again), and
/// the bid asks once more. Owner ids are never used again, so nobody is harmed by that.
bool core::clear_ghost(lock_queue& at, std::string_view holder) {
  auto const number = number_under(uuid_, holder);
  auto& mine = *at.contender;
  if (number == 0 || mine.ghosts == most_ghosts || at.waiters.empty()) return false;
  if (number == at.releasing) return false;  // the busy reply may be older: where the order is strict it is
  if (!at.protocol().leased || at.protocol().abandon == nullptr) return false;
  std::string_view const name = at.name();
  auto const* const several = at.protocol().several;
  auto const over = several == nullptr ? is_over(number, {&name, 1}) : is_over(number, several->all(name));
  if (!over) return false;
  ++mine.ghosts;
  departed_.note_cleared(number);
  abandon(at, number, mine.policy);
  send_acquire(at);
  return true;
}

/// Its key stays in the server for what is left of the lease and so much more, though nobody holds it here.
void core::note_left_key(lease_state const& what, milliseconds more) noexcept {
  auto const now = boot_clock::now();
  // What sets its last ttl may wait for the server until the deadline.
  std::chrono::nanoseconds const longer = std::min<milliseconds>(more, longest_key);
  auto const end = std::max(now, what.deadline()) + longer;
  auto const drift = (longer + std::chrono::nanoseconds{what.options().ttl}) / key_drift;
  departed_.leave_key(what.number(), end + drift + key_slack, now);
}

/// The server may have lost data: releases that it has carried out not long ago, too. Keys that it has again
/// nobody would give back before the end of their ttl.
void core::repeat_releases() noexcept {
  if (closing_) return;
  for (auto& one : departed_.take_releases(boot_clock::now())) {
    one.policy.publish = how_to_publish();
    std::shared_ptr<departed::given_back> mine;
    try {
      mine = std::make_shared<departed::given_back>(std::move(one));
      auto const owner = owner_id(mine->number);
      servers_->release(*mine->protocol, {.name = mine->name, .owner = owner}, mine->policy,
                        [this, mine](net::response&& answer) {
                          // For the next time: this server may have been the one that has it all.
                          if (!answer.failure) departed_.note_release(*mine);
                        },
                        {.while_down = net::retry_policy::endless, .give_up = mine->deadline});
    } catch (std::bad_alloc const&) {
      departed_.note_release(mine ? *mine : one);  // perhaps there is memory for the next ones
    }
  }
}

}  // namespace holdfast::engine
