/// A lease: one acquisition of a lock, held until released, expired or lost.
#pragma once

#include <holdfast/export.hpp>
#include <holdfast/move_only_function.hpp>
#include <holdfast/options.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
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
  forced,  ///< somebody releases the lock by force, or takes it over, and has asked this holder to stop
};
/// Its word, for messages.
HOLDFAST_EXPORT [[nodiscard]] std::string_view to_string(loss_cause) noexcept;

/// How a release ended.
enum class release_result {
  released,  ///< the key is gone, or passed on to the next waiter
  lost,      ///< this lease did not hold it any more: see lost_because()
  unknown,   ///< no answer in time; the release is still being tried, and the key ends with its ttl at the
             ///< latest
  kept,      ///< finished; the key is left to its ttl: lock_options::keep, keep_until_expiry()
};
/// Its word, for messages.
HOLDFAST_EXPORT [[nodiscard]] std::string_view to_string(release_result) noexcept;

/// Owns one acquisition. Move-only; releases in its destructor.
///
/// *Guarantees.* While valid() is true, no lease that it excludes is valid anywhere (of a mutex: no other
/// lease of the name), as long as the server keeps what it acknowledged and clock rates differ by under 1 %.
/// The deadline behind valid() counts from before the request was sent, so it passes before the server gives
/// the lock to anybody else. The clock is CLOCK_BOOTTIME, which goes on while the machine is suspended.
///
/// *Not guaranteed.* Work in progress doesn't stop by itself. Look at lost(), or pass token() with each write
/// to a store that refuses older tokens.
///
/// *Threads.* Several threads may call token(), valid(), remaining(), lost_because() and lost() at once on
/// one lease. Release, move and destruction need the lease for themselves. A lease may move between threads.
///
/// *Fork.* In a forked child a lease is not valid, and its release does nothing.
class HOLDFAST_EXPORT [[nodiscard]] lease {
 public:
  /// No lease: valid() is false, token() is 0.
  lease() noexcept;
  lease(lease&&) noexcept;
  lease& operator=(lease&&) noexcept;  ///< Releases what was held before, as the destructor.
  lease(lease const&) = delete;
  lease& operator=(lease const&) = delete;

  /// Releases the lock. Waits for the server's answer as release() does (seconds if the server doesn't
  /// answer), unless lock_options::on_destroy says `async`. Never throws. If the outcome isn't `released`,
  /// the log hook gets it.
  ~lease();

  /// The same as valid().
  [[nodiscard]] explicit operator bool() const noexcept { return valid(); }

  /// Whether the lease is held, by this process's own clock. No request.
  [[nodiscard]] bool valid() const noexcept;

  /// Time left until the deadline; zero if it is lost or released. Grows with each renewal. No request.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

  /// The fencing token: greater than that of each earlier lease of the name, whatever crashed in between. A
  /// reader's is no less than that of the last writer. 0: the kind has none on this wire.
  [[nodiscard]] std::int64_t token() const noexcept;

  /// The name that is locked; empty without a lease. For several names (multi_mutex) it is the text that
  /// messages use: `"a", "b" and 14 more`.
  [[nodiscard]] std::string name() const;

  /// The owner id in Redis: "<client uuid>:<n>". Leases that are handed over inside a process share it.
  [[nodiscard]] std::string owner() const;

  /// Triggered when the lease is lost, no later than its deadline: at once if a renewal is refused, at the
  /// deadline if the server can't be reached. release() doesn't trigger it.
  [[nodiscard]] std::stop_token lost() const;

  /// Why it was lost; `none` if it wasn't.
  [[nodiscard]] loss_cause lost_because() const noexcept;

  /// Calls f once, with the cause, when the lease is lost. If it is lost already, f is called at once, in
  /// this thread. Otherwise f runs on the client's thread, or on a thread that is inside a call of the
  /// client: it must not block or throw. Several functions may be added.
  void on_lost(move_only_function<void(loss_cause)> f);

  /// Calls f once when only `before` is left of lock_options::max_hold: time to come to an end. If that time
  /// has come already, f is called at once, in this thread. Without max_hold, or if the lease is released or
  /// lost earlier, f is never called. It runs on the threads that on_lost() names. A later call replaces the
  /// earlier one. A time of over a century counts as a century, here and in keep_for().
  void on_limit_near(std::chrono::milliseconds before, move_only_function<void()> f);

  /// Asks the server for a full ttl now, instead of at the next renewal. One request, behind a renewal of the
  /// watchdog that is under way. Throws errc::lost if the lease isn't held; errc::unreachable and the like if
  /// the server hasn't answered by the deadline. The lease is lost then, too.
  void renew();

  /// The same without waiting. `done` is called once, with what renew() would throw, or with null; on the
  /// client's thread, or on a thread that is inside a call of the client. If the lease is released meanwhile,
  /// that is errc::lost. Throws errc::lost without a lease, and errc::closed and the like; nothing was begun
  /// then.
  void async_renew(move_only_function<void(std::exception_ptr)> done);

  /// What the destructor does from now on, in place of lock_options::on_destroy. It holds for this
  /// acquisition, and so for the lease that recursive_mutex::reenter(), an upgrade, a downgrade or a wait for
  /// a condition makes of it. Leases that come by <holdfast/coroutine.hpp> or <holdfast/asio.hpp> have
  /// `async`.
  void on_destroy(holdfast::release how) noexcept;

  /// Gives the lock back: one request; two if the first, a short one, finds that others wait; none if the
  /// lock is handed to a waiter in this process. Renewal stops before the request is sent. Waits for the
  /// answer at most reply_timeout + connect_timeout (client_options). A release that isn't answered goes on
  /// in the background until the ttl is over. Afterwards this object holds no lease.
  release_result release() noexcept;

  /// The same without waiting. `done` is called once with the outcome. It may be empty.
  void async_release(move_only_function<void(release_result)> done) noexcept;

  /// Finishes without giving the lock back. Renewal stops, and the key runs out by itself, so nobody has the
  /// lock before. Returns `kept`, or `lost` if the lease was lost before. release() and the destructor do the
  /// same under lock_options::keep.
  ///
  /// No request, with one exception: a lease that a message brought, and that hasn't been renewed yet, sends
  /// one request, which gives the key its ttl, and waits as release() does. While other readers of this
  /// client share the lock (shared_mutex), or other leases of this acquisition are left
  /// (recursive_mutex::reenter), nothing is kept, and the result is `released`: those go on.
  /// Nothing is kept on etcd either: the lock is given back, as by release().
  release_result keep_until_expiry() noexcept;

  /// The same, but the key lasts `left` from now on, instead of what is left of the ttl. One request; waits
  /// as release() does. Zero or less gives the lock back; on etcd any time does.
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
