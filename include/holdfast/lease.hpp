/// A lease: one acquisition of a lock, held until released, expired or lost.
#pragma once

#include <holdfast/move_only_function.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace holdfast {

namespace engine {
class core;
class lease_state;
}  // namespace engine

/// Why a lease ended before it was released.
enum class loss_cause : std::uint8_t {
  none,           ///< it has not been lost
  taken_over,     ///< the key belongs to somebody else
  key_gone,       ///< the key was deleted, expired, evicted, or the server lost its data
  unreachable,    ///< the server could not be asked until the deadline
  limit_reached,  ///< max_hold, max_renewals, or the fixed ttl of a lease without watchdog
  closed,         ///< the client was destroyed
  forced,         ///< somebody releases the lock by force, or takes it over, and has asked us to stop
};
[[nodiscard]] std::string_view to_string(loss_cause) noexcept;

/// How a release ended.
enum class release_result {
  released,  ///< the key is gone, or passed on to the next waiter
  lost,      ///< it was not ours any more: see lost_because()
  unknown,   ///< the server did not say in time; it is still being tried, and ends with the ttl at the latest
  kept,      ///< finished, and the key left to its ttl: lock_options::keep, keep_until_expiry()
};
[[nodiscard]] std::string_view to_string(release_result) noexcept;

/// Owns one acquisition. Move-only; releases in its destructor.
///
/// *Guarantees.* While valid() is true no other lease of the same name is valid anywhere, as long as the
/// server keeps what it acknowledged and clock rates differ by under 1 %. The deadline behind valid()
/// counts from before the request left, so it passes before the server gives the lock to anybody else.
/// The clock is CLOCK_BOOTTIME, which goes on through suspend.
///
/// *Not guaranteed.* That work in progress stops by itself: look at lost(), or pass token() with each
/// write to a store that refuses older tokens.
///
/// *Threads.* token(), valid(), remaining(), lost_because() and lost() may be called by several threads
/// at once on one lease; release, move and destruction need the lease for themselves. A lease may move
/// between threads.
///
/// *Fork.* In a forked child a lease is not valid, and its release does nothing.
class [[nodiscard]] lease {
 public:
  /// No lease: valid() is false, token() is 0.
  lease() noexcept;
  lease(lease&&) noexcept;
  lease& operator=(lease&&) noexcept;  ///< Releases what was held before, as the destructor.
  lease(lease const&) = delete;
  lease& operator=(lease const&) = delete;

  /// Releases. Waits for the server's answer as release() does, seconds with a server that doesn't answer,
  /// unless lock_options::on_destroy says `async`. Never throws; the outcome goes to the log hook when it
  /// isn't `released`.
  ~lease();

  /// The same as valid().
  [[nodiscard]] explicit operator bool() const noexcept { return valid(); }

  /// Held, by this process's own clock: no request.
  [[nodiscard]] bool valid() const noexcept;

  /// Time left until the deadline, zero when lost or released; grows with each renewal. No request.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

  /// The fencing token: greater than that of each earlier lease of the name, whatever crashed in between.
  [[nodiscard]] std::int64_t token() const noexcept;

  /// What is locked; empty without a lease. Of several names (multi_mutex) what messages call them:
  /// `"a", "b" and 14 more`.
  [[nodiscard]] std::string name() const;

  /// The owner id as it stands in Redis: "<client uuid>:<n>". Leases handed over inside a process share it.
  [[nodiscard]] std::string owner() const;

  /// Triggered when the lease is lost, no later than its deadline: at once when a renewal is refused, at the
  /// deadline when the server can't be reached. Not triggered by release().
  [[nodiscard]] std::stop_token lost() const;

  /// Why it was lost; `none` while it isn't.
  [[nodiscard]] loss_cause lost_because() const noexcept;

  /// Calls f once, with the cause, when the lease is lost; at once, in this thread, when it is already.
  /// Called from the client's thread or one that is inside a call of the client: f must not block or throw.
  /// Several may be added.
  void on_lost(move_only_function<void(loss_cause)> f);

  /// Calls f once when only `before` is left of lock_options::max_hold: time to come to an end. At once, in
  /// this thread, when that time has come; never without max_hold, and never for a lease that is released or
  /// lost before. Called as on_lost's; a later call replaces the earlier one. Of a time before the limit that
  /// is over a century, a century counts; so for keep_for.
  void on_limit_near(std::chrono::milliseconds before, move_only_function<void()> f);

  /// Asks the server for a full ttl now, instead of at the next renewal. One request, behind a renewal of the
  /// watchdog that is under way. Throws errc::lost when it isn't held; errc::unreachable and the like when
  /// the server hasn't answered by the deadline, at which the lease is lost, too.
  void renew();

  /// Gives the lock back: one request, or none when it passes to a waiter in this process. Renewal stops
  /// before the request leaves. Waits for the answer at most reply_timeout + connect_timeout
  /// (client_options); an unanswered release goes on in the background until the ttl is over. Afterwards this
  /// object holds no lease.
  release_result release() noexcept;

  /// The same without waiting: `done` is called once with the outcome. It may be empty.
  void async_release(move_only_function<void(release_result)> done) noexcept;

  /// Finishes without giving the lock back: renewal stops, and the key runs out by itself, so that nobody has
  /// the lock before. No request, but for a lease that a message brought and that hasn't been renewed yet:
  /// one, which gives the key its ttl, waiting as release() does. `kept`, or `lost` when it was lost before.
  /// What release() and the destructor do under lock_options::keep. While other readers of this client share
  /// the lock (shared_mutex) nothing is kept, and the result is `released`: their leases go on.
  release_result keep_until_expiry() noexcept;

  /// The same, with so much time left from now on, instead of what is left of the ttl: one request, waiting
  /// as release() does. Nothing or less gives the lock back.
  release_result keep_for(std::chrono::milliseconds left) noexcept;

 private:
  friend class engine::lease_state;
  explicit lease(engine::lease_state*) noexcept;
  void drop() noexcept;
  release_result finish_by(std::optional<std::chrono::milliseconds> left) noexcept;
  [[nodiscard]] std::shared_ptr<engine::core> home() const noexcept;

  engine::lease_state* held_ = nullptr;
};

}  // namespace holdfast
