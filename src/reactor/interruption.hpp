/// Makes the thread that drives a loop return from Asio.
#pragma once

#include <atomic>
#include <utility>

#include "reactor/io_context.hpp"
#include "reactor/room_for_one.hpp"

namespace holdfast::reactor {

/// Under the client's lock, but for take_told(). Outlives the io_context.
class interruption {
 public:
  /// A turn begins.
  void begin_turn() noexcept { wanted_ = false; }

  /// The driver is to return from Asio in this turn.
  void want(boost::asio::io_context& io) noexcept;

  /// Whether the post has run since the last call; for the driver alone.
  [[nodiscard]] bool take_told() noexcept { return std::exchange(told_, false); }

 private:
  room_for_one room_;
  bool wanted_ = false;
  std::atomic<bool> posted_{false};  ///< the post hasn't run yet
  bool told_ = false;                ///< it has; of the driver alone
};

}  // namespace holdfast::reactor
