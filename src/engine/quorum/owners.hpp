/// What a quorum remembers of the owners of votes. No I/O, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"

namespace holdfast::engine {

/// By the number of the owner, for as long as an answer about it is owed. All under the client's lock.
class quorum_owners {
 public:
  /// What has become of an owner.
  struct fate {
    time_point over_since = time_point::max();  ///< released, or given up
    bool won = false;                           ///< it has the lock, or had it
  };
  /// Identifies an acquire_round.
  using round_id = void const*;

  /// The number at the end of an owner's name.
  [[nodiscard]] static std::uint64_t number_of(std::string_view owner) noexcept;

  /// A request for a vote of that owner is about to be sent. Throws std::bad_alloc, and then has no effect.
  void note_request(std::uint64_t owner) { ++asking_[owner].owed; }
  /// The same by a round, which is the last one that has asked that master.
  void note_request(std::uint64_t owner, std::size_t master, round_id round);
  /// The request is answered, or couldn't be sent.
  fate note_answer(std::uint64_t owner) noexcept;
  /// Another round has asked that master since. Only while an answer is owed.
  [[nodiscard]] bool asked_since(std::uint64_t owner, std::size_t master, round_id round) const noexcept;

  /// From here on no vote of this owner counts any more.
  void note_over(std::uint64_t owner, time_point now) noexcept;
  void note_won(std::uint64_t owner) noexcept;

  /// A renewal of its lease is under way. Throws std::bad_alloc, and then has no effect.
  void begin_renewal(std::uint64_t owner) { ++renewing_[owner]; }
  void end_renewal(std::uint64_t owner) noexcept;
  /// False: the lease is over.
  [[nodiscard]] bool renewing(std::uint64_t owner) const noexcept { return renewing_.contains(owner); }

 private:
  /// Vote requests that are not answered.
  struct asking {
    int owed = 0;
    std::vector<round_id> latest{};  ///< by master: the round that asked it last, if one did
    fate owner{};
  };

  std::unordered_map<std::uint64_t, asking> asking_;
  std::unordered_map<std::uint64_t, int>
      renewing_;  ///< leases that aren't over, and their renewals under way
};

}  // namespace holdfast::engine
