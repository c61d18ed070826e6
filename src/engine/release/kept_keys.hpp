/// Keys of ours that stay in the server after their lease: for its ttl, or for another one.
#pragma once

#include <memory>
#include <optional>

#include "engine/client_constants.hpp"
#include "engine/deferred_log.hpp"
#include "engine/delayed_calls.hpp"
#include "engine/departed.hpp"
#include "engine/lease_state.hpp"
#include "engine/lock_backend.hpp"
#include "engine/presence.hpp"
#include "engine/release/late_responses.hpp"
#include "engine/release/owed_requests.hpp"

namespace holdfast::engine {

/// Gives such a key its last ttl, until the server has confirmed it, and notes it, so that it is no ghost.
/// All under the client's lock; `now` is the time of the event.
class kept_keys {
 public:
  kept_keys(lock_backend& backend, client_constants const& client, deferred_log& log, departed& past,
            late_responses& late, presence& own_presence, delayed_calls& delayed,
            owed_requests& owed) noexcept
      : backend_{backend},
        client_{client},
        log_{log},
        departed_{past},
        late_{late},
        presence_{own_presence},
        delayed_{delayed},
        owed_{owed} {}

  /// The key stays for the rest of the lease plus `more`, though this process doesn't hold it; unless `kept`,
  /// until its holder gives it back.
  void note(lease_state const& lease, milliseconds more, bool kept, time_point now) noexcept;

  /// Leaves the key of a lease that is over here: for its ttl, or for `remaining`.
  void leave(lease_state& lease, std::optional<milliseconds> remaining, time_point now,
             release_handler done) noexcept;

  /// Gives the key a ttl until `until`; of no use after `deadline`.
  void set_last_ttl(lock_queue& queue, std::uint64_t number, time_point until, time_point deadline,
                    time_point now) noexcept;

 private:
  struct leaving;
  void set_last_ttl(std::shared_ptr<leaving> const& pending, time_point now) noexcept;
  void send(std::shared_ptr<leaving> const& pending, time_point now);
  void send_again(std::shared_ptr<leaving> const& pending, std::chrono::milliseconds pause,
                  time_point now) noexcept;
  void on_answer(std::shared_ptr<leaving> const& pending, answer<ownership> const& result,
                 time_point now) noexcept;
  void owe(lock_queue& queue, std::uint64_t number, time_point until, time_point deadline,
           time_point now) noexcept;

  lock_backend& backend_;
  client_constants const& client_;
  deferred_log& log_;
  departed& departed_;
  late_responses& late_;
  presence& presence_;
  delayed_calls& delayed_;
  owed_requests& owed_;
};

}  // namespace holdfast::engine
