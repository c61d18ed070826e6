/// How a client makes itself known while it has to do with locks: its record, and its inbox.
#pragma once

#include <functional>
#include <holdfast/busy_info.hpp>
#include <string>

#include "engine/lock_backend.hpp"

namespace holdfast::engine {

/// What this process says of itself. `owner` is left empty.
[[nodiscard]] process_info describe_self(std::string const& label);

/// Short work is nobody's business: half a second after the first lease or wait of a busy time, if there
/// still is any, the record is written and the inbox opened, so that the holder can be named and asked. The
/// record is written again every 20 s for as long as there is anything; that of a client which left a key to
/// its ttl stays as long as that. All under the client's lock.
class presence {
 public:
  struct identity {
    std::string uuid;
    std::string label;
  };

  /// `wanted`: is there anything held or waited for? `open`: opens the inbox.
  presence(reactor::loop& on, lock_backend& whom, identity who, std::function<bool()> wanted,
           std::function<void()> open);

  /// Something is held, or waited for.
  void touch() noexcept {
    if (!timer_.armed()) start();
  }

  /// A key is kept until then: who kept it can be named for so long.
  void stay_until(time_point when) noexcept;

  /// The client ends: its record goes, unless it is to stay.
  void end() noexcept;

 private:
  void start() noexcept;
  void look();
  void announce();

  reactor::loop& on_;
  lock_backend& backend_;
  identity identity_;
  std::function<bool()> wanted_;
  std::function<void()> open_;
  reactor::timer timer_;
  time_point stays_until_{};
  bool announced_ = false;
  bool refused_ = false;  ///< the server won't have records: not asked for again
};

}  // namespace holdfast::engine
