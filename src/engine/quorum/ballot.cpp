#include "engine/quorum/ballot.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

std::size_t ballot::count_of(vote state) const noexcept {
  return static_cast<std::size_t>(std::ranges::count(votes_, state, &master_vote::state));
}

/// The other owner with the most votes. Among equals it is the greatest id, so that all contenders come to
/// the same result.
ballot::rival ballot::strongest() const {
  rival best;
  for (auto const& entry : votes_) {
    if (entry.state != vote::to_another) continue;
    std::string_view const owner = entry.busy_reply.holder;
    auto const votes = std::ranges::count_if(votes_, [owner](master_vote const& other) {
      return other.state == vote::to_another && other.busy_reply.holder == owner;
    });
    rival const current{owner, static_cast<std::size_t>(votes)};
    if (std::pair{current.votes, current.owner} > std::pair{best.votes, best.owner}) best = current;
  }
  return best;
}

bool may_have_vote(answer<verdict> const& vote, std::string_view owner) noexcept {
  if (auto const* const failure = vote.failure()) return failure->sent;
  if (auto const* const refusal = vote.refusal()) return refusal->resent;
  auto const* const denial = std::get_if<busy>(vote.outcome());
  return denial == nullptr || denial->holder == owner;
}

ballot::outcome ballot::count() const {
  auto const needed = majority_of(votes_.size());
  auto const own_votes = count_of(vote::given);
  if (own_votes >= needed) return outcome::won;
  auto const best = strongest();
  if (best.votes >= needed) return outcome::held;
  if (count_of(vote::pending) > 0) return outcome::open;
  if (own_votes + count_of(vote::to_another) < needed) {
    return count_of(vote::refused) > 0 ? outcome::refused : outcome::unreachable;
  }
  // Without a vote of ours there is nothing to decide: the others decide, or hold the lock together.
  // (Redisson's RedLock is another owner at each master.)
  if (own_votes == 0 && count_of(vote::to_another) >= needed) return outcome::held;
  // Contenders of the same moment usually see the same votes, so one goes on and the others make way.
  auto const stronger = std::pair{own_votes, std::string_view{owner_}} > std::pair{best.votes, best.owner};
  return own_votes > 0 && stronger ? outcome::ahead : outcome::behind;
}

time_point ballot::earliest() const noexcept {
  auto first = time_point::max();
  for (auto const& entry : votes_) {
    if (entry.state == vote::given) first = std::min(first, entry.sent_at);
  }
  return first;
}

granted ballot::block() const noexcept {
  std::optional<granted> block;
  for (auto const& entry : votes_) {
    if (entry.state != vote::given) continue;
    if (!block) {
      block = entry.tokens;
    } else {
      block->token = std::max(block->token, entry.tokens.token);
      block->count = std::min(block->count, entry.tokens.count);
    }
  }
  return block.value_or(granted{});
}

busy ballot::summary() const {
  constexpr milliseconds unknown{-2};
  busy result{.pttl = unknown, .ahead = -1};
  std::vector<milliseconds> free_in;
  free_in.reserve(votes_.size());
  for (auto const& entry : votes_) {
    if (entry.state == vote::given) {
      free_in.emplace_back(0);
      result.counter = std::max(result.counter, entry.tokens.token + entry.tokens.count - 1);
    } else if (entry.state == vote::to_another) {
      if (entry.busy_reply.pttl.count() >= 0) free_in.push_back(entry.busy_reply.pttl);
      if (entry.busy_reply.pttl == without_ttl) result.pttl = without_ttl;
      result.counter = std::max(result.counter, entry.busy_reply.counter);
      result.ahead = std::max(result.ahead, entry.busy_reply.ahead);
      result.ticket = std::max(result.ticket, entry.busy_reply.ticket);
    }
  }
  result.holder = strongest().owner;
  std::ranges::sort(free_in);
  auto const needed = majority_of(votes_.size());
  if (free_in.size() >= needed) result.pttl = free_in[needed - 1];
  return result;
}

}  // namespace holdfast::engine
