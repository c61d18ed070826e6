/// Asynchronous operations as values: the functions of locks that begin with async_, before they have begun.
/// <holdfast/coroutine.hpp> awaits them, <holdfast/asio.hpp> gives them a completion token.
#pragma once

#include <holdfast/barrier.hpp>
#include <holdfast/condition.hpp>
#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/operation.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/wait_time.hpp>

#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace holdfast::async {

/// The operations on a lease that is lent, or given.
namespace detail {

template <class Hooks>
auto upgrade(shared_mutex& lock, Hooks hooks, std::stop_token stop) {
  return make<lease, bool>(std::move(hooks), std::move(stop),
                           [&lock](Hooks& own, auto done, std::stop_token until) {
                             lock.async_upgrade(own.take(), on_lease_and<bool>(std::move(done)), until);
                           });
}
template <class Hooks>
auto try_upgrade_for(shared_mutex& lock, Hooks hooks, std::chrono::nanoseconds wait, std::stop_token stop) {
  return make<lease, bool>(
      std::move(hooks), std::move(stop), [&lock, wait](Hooks& own, auto done, std::stop_token until) {
        lock.async_try_upgrade_for(own.take(), wait, on_lease_and<bool>(std::move(done)), until);
      });
}
template <class Hooks>
auto wait(condition& changed, Hooks hooks, std::stop_token stop) {
  return make<lease, std::cv_status>(
      std::move(hooks), std::move(stop), [&changed](Hooks& own, auto done, std::stop_token until) {
        changed.async_wait(own.take(), on_lease_and<std::cv_status>(std::move(done)), until);
      });
}
template <class Hooks>
auto wait_for(condition& changed, Hooks hooks, std::chrono::nanoseconds time, std::stop_token stop) {
  return make<lease, std::cv_status>(
      std::move(hooks), std::move(stop), [&changed, time](Hooks& own, auto done, std::stop_token until) {
        changed.async_wait_for(own.take(), time, on_lease_and<std::cv_status>(std::move(done)), until);
      });
}

}  // namespace detail

// Locks whose acquisition is a lease: exclusive_lock, shared_mutex to write, expiring_semaphore, multi_mutex.
// Each is the function of that lock with async_ before its name. `stop` ends the wait with errc::cancelled.

/// Brings the lease.
template <detail::leased Lock>
auto acquire(Lock& lock, std::stop_token stop = {}) {
  using lease_type = detail::lease_of<Lock>;
  return detail::make<lease_type>(
      detail::acquiring{}, std::move(stop), [&lock](auto&, auto done, std::stop_token until) {
        lock.async_acquire(detail::on_lease<lease_type>(std::move(done)), std::move(until));
      });
}

/// Brings a std::optional of the lease: empty if the lock stayed busy.
template <detail::leased Lock>
auto try_acquire(Lock& lock) {
  using lease_type = detail::lease_of<Lock>;
  return detail::make<std::optional<lease_type>>(
      detail::acquiring{}, {}, [&lock](auto&, auto done, std::stop_token until) {
        lock.async_try_acquire(detail::on_lease_or_none<lease_type>(std::move(done)), std::move(until));
      });
}
template <detail::leased Lock, class Rep, class Period>
auto try_acquire_for(Lock& lock, std::chrono::duration<Rep, Period> const& wait, std::stop_token stop = {}) {
  using lease_type = detail::lease_of<Lock>;
  return detail::make<std::optional<lease_type>>(
      detail::acquiring{}, std::move(stop),
      [&lock, time = to_wait(wait)](auto&, auto done, std::stop_token until) {
        lock.async_try_acquire_for(time, detail::on_lease_or_none<lease_type>(std::move(done)),
                                   std::move(until));
      });
}

/// Several permits as one lease.
inline auto acquire(expiring_semaphore& permits, std::int64_t number, std::stop_token stop = {}) {
  return detail::make<lease>(
      detail::acquiring{}, std::move(stop), [&permits, number](auto&, auto done, std::stop_token until) {
        permits.async_acquire(detail::on_lease<lease>(std::move(done)), number, std::move(until));
      });
}
template <class Rep, class Period>
auto try_acquire_for(expiring_semaphore& permits, std::chrono::duration<Rep, Period> const& wait,
                     std::int64_t number, std::stop_token stop = {}) {
  return detail::make<std::optional<lease>>(
      detail::acquiring{}, std::move(stop),
      [&permits, time = to_wait(wait), number](auto&, auto done, std::stop_token until) {
        permits.async_try_acquire_for(time, detail::on_lease_or_none<lease>(std::move(done)), number,
                                      std::move(until));
      });
}

/// Reads.
inline auto acquire_shared(shared_mutex& lock, std::stop_token stop = {}) {
  return detail::make<lease>(
      detail::acquiring{}, std::move(stop), [&lock](auto&, auto done, std::stop_token until) {
        lock.async_acquire_shared(detail::on_lease<lease>(std::move(done)), std::move(until));
      });
}
template <class Rep, class Period>
auto try_acquire_shared_for(shared_mutex& lock, std::chrono::duration<Rep, Period> const& wait,
                            std::stop_token stop = {}) {
  return detail::make<std::optional<lease>>(
      detail::acquiring{}, std::move(stop),
      [&lock, time = to_wait(wait)](auto&, auto done, std::stop_token until) {
        lock.async_try_acquire_shared_for(time, detail::on_lease_or_none<lease>(std::move(done)),
                                          std::move(until));
      });
}

/// Reads, as the only one that may turn into a writer.
inline auto acquire_upgrade(shared_mutex& lock, std::stop_token stop = {}) {
  return detail::make<lease>(
      detail::acquiring{}, std::move(stop), [&lock](auto&, auto done, std::stop_token until) {
        lock.async_acquire_upgrade(detail::on_lease<lease>(std::move(done)), std::move(until));
      });
}
template <class Rep, class Period>
auto try_acquire_upgrade_for(shared_mutex& lock, std::chrono::duration<Rep, Period> const& wait,
                             std::stop_token stop = {}) {
  return detail::make<std::optional<lease>>(
      detail::acquiring{}, std::move(stop),
      [&lock, time = to_wait(wait)](auto&, auto done, std::stop_token until) {
        lock.async_try_acquire_upgrade_for(time, detail::on_lease_or_none<lease>(std::move(done)),
                                           std::move(until));
      });
}

/// Turns the upgrade lease `held` into one to write: see shared_mutex::upgrade(). `held` is empty meanwhile,
/// and has the lease again afterwards, in any case. Brings true.
inline auto upgrade(shared_mutex& lock, lease& held, std::stop_token stop = {}) {
  return detail::upgrade(lock, detail::lending{held}, std::move(stop));
}
/// The same; brings false if others still read after that time.
template <class Rep, class Period>
auto try_upgrade_for(shared_mutex& lock, lease& held, std::chrono::duration<Rep, Period> const& wait,
                     std::stop_token stop = {}) {
  return detail::try_upgrade_for(lock, detail::lending{held}, to_wait(wait), std::move(stop));
}

/// Gives a lease, or a multi_lease, back. Brings the release_result. `held` is empty as soon as it has begun.
template <class Lease>
  requires std::same_as<Lease, lease> || std::same_as<Lease, multi_lease>
auto release(Lease& held) {
  return detail::make<release_result>(detail::unstoppable{}, {}, [&held](auto&, auto done, std::stop_token) {
    held.async_release(
        [done = std::move(done)](release_result how) mutable { done(std::exception_ptr{}, how); });
  });
}

/// Asks for a full ttl now: see lease::renew(). `held` must not be released meanwhile by another thread.
inline auto renew(lease& held) {
  return detail::make<>(detail::unstoppable{}, {}, [&held](auto&, auto done, std::stop_token) {
    held.async_renew(
        [done = std::move(done)](std::exception_ptr failure) mutable { done(std::move(failure)); });
  });
}

/// Permits of a semaphore, which aren't leases: acquire() brings nothing, try_… whether it has them.
inline auto acquire(semaphore& permits, std::int64_t number = 1, std::stop_token stop = {}) {
  return detail::make<>(detail::taking_permits{permits, number}, std::move(stop),
                        [&permits, number](auto&, auto done, std::stop_token until) {
                          permits.async_acquire(detail::on_yes(std::move(done)), number, std::move(until));
                        });
}
inline auto try_acquire(semaphore& permits, std::int64_t number = 1) {
  return detail::make<bool>(detail::taking_permits{permits, number}, {},
                            [&permits, number](auto&, auto done, std::stop_token until) {
                              permits.async_try_acquire(detail::on_yes_or_no(std::move(done)), number,
                                                        std::move(until));
                            });
}
template <class Rep, class Period>
auto try_acquire_for(semaphore& permits, std::chrono::duration<Rep, Period> const& wait,
                     std::int64_t number = 1, std::stop_token stop = {}) {
  return detail::make<bool>(
      detail::taking_permits{permits, number}, std::move(stop),
      [&permits, time = to_wait(wait), number](auto&, auto done, std::stop_token until) {
        permits.async_try_acquire_for(time, detail::on_yes_or_no(std::move(done)), number, std::move(until));
      });
}

/// Gives permits back, or adds new ones. Brings nothing.
inline auto release(semaphore& permits, std::int64_t number = 1) {
  return detail::make<>(detail::unstoppable{}, {},
                        [&permits, number](auto&, auto done, std::stop_token const&) {
                          permits.async_release(std::move(done), number);
                        });
}

/// Counts down by `n`. Brings nothing.
inline auto count_down(latch& closed, std::int64_t n = 1) {
  return detail::make<>(detail::unstoppable{}, {}, [&closed, n](auto&, auto done, std::stop_token const&) {
    closed.async_count_down(std::move(done), n);
  });
}
/// Counts down by 1 for a participant. Brings whether it has done so for the first time.
inline auto count_down(latch& closed, std::string participant) {
  return detail::make<bool>(
      detail::unstoppable{}, {},
      [&closed, participant = std::move(participant)](auto&, auto done, std::stop_token const&) {
        closed.async_count_down(participant, detail::on_yes_or_no(std::move(done)));
      });
}

/// Waits until the latch is open. Brings nothing.
inline auto wait(latch& closed, std::stop_token stop = {}) {
  return detail::make<>(detail::plain{}, std::move(stop), [&closed](auto&, auto done, std::stop_token until) {
    closed.async_wait(detail::on_yes(std::move(done)), std::move(until));
  });
}

/// Arrives, and waits until all have. Brings the number of the generation.
inline auto arrive_and_wait(barrier& step, std::stop_token stop = {}) {
  return detail::make<std::int64_t>(
      detail::plain{}, std::move(stop), [&step](auto&, auto done, std::stop_token until) {
        step.async_arrive_and_wait(
            [done = std::move(done)](std::int64_t generation, std::exception_ptr failure) mutable {
              done(std::move(failure), generation);
            },
            std::move(until));
      });
}

/// Waits to lead. Brings the leader's lease.
inline auto campaign(election& of, std::string value, std::stop_token stop = {}) {
  return detail::make<lease>(detail::acquiring{}, std::move(stop),
                             [&of, said = std::move(value)](auto&, auto done, std::stop_token until) mutable {
                               of.async_campaign(std::move(said), detail::on_lease<lease>(std::move(done)),
                                                 std::move(until));
                             });
}
/// Brings a std::optional of the lease: empty if somebody else led for so long.
template <class Rep, class Period>
auto try_campaign_for(election& of, std::string value, std::chrono::duration<Rep, Period> const& wait,
                      std::stop_token stop = {}) {
  return detail::make<std::optional<lease>>(
      detail::acquiring{}, std::move(stop),
      [&of, said = std::move(value), time = to_wait(wait)](auto&, auto done, std::stop_token until) mutable {
        of.async_try_campaign_for(std::move(said), time, detail::on_lease_or_none<lease>(std::move(done)),
                                  std::move(until));
      });
}

/// Waits on the condition of a lock: see condition::async_wait(). `held` is empty meanwhile, and has the
/// lease again afterwards, as async_wait() says. `stop` ends the wait, which is no failure. Brings the
/// std::cv_status.
inline auto wait(condition& changed, lease& held, std::stop_token stop = {}) {
  return detail::wait(changed, detail::lending{held}, std::move(stop));
}
template <class Rep, class Period>
auto wait_for(condition& changed, lease& held, std::chrono::duration<Rep, Period> const& time,
              std::stop_token stop = {}) {
  return detail::wait_for(changed, detail::lending{held}, to_wait(time), std::move(stop));
}

/// Any other function with a callback of an optional value and a failure, such as those of a fence:
///
///     async::from<fence_result>([&](auto done) { orders.async_set(key, value, token, std::move(done)); })
template <class Value, class Start>
auto from(Start start) {
  return detail::make<Value>(
      detail::plain{}, {}, [start = std::move(start)](auto&, auto done, std::stop_token) mutable {
        start([done = std::move(done)](std::optional<Value> value, std::exception_ptr failure) mutable {
          done(std::move(failure), value ? std::move(*value) : Value{});
        });
      });
}

}  // namespace holdfast::async
