#include "engine/quorum/ballot.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {

std::size_t ballot::with(vote what) const noexcept {
  return static_cast<std::size_t>(std::ranges::count(votes_, what, &master::now));
}

/// Whoever of the others has most votes; of several the one whose name is the greatest, so that all see the
/// same one.
ballot::rival ballot::strongest() const {
  rival best;
  for (auto const& one : votes_) {
    if (one.now != vote::theirs) continue;
    std::string_view const owner = one.why_not.holder;
    auto const votes = std::ranges::count_if(votes_, [owner](master const& other) {
      return other.now == vote::theirs && other.why_not.holder == owner;
    });
    rival const here{owner, static_cast<std::size_t>(votes)};
    if (std::pair{here.votes, here.owner} > std::pair{best.votes, best.owner}) best = here;
  }
  return best;
}

ballot::outcome ballot::count() const {
  auto const needed = majority_of(votes_.size());
  auto const ours = with(vote::ours);
  if (ours >= needed) return outcome::won;
  auto const best = strongest();
  if (best.votes >= needed) return outcome::held;
  if (with(vote::pending) > 0) return outcome::open;
  if (ours + with(vote::theirs) < needed) {
    return with(vote::refused) > 0 ? outcome::refused : outcome::unreachable;
  }
  // With no vote at all there is nothing to decide: others do, or have it together. (Redisson's RedLock is
  // another owner at each master.)
  if (ours == 0 && with(vote::theirs) >= needed) return outcome::held;
  // All who ask at the same time see the same, as a rule, so one of them goes on and the others make way.
  auto const stronger = std::pair{ours, std::string_view{us_}} > std::pair{best.votes, best.owner};
  return ours > 0 && stronger ? outcome::ahead : outcome::behind;
}

time_point ballot::earliest() const noexcept {
  auto first = time_point::max();
  for (auto const& one : votes_) {
    if (one.now == vote::ours) first = std::min(first, one.sent_at);
  }
  return first;
}

granted ballot::block() const noexcept {
  std::optional<granted> block;
  for (auto const& one : votes_) {
    if (one.now != vote::ours) continue;
    if (!block) {
      block = one.tokens;
    } else {
      block->token = std::max(block->token, one.tokens.token);
      block->count = std::min(block->count, one.tokens.count);
    }
  }
  return block.value_or(granted{});
}

busy ballot::summary() const {
  busy result{.pttl = milliseconds{-1}, .ahead = -1};
  std::vector<milliseconds> free_in;
  free_in.reserve(votes_.size());
  for (auto const& one : votes_) {
    if (one.now == vote::ours) {
      free_in.emplace_back(0);
      result.counter = std::max(result.counter, one.tokens.token + one.tokens.count - 1);
    } else if (one.now == vote::theirs) {
      if (one.why_not.pttl.count() >= 0) free_in.push_back(one.why_not.pttl);
      result.counter = std::max(result.counter, one.why_not.counter);
      result.ahead = std::max(result.ahead, one.why_not.ahead);
      result.ticket = std::max(result.ticket, one.why_not.ticket);
    }
  }
  result.holder = strongest().owner;
  std::ranges::sort(free_in);
  auto const needed = majority_of(votes_.size());
  if (free_in.size() >= needed) result.pttl = free_in[needed - 1];
  return result;
}

}  // namespace holdfast::engine
