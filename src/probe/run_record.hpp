/// The record of the last run under a lock (docs/protocol.md): read to find out whether a job is due,
/// and written by the holder of the lock.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::probe {

/// A look at the record.
struct run_look {
  run_info::time_point now{};      ///< the server's clock
  std::optional<run_info> last{};  ///< nullopt: no run is known
  bool held_by_runner = false;     ///< the last runner still holds the lock
};

/// What several masters say, in one: the middle of their clocks, and the newest run that one of them knows.
/// The record is written to a majority, so any other majority has at least one that knows it.
[[nodiscard]] run_look in_one(std::span<run_look const> looks);

/// What must have a note before it is believed.
struct run_durability {
  int replicas = 0;
  bool on_disk = false;
  std::chrono::milliseconds within{};  ///< how long it is waited for

  [[nodiscard]] bool any() const noexcept { return replicas > 0 || on_disk; }
};

/// This process as the one that runs.
[[nodiscard]] process_info runner_here(std::string owner, std::string const& label);

/// Each operation blocks until the server answers, of a quorum until all masters have answered or failed to.
/// Throws errc::unreachable and the like.
class run_record {
 public:
  /// `url`: what `redis` was made of. With redis+quorum:// each master is asked by a connection of its own.
  run_record(client& redis, std::string_view url, std::string lock);
  ~run_record();
  run_record(run_record const&) = delete;
  run_record& operator=(run_record const&) = delete;

  [[nodiscard]] run_look look();

  /// Notes a run in place of the last one, for `life` from now on. False: the lock isn't that owner's any
  /// more, and nothing was noted. `wanted` is for one server, not for a quorum. Throws errc::unreplicated if
  /// it isn't reached.
  [[nodiscard]] bool note(run_info const& run, std::chrono::milliseconds life, run_durability wanted = {});

  /// Forgets the last run if it was that owner's, whose the lock may not be any more. False: another one has
  /// been noted since, or none is known.
  bool forget(std::string_view owner);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::probe
