/// The requests of contenders, and the pauses between them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>

#include "engine/acknowledgements.hpp"
#include "engine/contention/contenders.hpp"
#include "engine/contention/fast_path.hpp"
#include "engine/holders.hpp"
#include "engine/presence.hpp"
#include "engine/release/kept_keys.hpp"
#include "engine/release/late_responses.hpp"

namespace holdfast::engine {

/// All under the client's lock; `now` is the time of the event.
class acquire_requests {
 public:
  /// Gets the answer to a request of the contender with that number, which may be over: see
  /// acquire_answers::on_answer.
  using handler =
      std::function<void(lock_queue&, std::uint64_t number, answer<verdict> const&, time_point now)>;

  acquire_requests(reactor::loop& loop, lock_backend& backend, client_constants const& client,
                   lock_queues& queues, holders& held, callers& waiting, contenders& contending,
                   notifications& wake, acknowledgements& acknowledged, pending_releases& releases,
                   kept_keys& kept, late_responses& late, fast_path& fast, presence& own_presence,
                   handler on_answer);

  /// A contender that asks at once. When there is no memory for it, it is begun a little later. `answered`:
  /// the server has replied to this client. The contender may be over afterwards, as after send().
  void begin(lock_queue& queue, time_point now, bool answered = false) noexcept;
  /// For queues whose callers have none.
  void begin_missing(time_point now) noexcept;
  /// The contender asks. It may be over afterwards: a backend may answer before it returns.
  void send(lock_queue& queue, time_point now) noexcept;
  /// Whether a caller that came then waits until the contender of the lock's other side is over. Redisson's
  /// wire lets readers in past a writer that waits, so this client's callers of both sides ask in the order
  /// in which they came. While the server can't be asked, no caller gives way.
  [[nodiscard]] bool gives_way(lock_queue const& queue, time_point came_at) const noexcept;

  /// The contenders that wait ask, from their timers.
  void send_all_soon(time_point now) noexcept;
  /// What the contender would ask.
  [[nodiscard]] acquire_request next(lock_queue& queue, time_point now);

  /// Gives the first caller a contender of its own if this one may have the place of an earlier caller. The
  /// new one joins the server's queue before the old one leaves, so that a grant which the old one has to
  /// give back goes to the first waiter by then.
  bool replace_contender(lock_queue& queue, time_point now) noexcept;
  /// The grant isn't for the amount that the first caller wants: it is given back. `answered`: the server has
  /// replied before.
  void ask_anew(lock_queue& queue, time_point now, bool answered = true) noexcept;

  /// Subscribes the contender to its channels if it has to, and arms the timer for the end of the holder's
  /// ttl or the next re-check. Where the channels are open already the contender asks once more instead.
  void wait_for_wake_up(lock_queue& queue, busy const& reply, time_point now);
  /// The server refuses, but not for long: asks again after a pause.
  void wait_out(lock_queue& queue, std::shared_ptr<error const> const& reason, time_point now) noexcept;

  /// The answer to a request of a contender that is over.
  void drop_orphan(lock_queue& queue, std::uint64_t number, bool copied, time_point now) noexcept;

 private:
  [[nodiscard]] bool stays_back(lock_queue& queue, time_point now) noexcept;
  void try_send(lock_queue& queue, time_point now);
  [[nodiscard]] bool on_acknowledged(lock_queue& queue, std::uint64_t number, acknowledgement const& reached,
                                     time_point now) noexcept;

  reactor::loop& loop_;
  lock_backend& backend_;
  client_constants const& client_;
  lock_queues& queues_;
  holders& holders_;
  callers& callers_;
  contenders& contenders_;
  notifications& notifications_;
  acknowledgements& acknowledgements_;
  pending_releases& pending_releases_;
  kept_keys& kept_keys_;
  late_responses& late_responses_;
  fast_path& fast_path_;
  presence& presence_;
  handler on_answer_;
  std::minstd_rand random_;
};

}  // namespace holdfast::engine
