/// How a client makes itself known while it uses locks: its record and its hint channel.
#pragma once

#include <functional>
#include <holdfast/busy_info.hpp>
#include <string>

#include "engine/lock_backend.hpp"

namespace holdfast::engine {

/// The description of this process. `owner` is left empty.
[[nodiscard]] process_info describe_self(std::string const& label);

/// The record is written ahead of the first request for a lock, so that the holder can be named from the
/// first moment (docs/decisions/0022). The hint channel, which needs a connection of its own, isn't opened
/// for short work, but when anything has been held or waited for half a second. While that lasts the record
/// is rewritten every 20 s; after a key was left to its ttl the record stays as long as the key. All
/// under the client's lock; `now` is the time of the event.
class presence {
 public:
  struct identity {
    std::string uuid;
    std::string label;
  };

  /// `wanted` tells whether anything is held or waited for. `open` opens the hint channel. `traces`: see
  /// held_traces::say; null: this client says none.
  presence(reactor::loop& loop, lock_backend& backend, identity self, std::function<bool()> wanted,
           std::function<void()> open, std::function<std::string(time_point)> traces = nullptr);

  /// Something is held, or waited for.
  void touch(time_point now) noexcept {
    if (!timer_.armed()) start(now);
  }

  /// A lock is about to be asked for: the record goes ahead, unless it was written a short time ago. It waits
  /// for the server for as long as that request (`send`). Without memory it is written later.
  void introduce(time_point now, scripting::send_options send) noexcept;

  /// There are traces to say. False: the server has refused a record; they are said with the next one that
  /// is tried. Throws std::bad_alloc.
  bool say_traces(time_point now);

  /// A key is kept until `when`: its holder can be named until then.
  void stay_until(time_point when, time_point now) noexcept;

  /// Its holder can be named for the next day, also if its process is killed now. A request in an hour.
  void stay_for_a_day(time_point now) noexcept;

  /// Ends the presence: the record goes, unless it is to stay.
  void end(time_point now) noexcept;

 private:
  void start(time_point now) noexcept;
  void look();
  void announce(time_point now, scripting::send_options send);
  [[nodiscard]] bool announced_lately(time_point now) const noexcept;

  reactor::loop& loop_;
  lock_backend& backend_;
  identity identity_;
  std::function<bool()> wanted_;
  std::function<void()> open_;
  std::function<std::string(time_point)> traces_;
  reactor::timer timer_;
  time_point stays_until_{};
  bool announced_ = false;     ///< it may have been written
  time_point announced_at_{};  ///< the clock's epoch: never, or that failed
  time_point tries_again_{};   ///< the server has refused a record: no other before
};

}  // namespace holdfast::engine
