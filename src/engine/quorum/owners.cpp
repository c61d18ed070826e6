#include "engine/quorum/owners.hpp"

#include <algorithm>

#include "base/whole_number.hpp"

namespace holdfast::engine {

std::uint64_t quorum_owners::number_of(std::string_view owner) noexcept {
  return leading_number<std::uint64_t>(owner.substr(std::min(owner.rfind(':') + 1, owner.size())));
}

void quorum_owners::note_request(std::uint64_t owner, std::size_t master, round_id round) {
  auto& noted = asking_[owner];
  ++noted.owed;
  try {
    if (noted.latest.size() <= master) noted.latest.resize(master + 1);
  } catch (...) {
    note_answer(owner);
    throw;
  }
  noted.latest[master] = round;
}

quorum_owners::fate quorum_owners::note_answer(std::uint64_t owner) noexcept {
  auto const known = asking_.find(owner);
  auto const result = known->second.owner;
  if (--known->second.owed == 0) asking_.erase(known);
  return result;
}

bool quorum_owners::asked_since(std::uint64_t owner, std::size_t master, round_id round) const noexcept {
  return asking_.find(owner)->second.latest[master] != round;
}

void quorum_owners::note_over(std::uint64_t owner, time_point now) noexcept {
  renewing_.erase(owner);
  if (auto const known = asking_.find(owner); known != asking_.end()) known->second.owner.over_since = now;
}

void quorum_owners::note_won(std::uint64_t owner) noexcept {
  if (auto const known = asking_.find(owner); known != asking_.end()) known->second.owner.won = true;
}

void quorum_owners::end_renewal(std::uint64_t owner) noexcept {
  auto const count = renewing_.find(owner);
  if (count != renewing_.end() && --count->second == 0) renewing_.erase(count);
}

}  // namespace holdfast::engine
