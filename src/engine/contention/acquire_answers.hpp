/// What the answers to acquire requests mean for a queue's contender and its callers.
#pragma once

#include <cstdint>
#include <holdfast/client.hpp>

#include "engine/contention/ghosts.hpp"
#include "engine/contention/grants.hpp"

namespace holdfast::engine {

/// Replies and messages bring the same news, so each step may find that the other was faster. All under the
/// client's lock; `now` is the time of the event, after the answer has come.
class acquire_answers {
 public:
  acquire_answers(client_constants const& client, client_stats& counts, callers& waiting,
                  contenders& contending, acquire_requests& requests, grants& granting, ghosts& clearing,
                  notifications const& wake, presence& own_presence, fast_path& fast) noexcept
      : client_{client},
        stats_{counts},
        callers_{waiting},
        contenders_{contending},
        requests_{requests},
        grants_{granting},
        ghosts_{clearing},
        notifications_{wake},
        presence_{own_presence},
        fast_path_{fast} {}

  /// To a request of the contender with that number, which may be over.
  void on_answer(lock_queue& queue, std::uint64_t number, answer<verdict> const& result,
                 time_point now) noexcept;

  // The same for a contender that isn't over. They throw std::bad_alloc.
  void on_verdict(lock_queue& queue, verdict const& found, time_point sent_at, time_point now);
  void on_refused(lock_queue& queue, refused const& refusal, time_point now);
  void on_failed(lock_queue& queue, failed const& failure, time_point now);

 private:
  void on_undecided(lock_queue& queue, answer<verdict> const& result, time_point now) noexcept;
  void on_busy(lock_queue& queue, busy const& seen, time_point sent_at, time_point now);

  client_constants const& client_;
  client_stats& stats_;
  callers& callers_;
  contenders& contenders_;
  acquire_requests& requests_;
  grants& grants_;
  ghosts& ghosts_;
  notifications const& notifications_;
  presence& presence_;
  fast_path& fast_path_;
};

}  // namespace holdfast::engine
