/// What `holdfast run`, `acquire` and `hold` were told to do.
#pragma once

#include "common/options.hpp"
#include "run/due.hpp"
#include "run/loss_watch.hpp"

#include <holdfast/options.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::cli {

/// The kind of lock: a lock of its own kind, one side of a read-write lock, or one of several slots.
enum class run_side : std::uint8_t { alone, shared, exclusive, slot };

/// After which runs the command runs again, with the lock taken anew.
enum class run_again : std::uint8_t { no, on_loss, always };

/// One of the names that `run` takes, and how.
struct run_name {
  std::string name;
  run_side side = run_side::alone;
  std::int64_t slots = 0;  ///< the number of slots, for run_side::slot
};

struct run_options {
  std::string name;
  std::span<char* const> command;
  std::optional<std::chrono::milliseconds> wait;           ///< empty: for ever
  std::optional<std::chrono::milliseconds> wait_server{};  ///< for a server that can't be reached
  std::chrono::milliseconds ttl{30'000};
  std::chrono::milliseconds max_hold{0};  ///< 0: no limit
  on_lost policy = on_lost::term;
  std::string label{};    ///< shown to callers that find the lock busy
  std::string history{};  ///< client_options::history
  run_side side = run_side::alone;
  run_again again = run_again::no;
  /// The command runs while this process leads the election of that name, with this value.
  std::optional<std::string> lead_value{};
  std::int64_t slots = 0;        ///< the number of slots, for run_side::slot
  std::vector<run_name> with{};  ///< taken together with `name`, all or none
  bool set_slots = false;        ///< numbers of slots may be changed
  int replicas = 0;              ///< how many must acknowledge the lock; 0: none is asked
  bool fsynced = false;          ///< the lock must be on disk, on the master and on the replicas
  holdfast::wire wire = holdfast::wire::automatic;
  bool fair = false;  ///< first come, first served
  bool detect_deadlock = false;
  bool renewed = true;  ///< while it is held
  bool keep = false;    ///< at the end the lock is left to expire
  /// How often the job may run; nullopt: always. When it isn't due, or the lock is busy, there is nothing to
  /// do, which is no failure.
  std::optional<run_limit> limit{};
  common_options server{};  ///< which one
  bool pass_url = false;    ///< the command gets the URL, with its password
};

/// `name`, and those that are taken with it.
[[nodiscard]] std::vector<run_name> names_of(run_options const&);

}  // namespace holdfast::cli
