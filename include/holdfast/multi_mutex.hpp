/// Several names taken as one, all or none: to write, to read, or as permits.
#pragma once

#include <holdfast/busy_info.hpp>
#include <holdfast/client.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/lease_view.hpp>
#include <holdfast/move_only_function.hpp>
#include <holdfast/multi_name.hpp>
#include <holdfast/options.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// Owns one acquisition of all names of a multi_mutex. Move-only; releases in its destructor.
///
/// It consists of one lease for each server (in a cluster of Redis: for each hash slot of the names). It is
/// valid while all of them are, and lost with the first. What lease says about threads, fork and what isn't
/// guaranteed holds here, too.
class HOLDFAST_EXPORT [[nodiscard]] multi_lease {
 public:
  /// No lease: valid() is false.
  multi_lease() noexcept;
  multi_lease(multi_lease&&) noexcept;
  multi_lease& operator=(multi_lease&&) noexcept;  ///< Releases what was held before, as the destructor.
  /// Releases. lock_options::on_destroy says whether it waits.
  ~multi_lease();

  /// The same as valid().
  [[nodiscard]] explicit operator bool() const noexcept { return valid(); }

  /// Whether all names are held, by this process's own clock. No request.
  [[nodiscard]] bool valid() const noexcept;

  /// Time left until the first deadline.
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

  /// The names, as they were given.
  [[nodiscard]] std::vector<std::string> const& names() const noexcept;

  /// The fencing token of that name. It is greater than that of each earlier lease of the name, alone or with
  /// others; of a name to read at least that of the last writer, and of all readers that were there before.
  /// All names of one server have the same token. If a name was given for several servers, this is the first
  /// one's token; see parts(). 0 for a name that isn't among them.
  [[nodiscard]] std::int64_t token(std::string_view name) const noexcept;

  /// Triggered when one of the names is lost: see lease::lost().
  [[nodiscard]] std::stop_token lost() const;

  /// Why the first one was lost; `none` if none was.
  [[nodiscard]] loss_cause lost_because() const noexcept;

  /// Calls f once, when the first one is lost: see lease::on_lost().
  void on_lost(move_only_function<void(loss_cause)> f);

  /// Asks for a full ttl for all names now. One request to each server, one server after the other. Throws as
  /// lease::renew() does.
  void renew();

  /// What the destructor does from now on: see lease::on_destroy().
  void on_destroy(holdfast::release how) noexcept;

  /// Gives all names back, on all servers at the same time: one request to each. Waits as lease::release()
  /// does. Returns the worst outcome. Names that are still held go back even if others are lost.
  release_result release() noexcept;

  /// The same without waiting. `done` is called once with the worst outcome. It may be empty.
  void async_release(move_only_function<void(release_result)> done) noexcept;

  /// Finishes without giving them back, on all servers at the same time: see lease::keep_until_expiry().
  release_result keep_until_expiry() noexcept;

  /// The leases of which it consists: one for each server, in the order of the servers' URLs. They are
  /// ordinary leases. If one is moved out, it lives on, and this object isn't valid any more.
  [[nodiscard]] std::vector<lease>& parts() noexcept { return parts_; }

 private:
  friend class multi_mutex;
  friend class multi_lease_view;
  struct HOLDFAST_LOCAL contents;
  multi_lease(std::shared_ptr<contents const> shared_contents, std::vector<lease> parts);
  void drop() noexcept;
  template <class Begin, class Alone>
  release_result end_all(Begin begin, Alone alone) noexcept;

  std::shared_ptr<contents const> contents_{};
  std::vector<lease> parts_{};
  std::stop_source lost_{std::nostopstate};  ///< with several parts only
};

/// A view of a multi_lease that somebody else owns, as lease_view is of a lease. multi_mutex::current()
/// returns it. No function sends a request.
class HOLDFAST_EXPORT multi_lease_view {
 public:
  /// A view of no lease: valid() is false.
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

/// A lock on several names at once.
///
///     holdfast::multi_mutex m{redis, {"account:1", "account:2"}};
///     { std::scoped_lock hold{m}; … }                            // as a std::timed_mutex
///     if (auto lease = m.try_acquire_for(2s)) { … }              // as a lease
///     multi_mutex both{{{here, "x"}, {there, "y"}}};             // on two servers
///     multi_mutex transfer{redis, {write("account:7"), read("rates"), permits("api", 2)}};
///
/// Each name is the same lock as that of its kind, and waits in the queue of that: a name alone, or to write,
/// as a mutex of that name; a name to read as a reader of a shared_mutex; permits as those of an
/// expiring_semaphore. They exclude, are excluded, and wake one another as these do.
///
/// *Guarantees.* Those of its kind, for each name. In addition:
/// - All or none. If one of the names is held by an acquisition that succeeded, all of them are.
/// - No deadlock, whatever the order of the names, and whatever other locks overlap. An acquisition holds
///   nothing while it waits, with one exception, which is next.
/// - On one server nobody starves. Names that come free at different times may never be free together. So an
///   acquisition that has waited for starvation_limit keeps the names that it gets, in sorted order, for some
///   time, then keeps none for some time, and so on. Each such phase is twice as long as the one before. A
///   program that takes the same names one by one, in another order, may be held up by that, but not for
///   ever. With wake::poll there is no age, and so no such help.
/// - Of others nobody starves either: it doesn't read past a writer that waits, nor take permits past
/// somebody
///   who came earlier for some. A name to write it may take past others, as a mutex does.
///
/// *Names to read, and permits.* lock_options::policy has no effect: a name to read is taken in the order of
/// arrival, behind a writer that waits, and a shared_mutex of that name with a policy of its own goes ahead
/// of it, or in past it, as of any other. handoff_limit and handoff_time have none either: each caller of a
/// process has an acquisition of its own, and if none of the names is to write, several may have them at the
/// same time. More permits than the semaphore has altogether are waited for until there are
/// more, and nothing is kept meanwhile.
///
/// *Several servers.* All names on one server are taken there in one step. The servers are taken one after
/// the other: the acquisition waits for one server and tries the others. If one of these is busy, it gives
/// everything back, pauses for a random time that grows, and waits for that server first. What it gives back
/// in this way is free at once, also with lock_options::keep, which counts only for the lease that is
/// returned. Nothing is held while it waits for another server, so it is chance whether others are faster
/// each time. The same happens if a server can't be asked: a call without a limit waits out outages and
/// moving slots, and the others are told when their time is up. A server that the client has never reached is
/// told to a call without a limit, too, as errc::unreachable.
///
/// If a server can't be asked (an outage, a slot that moves), a caller that waits without a limit waits until
/// it is back. Other callers get the error when their time is up. If the client has never reached that
/// server, they get errc::unreachable at once. To notice that a server doesn't answer takes a try of at most
/// connect_timeout + reply_timeout (client_options), by which a call may be late, as with one name; what it
/// had got from other servers is held meanwhile.
///
/// *On etcd.* Names of one cluster are taken in one transaction: 42 at most, and all to write. read() and
/// permits() are for one name beside names on other servers. Who waits has a place in the queues of all names
/// at once, for a second; in none for the next second, in all for two, and so on. So it holds up others also
/// before starvation_limit, which has no effect, and for as long as has been said above. Nobody starves. One
/// of the servers may be a Redis and another one etcd, for a fleet that moves: docs/etcd.md, *From Redis to
/// etcd*.
///
/// *Not guaranteed.* Order of any kind. Servers don't fail together: a lease on two servers is lost if one of
/// them is.
///
/// *On the wire.* The keys of its kind, for each name. With wire::redisson those of an RLock each, as in
/// Redisson's RedissonMultiLock, and without the phases: a program that takes single names all the time, as
/// Java's multi-lock does, can keep it waiting. All names are to write there.
///
/// *Cost.* One request for each server (in a cluster: for each hash slot of the names) to acquire, one to
/// release, one to renew, however many names there are, and of whichever kinds. None if the lock passes to a
/// caller of the same process that wants the same names, all to write; on etcd it is given back and acquired.
///
/// *Threads.* As exclusive_lock.
class HOLDFAST_EXPORT multi_mutex {
 public:
  /// A name, how it is taken, and the server that keeps it.
  struct member {
    client& server;   ///< the server that keeps it
    multi_name name;  ///< the name, and how it is taken
  };

  /// Called once: with the lease; or with neither, if a name stayed busy for the time given; or with the
  /// error.
  using acquire_handler = move_only_function<void(std::optional<multi_lease>, std::exception_ptr)>;

  /// Asks no server. Throws std::errc::invalid_argument for an option out of range, for no name or more than
  /// 1000, for a name that is empty or longer than 64 KiB, for a name that is given twice for one server
  /// (what() says which, and of which kinds), for less than one permit or more than the size that is given
  /// with them, on Redisson's wire for a name that isn't to write, and on etcd for names that it can't take
  /// together.
  multi_mutex(client& redis, std::vector<std::string> names, lock_options options = {});
  multi_mutex(client& redis, std::initializer_list<multi_name> names, lock_options options = {});
  multi_mutex(client& redis, std::span<multi_name const> names, lock_options options = {});
  explicit multi_mutex(std::vector<member> members, lock_options options = {});
  multi_mutex(multi_mutex const&) = delete;
  multi_mutex& operator=(multi_mutex const&) = delete;
  ~multi_mutex();  ///< Unlocks if a thread left it locked.

  /// The names, as they were given.
  [[nodiscard]] std::vector<std::string> const& names() const noexcept;

  /// Cpp17TimedLockable. These functions do and throw the same as those of exclusive_lock.
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

  /// Lease style: see exclusive_lock.
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

  /// Who held the first busy name, in sorted order, when an acquisition of these names last found one busy:
  /// see exclusive_lock::last_busy().
  [[nodiscard]] std::optional<busy_info> last_busy();

  /// The same without waiting: see exclusive_lock. `done` runs on a client's thread, or on a thread that is
  /// inside a call of a client.
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
  struct HOLDFAST_LOCAL impl;

  [[nodiscard]] bool try_lock_within(std::chrono::nanoseconds wait);
  [[nodiscard]] std::optional<multi_lease> try_acquire_within(std::chrono::nanoseconds wait,
                                                              std::stop_token stop);
  void async_try_acquire_within(std::chrono::nanoseconds wait, acquire_handler done, std::stop_token stop);

  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast
