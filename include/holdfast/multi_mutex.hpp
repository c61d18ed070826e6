/// Several exclusive locks taken as one: all or none.
#pragma once

#include <holdfast/busy_info.hpp>
#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/lease_view.hpp>
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

/// Owns one acquisition of all names of a multi_mutex. Move-only; releases in its destructor.
///
/// It is made of a lease for each server (of a cluster: for each hash slot of the names), and is what they
/// are together: valid while all are, lost with the first. All that is said of lease about threads, fork and
/// what isn't guaranteed holds here.
class [[nodiscard]] multi_lease {
 public:
  /// No lease: valid() is false.
  multi_lease() noexcept;
  multi_lease(multi_lease&&) noexcept;
  multi_lease& operator=(multi_lease&&) noexcept;  ///< Releases what was held before, as the destructor.
  /// Releases, waiting or not as lock_options::on_destroy says.
  ~multi_lease();

  /// The same as valid().
  [[nodiscard]] explicit operator bool() const noexcept { return valid(); }

  /// All names are held, by this process's own clock: no request.
  [[nodiscard]] bool valid() const noexcept;

  /// Time left until the first deadline.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

  /// The names, as they were given.
  [[nodiscard]] std::vector<std::string> const& names() const noexcept;

  /// The fencing token of that name: greater than that of each earlier lease of it, alone or with others. The
  /// names of one server have the same. Of a name that was given for several servers: the first one's; see
  /// parts(). 0 for a name that isn't among them.
  [[nodiscard]] std::int64_t token(std::string_view name) const noexcept;

  /// Triggered when one of the names is lost: see lease::lost().
  [[nodiscard]] std::stop_token lost() const;

  /// Why the first was lost; `none` while none is.
  [[nodiscard]] loss_cause lost_because() const noexcept;

  /// Calls f once, when the first is lost: see lease::on_lost().
  void on_lost(move_only_function<void(loss_cause)> f);

  /// Asks for a full ttl for all names now. One request to each server, one server after the other. Throws as
  /// lease::renew().
  void renew();

  /// Gives all names back, on all servers at the same time: one request to each. Waits as lease::release()
  /// does. The worst of what came of it; those that are still held go back even if others are lost.
  release_result release() noexcept;

  /// The same without waiting: `done` is called once with the worst outcome. It may be empty.
  void async_release(move_only_function<void(release_result)> done) noexcept;

  /// Finishes without giving them back, on all servers at the same time: see lease::keep_until_expiry().
  release_result keep_until_expiry() noexcept;

  /// The leases that it is made of: one for each server, in the order of the servers' URLs. Ordinary ones:
  /// one that is moved out lives on, and this one isn't valid any more.
  [[nodiscard]] std::vector<lease>& parts() noexcept { return parts_; }

 private:
  friend class multi_mutex;
  friend class multi_lease_view;
  struct contents;
  multi_lease(std::shared_ptr<contents const> shared_contents, std::vector<lease> parts);
  void drop() noexcept;
  template <class Begin, class Alone>
  release_result end_all(Begin begin, Alone alone) noexcept;

  std::shared_ptr<contents const> contents_{};
  std::vector<lease> parts_{};
  std::stop_source lost_{std::nostopstate};  ///< with several parts only
};

/// A look at a multi_lease that somebody else owns, as lease_view is at a lease: what multi_mutex::current()
/// returns. No function sends a request.
class multi_lease_view {
 public:
  /// Of no lease: valid() is false.
  multi_lease_view() noexcept = default;

  /// The same as valid().
  [[nodiscard]] explicit operator bool() const noexcept { return valid(); }

  /// As the functions of multi_lease.
  [[nodiscard]] bool valid() const noexcept;
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;
  [[nodiscard]] std::vector<std::string> const& names() const noexcept;
  [[nodiscard]] std::int64_t token(std::string_view name) const noexcept;
  [[nodiscard]] std::stop_token lost() const;
  [[nodiscard]] loss_cause lost_because() const noexcept;

 private:
  friend class multi_mutex;
  explicit multi_lease_view(multi_lease const& seen);

  std::shared_ptr<multi_lease::contents const> contents_{};
  std::vector<lease_view> parts_{};
  std::stop_token lost_{};  ///< with several parts only
};

/// An exclusive lock on several names at once.
///
///     holdfast::multi_mutex m{redis, {"account:1", "account:2"}};
///     { std::scoped_lock hold{m}; … }                            // as a std::timed_mutex
///     if (auto lease = m.try_acquire_for(2s)) { … }              // as a lease
///     multi_mutex both{{{here, "x"}, {there, "y"}}};             // on two servers
///
/// Each name is the same lock as a mutex of that name: they exclude one another, and wait in one queue.
///
/// *Guarantees.* Those of mutex, for each name. All or none: whoever sees one of the names held by an
/// acquisition that succeeded sees all of them held. No deadlock, whatever order the names are given in and
/// whatever other locks overlap: nothing is held while it waits, but for what the next paragraph says.
/// Nobody starves on one server: names that come free at different times may never be free together, so one
/// that has waited for starvation_limit keeps the names it gets, in their sorted order, for phases that
/// alternate with phases in which it keeps none, each twice as long as the one before. A program that takes
/// the same names one by one, in another order, may be held up by that, but not for ever. (With wake::poll
/// there is no age, and no such help.)
///
/// *Several servers.* What is on one server is taken there in one step. The servers are taken one after the
/// other: it waits for one, tries the others, and when one is busy gives all back, pauses for a random time
/// that grows, and waits for that one first (what it gives back so is free at once, also with
/// lock_options::keep, which counts for what it returns). Nothing is held while it waits for another server,
/// and nothing but chance keeps others from being faster each time. So it does when one can't be asked:
/// outages, and slots that move, are waited out by whoever waits without an end, and told to all others when
/// their time is up (and at once, as errc::unreachable, of a server that its client has never reached).
///
/// *Not guaranteed.* Order of any kind; that servers fail together: a lease on two servers is lost when one
/// of them is.
///
/// *On the wire.* The keys of mutex, for each name. With wire::redisson those of an RLock each, as in its
/// RedissonMultiLock, and without the phases: whoever takes single names all the time, as Java's multi-lock
/// does, can keep it waiting.
///
/// *Cost.* One request for each server to acquire, one to release, one to renew, however many names; none
/// when it passes to a caller of the same process that wants the same names.
///
/// *Threads.* As exclusive_lock.
class multi_mutex {
 public:
  /// A name, and the server that keeps it.
  struct member {
    client& server;
    std::string name;
  };

  /// Called once: with the lease; with neither when a name stayed busy for the time given; or with what went
  /// wrong.
  using acquire_handler = move_only_function<void(std::optional<multi_lease>, std::exception_ptr)>;

  /// Asks no server. Throws std::errc::invalid_argument for no name at all, more than 1000, an empty one or
  /// one of over 64 KiB, one that is given twice (for one server; what() says which), or an option out of
  /// range.
  multi_mutex(client& redis, std::vector<std::string> names, lock_options options = {});
  explicit multi_mutex(std::vector<member> members, lock_options options = {});
  multi_mutex(multi_mutex const&) = delete;
  multi_mutex& operator=(multi_mutex const&) = delete;
  ~multi_mutex();  ///< Unlocks if a thread left it locked.

  /// The names, as they were given.
  [[nodiscard]] std::vector<std::string> const& names() const noexcept;

  // Cpp17TimedLockable: see exclusive_lock, whose functions of these names do and throw the same.

  void lock();
  [[nodiscard]] bool try_lock();
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> const& wait) {
    return try_lock_within(to_wait(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> const& time) {
    return try_lock_for(to_wait(time));
  }
  void unlock();
  [[nodiscard]] std::optional<release_result> last_release() const noexcept;
  [[nodiscard]] multi_lease_view current() const;

  // Lease style.

  [[nodiscard]] multi_lease acquire(std::stop_token stop = {});
  [[nodiscard]] std::optional<multi_lease> try_acquire();
  template <class Rep, class Period>
  [[nodiscard]] std::optional<multi_lease> try_acquire_for(std::chrono::duration<Rep, Period> const& wait,
                                                           std::stop_token stop = {}) {
    return try_acquire_within(to_wait(wait), std::move(stop));
  }
  template <class Clock, class Duration>
  [[nodiscard]] std::optional<multi_lease> try_acquire_until(
      std::chrono::time_point<Clock, Duration> const& time, std::stop_token stop = {}) {
    return try_acquire_within(to_wait(time), std::move(stop));
  }

  /// Who held the first busy name (in sorted order) when an acquisition of these names last found one busy:
  /// see exclusive_lock::last_busy().
  [[nodiscard]] std::optional<busy_info> last_busy();

  // Asynchronous: see exclusive_lock. `done` is called from a client's thread or one that is inside a call of
  // it.

  void async_acquire(acquire_handler done, std::stop_token stop = {});
  void async_try_acquire(acquire_handler done, std::stop_token stop = {}) {
    async_try_acquire_within({}, std::move(done), std::move(stop));
  }
  template <class Rep, class Period>
  void async_try_acquire_for(std::chrono::duration<Rep, Period> const& wait, acquire_handler done,
                             std::stop_token stop = {}) {
    async_try_acquire_within(to_wait(wait), std::move(done), std::move(stop));
  }

 private:
  struct impl;

  [[nodiscard]] bool try_lock_within(std::chrono::nanoseconds wait);
  [[nodiscard]] std::optional<multi_lease> try_acquire_within(std::chrono::nanoseconds wait,
                                                              std::stop_token stop);
  void async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done, std::stop_token stop);

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
