/// A view of a lease that somebody else owns, for example the thread that has locked a mutex.
#pragma once

#include <holdfast/export.hpp>
#include <holdfast/lease.hpp>

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>

namespace holdfast {

/// Shows a lease without owning it. current() of a lock returns it while std::scoped_lock holds the lock.
///
///     std::scoped_lock hold{orders};
///     auto const mine = orders.current();
///     store.write(order, mine.token());              // fencing token
///     while (more() && !mine.lost().stop_requested()) step();
///
/// A view that outlives its lease is not valid any more. A view keeps nothing locked.
///
/// *Cost.* No function sends a request.
///
/// *Threads.* A view may be copied, and any thread may use it, like an object of the standard library:
/// several threads may call its const functions at once.
///
/// *Fork.* In a forked child a view is not valid.
class HOLDFAST_EXPORT lease_view {
 public:
  /// A view of no lease: valid() is false, token() is 0.
  lease_view() noexcept;
  lease_view(lease_view const&) noexcept;
  lease_view& operator=(lease_view const&) noexcept;
  ~lease_view();

  /// The same as valid().
  [[nodiscard]] explicit operator bool() const noexcept { return valid(); }

  /// Whether the lease is held, by this process's own clock: see lease::valid().
  [[nodiscard]] bool valid() const noexcept;

  /// Time left until the deadline; zero if it is lost or released: see lease::remaining().
  [[nodiscard]] std::chrono::nanoseconds remaining() const noexcept;

  /// The fencing token. It stays the same when the lease is over.
  [[nodiscard]] std::int64_t token() const noexcept;

  /// Triggered when the lease is lost, but not when it is released: see lease::lost(). Never triggered for a
  /// view of no lease. Throws std::bad_alloc.
  [[nodiscard]] std::stop_token lost() const;

  /// Why it was lost; `none` if it wasn't.
  [[nodiscard]] loss_cause lost_because() const noexcept;

  /// As lease::name() and lease::owner().
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::string owner() const;

 private:
  friend class engine::lease_state;
  explicit lease_view(engine::lease_state*) noexcept;

  engine::lease_state* seen_ = nullptr;
};

}  // namespace holdfast
