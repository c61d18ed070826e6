/// `holdfast run`: a command under a lock.
#pragma once

#include "deployment_kind.hpp"
#include "loss_watch.hpp"

#include <holdfast/options.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace holdfast::cli {

/// What is taken: a lock of its own kind, one side of a read-write lock, or one of some slots.
enum class run_side : std::uint8_t { alone, shared, exclusive, slot };

struct run_options {
  std::string name;
  std::span<char* const> command;
  std::optional<std::chrono::milliseconds> wait;  ///< empty: for ever
  std::chrono::milliseconds ttl{30'000};
  std::chrono::milliseconds renew_every{0};  ///< 0: a third of the ttl
  std::chrono::milliseconds max_hold{0};     ///< 0: no limit
  on_lost policy = on_lost::term;
  std::string label{};  ///< shown to those who find the lock busy
  run_side side = run_side::alone;
  std::int64_t slots = 0;  ///< how many there are, for one of them
  int replicas = 0;        ///< that must have acknowledged the lock; 0: none is asked
  bool fsynced = false;    ///< it must be on disk, there and on the replicas
  holdfast::wire wire = holdfast::wire::automatic;
  bool fair = false;  ///< first come, first served
  bool keep = false;  ///< at the end the lock is left to its ttl
  /// At most once in so long, counted from when the command starts; 0: as often as you like. Who finds the
  /// lock busy has nothing to do, which is no failure.
  std::chrono::milliseconds once_per{0};
  std::string url;  ///< empty: choose
};

/// Throws failure with exit_code::usage when such servers haven't got what the options ask for.
void check_fits(run_options const&, deployment_kind servers);

/// Returns what holdfast exits with. Throws failure and holdfast::error.
[[nodiscard]] int run(run_options const&);

}  // namespace holdfast::cli
