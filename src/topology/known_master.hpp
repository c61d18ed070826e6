/// The known master and the failover that it is from. No I/O, no clock: `now` is an argument.
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.hpp"
#include "topology/sentinel_view.hpp"

namespace holdfast::topology {

/// A failover's number (epoch) is always a number that a sentinel has sent, never a guess: a late message
/// can't count as new. Of two words with one number that of a sentinel which leads a failover is the older
/// one (see word_age). An older master replaces a newer one in one case only: a majority of the sentinels
/// reports it for `longest_doubt`, as sentinels do that were set up anew and count from zero.
class known_master {
 public:
  /// Sentinels exchange their state every two seconds, so an older view of a majority isn't mere delay.
  static constexpr std::chrono::seconds longest_doubt{10};

  [[nodiscard]] std::optional<net::server_address> const& where() const noexcept { return master_; }

  /// Takes one sentinel's view. True: it is newer, and its master is the known one from now on.
  bool hear(sentinel_view const& view);

  /// Takes the verdict of all sentinels that answered. False: it is older than the known master, which stays.
  bool weigh(sentinel_verdict const& verdict, time_point now);

  /// When an older verdict of a majority will be accepted; max(): there is none.
  [[nodiscard]] time_point doubted_until() const noexcept {
    return doubted_since_ == time_point{} ? time_point::max() : doubted_since_ + longest_doubt;
  }

 private:
  void know(net::server_address const& master, word_age age);

  std::optional<net::server_address> master_;
  word_age age_{};
  time_point doubted_since_{};
};

}  // namespace holdfast::topology
