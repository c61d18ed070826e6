/// One leader of many candidates, which others can find by the value that it publishes.
#pragma once

#include <holdfast/busy_info.hpp>
#include <holdfast/client.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/move_only_function.hpp>
#include <holdfast/options.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// Who leads.
struct leader_info {
  std::string value{};     ///< what it published: an address, for example; any bytes
  std::int64_t term = 0;   ///< the fencing token of its lease; greater than that of each earlier leader
  process_info process{};  ///< as inspect() knows it; only `owner` is sure to be set
};

/// A subscription to the leaders of an election. It ends with this object. Move-only.
class HOLDFAST_EXPORT [[nodiscard]] leader_observer {
 public:
  leader_observer() noexcept;  ///< observes nothing
  leader_observer(leader_observer&&) noexcept;
  leader_observer& operator=(leader_observer&&) noexcept;
  /// Ends it: no call begins afterwards. Waits for a call that is under way, unless this thread is in it.
  ~leader_observer();

 private:
  friend class election;
  struct HOLDFAST_LOCAL impl;
  explicit leader_observer(std::shared_ptr<impl>) noexcept;
  void end() noexcept;
  std::shared_ptr<impl> impl_;
};

/// An election: candidates campaign with a value, one of them leads, and anybody can see who.
///
///     holdfast::election election{redis, "scheduler"};
///     auto leading = election.campaign("10.0.0.7:8080");   // waits
///     while (leading.valid()) { work(leading.token()); }
///     …
///     auto const leader = election.leader();                // anywhere: leader->value, leader->term
///
/// *Guarantees.* An election is a fair_mutex of its name, with all that this one guarantees: at most one
/// candidate leads, first come first served, and a lease that is renewed, has a deadline and tells of its
/// loss. Its token is the term. Each term is greater than that of each earlier leader. The value that
/// leader() and observers give was published by who held the lock at that moment: what a former leader has
/// left is never taken for the present one's. campaign() returns when the server has the value.
///
/// *Not guaranteed.* A reader of the value may act on it late: it was true when the server answered. Pass the
/// term along, or let the leader check its lease, before anything that only a leader may do.
///
/// *Resigning.* lease::release(), or the destructor of the lease. The first candidate in the queue leads one
/// message later. resign_to() lets a named one lead; ask_to_hand_over() (inspect.hpp) asks for that from
/// elsewhere. A leader that dies is followed at the end of its ttl.
///
/// *On the wire.* The keys and messages of fair_mutex, so another library's lock of that name excludes the
/// leader, and `holdfast ls`, `inspect` and `release --force` know it. Beside it there is one key more, with
/// the value, and a channel. See docs/protocol.md. With wire::redisson, and with several masters that vote,
/// the constructor throws std::errc::invalid_argument: the locks of the one have no tokens, and the masters
/// of the other have no common queue.
///
/// *On etcd* it has the format of Go's concurrency.Election: the value is in the candidate's place in the
/// queue, and can't begin with "holdfast ". Leaders and candidates are known by the leases of their keys, the
/// owners that leader() and candidates() give. resign_to() names the next candidate only. See docs/etcd.md.
///
/// *Cost.* Campaign: the request of a fair_mutex, and one more for the value. Resign: one. leader(): one, and
/// one more to name the process. An observer: one request after each message, and one in
/// client_options::recheck.
///
/// *Threads.* Many threads may use one object. Each campaign is a candidate of its own; those of one client
/// are one after the other in the queue, and only the first is in the server's.
///
/// *Options.* `handoff_limit`, `handoff_time` and `starvation_limit` have no effect. `keep` is refused.
class HOLDFAST_EXPORT election {
 public:
  /// Called once: with the leader's lease; or with neither, if somebody else led for the time given; or with
  /// the error.
  using campaign_handler = move_only_function<void(std::optional<lease>, std::exception_ptr)>;
  /// Called with each leader, and with nullopt when there is none.
  using leader_handler = move_only_function<void(std::optional<leader_info> const&)>;

  /// Asks no server. Throws std::errc::invalid_argument for an empty name, one of over 64 KiB, or an option
  /// out of range.
  election(client& redis, std::string name, lock_options options = {});
  ~election();
  election(election const&) = delete;
  election& operator=(election const&) = delete;

  /// Waits until this candidate leads, and has published the value: any bytes, none at all, at most 64 KiB.
  /// Throws as exclusive_lock::lock(), and errc::cancelled if `stop` is triggered while it waits;
  /// errc::wrong_type also if the key for the value holds something else; std::errc::invalid_argument for a
  /// longer value. If the server doesn't answer between the grant and the value, `stop`, or the end of the
  /// time given, is noticed within reply_timeout + connect_timeout (client_options).
  [[nodiscard]] lease campaign(std::string_view value, std::stop_token stop = {});

  /// Leads if nobody does or waits to; empty otherwise.
  [[nodiscard]] std::optional<lease> try_campaign(std::string_view value) {
    return try_campaign_within(value, {}, {});
  }

  /// Waits at most `wait` to lead; empty if somebody else led for so long. Zero or less tries once. See
  /// exclusive_lock::try_lock_for() for servers that don't answer.
  template <class Rep, class Period>
  [[nodiscard]] std::optional<lease> try_campaign_for(std::string_view value,
                                                      std::chrono::duration<Rep, Period> const& wait,
                                                      std::stop_token stop = {}) {
    return try_campaign_within(value, to_wait(wait), std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<lease> try_campaign_until(std::string_view value,
                                                        std::chrono::time_point<Clock, Duration> const& time,
                                                        std::stop_token stop = {}) {
    return try_campaign_within(value, to_wait(time), std::move(stop));
  }

  /// The same without waiting: these return at once. `done` is called once, as
  /// exclusive_lock::async_acquire() calls its handler; what is said there of leases in `done` and of the
  /// life of the object is true here, too.
  void async_campaign(std::string value, campaign_handler done, std::stop_token stop = {});
  void async_try_campaign(std::string value, campaign_handler done, std::stop_token stop = {}) {
    async_try_campaign_within(std::move(value), {}, std::move(done), std::move(stop));
  }
  template <class Rep, class Period>
  void async_try_campaign_for(std::string value, std::chrono::duration<Rep, Period> const& wait,
                              campaign_handler done, std::stop_token stop = {}) {
    async_try_campaign_within(std::move(value), to_wait(wait), std::move(done), std::move(stop));
  }

  /// Who leads now; empty: nobody, or one that has taken the lock and hasn't published its value yet, or
  /// a holder of the lock that is no leader (a fair_mutex of that name). Throws errc::wrong_type if the key
  /// is no lock; errc::unreachable and the like.
  [[nodiscard]] std::optional<leader_info> leader();

  /// Calls `f` with the leader now (nullopt: none), and with each change from then on, until the observer is
  /// destroyed or the client ends.
  ///
  /// *Order.* Terms never go back: after a leader `f` gets newer ones only, or nullopt. So a leader that a
  /// server with older data brings back is reported as none. Between two leaders there may be a nullopt: the
  /// time in which the new one hasn't published yet.
  ///
  /// *Complete?* Each change is told by a message, and the observer then looks at the server, since a message
  /// proves nothing. So a leader that has gone again by the time of that look (a round trip) isn't reported.
  /// Messages may be lost: the observer looks after each reconnect, at least every client_options::recheck,
  /// and when the leader's ttl should be over.
  ///
  /// *Outages.* While the server can't be asked the last leader stands for what was left of its ttl, and
  /// client_options::reply_timeout longer. Then `f` gets nullopt.
  ///
  /// `f` is called on the client's thread, or on a thread that is inside a call of the client; not by two
  /// threads at a time. It must not throw. Another call waits for it, so it should not block for long.
  [[nodiscard]] leader_observer observe(leader_handler f);

  /// Who waits to lead, first come first served: at most 1000. `owner` is the candidate's id for resign_to().
  /// Each client is in the queue once for each name, however many of its callers campaign. One round trip,
  /// and one more for each client that is to be named.
  [[nodiscard]] std::vector<process_info> candidates();

  /// Resigns in favour of a candidate: its id, as candidates() gives it. It leads next, before all that came
  /// earlier. Empty if it doesn't wait, or if its process is gone: then nothing has changed, and `leading` is
  /// still held. If it dies between the two steps of this call, or leaves the queue, the first of the others
  /// leads.
  ///
  /// Two requests. Otherwise as lease::release(): afterwards `leading` is empty. Throws
  /// std::errc::invalid_argument for a lease of something else, on etcd also for a candidate that isn't the
  /// next one, and errc::unreachable and the like if the
  /// server can't be asked; the lease is unchanged then, but the candidate may have been named: a release of
  /// the lease gives it to that one, if it still waits.
  [[nodiscard]] std::optional<release_result> resign_to(lease& leading, std::string_view candidate);

  /// Who led when a campaign of this object last found that somebody else does: see
  /// exclusive_lock::last_busy().
  [[nodiscard]] std::optional<busy_info> last_busy();

  /// The name, as it was given.
  [[nodiscard]] std::string const& name() const noexcept;

 private:
  struct HOLDFAST_LOCAL impl;

  [[nodiscard]] std::optional<lease> try_campaign_within(std::string_view value,
                                                         std::chrono::nanoseconds wait, std::stop_token stop);
  void async_try_campaign_within(std::string value, std::chrono::nanoseconds wait, campaign_handler done,
                                 std::stop_token stop);

  std::shared_ptr<impl> impl_;  ///< shared with asynchronous campaigns
};

}  // namespace holdfast
