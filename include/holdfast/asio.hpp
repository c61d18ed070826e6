/// Locks for programs on Asio: initiating functions with completion tokens, and work that is cancelled when
/// its lease is lost. Header-only; the CMake target is holdfast::asio.
///
///     asio::awaitable<void> work(holdfast::mutex& orders) {
///       auto lease = co_await holdfast::async_acquire(orders, asio::use_awaitable);
///       co_await holdfast::with_lease(lease, ship());
///       co_await holdfast::async_release(lease, asio::use_awaitable);
///     }
///
/// *Which Asio.* Boost.Asio (1.81 or later), or standalone Asio (1.22 or later) where
/// HOLDFAST_STANDALONE_ASIO or ASIO_STANDALONE is defined, or where there is no Boost. It needn't be the Asio
/// that Holdfast was built with.
///
/// *Handlers* are called once, with `(error_code, what the operation brings…)`, on their associated executor,
/// never inside the initiating function. They may be move-only. Memory comes from their allocator, but for a
/// few small pieces of the client's own. Their executor has outstanding work until they were called. A
/// handler without an executor is called where the callback of the lock would be: on the client's thread, or
/// on a thread that is inside a call of the client, perhaps the initiating function; what client says of
/// callbacks is true of it. The future of use_future is set there, too, unless an executor is bound to it.
///
/// *Errors.* The error_code is that of holdfast::error: compare it with holdfast::errc. With use_awaitable
/// and use_future, whose users don't see it, the holdfast::error itself is thrown, which says more. With
/// as_tuple(…), deferred and others it is the error_code. An operation that can't begin (a number out of
/// range, a client that has ended, a forked process) says so by its handler, too.
///
/// *Cancelling.* By the handler's cancellation slot; terminal, partial and total are the same. An operation
/// that is cancelled leaves nothing behind, and its handler gets operation_aborted
/// (boost::system::system_error or std::system_error, where failures are thrown). This is also so if the
/// lease has come by then, but the handler hasn't been called: the lease is given back. What is different:
/// - permits of a semaphore, an open latch, a generation of a barrier: what has come by then is brought;
/// - async_arrive_and_wait: a cancelled arrival breaks the generation for the others (see barrier);
/// - async_wait on a condition: that ends the wait, and is no failure; the lease comes back;
/// - async_release, async_renew, async_count_down: they can't be cancelled, and end in bounded time.
///
/// A slot needs an executor, on which the signal is emitted: without one the operation fails with
/// std::errc::invalid_argument.
///
/// *Leases never block.* The destructor of a lease that came from here sends the release and returns,
/// whatever lock_options::on_destroy says (see lease::on_destroy): a lease may go out of scope on the thread
/// of an io_context. async_release() tells how that ended.
///
/// *Life.* The lock must last until the initiating function has returned (with use_awaitable and deferred:
/// until the operation has begun), a semaphore until its operation has ended. What else?
/// - The client ends first: handlers get errc::closed. One whose lease had come before gets that, and it is
///   lost (cause closed).
/// - The io_context is stopped: the handler waits in it. Its lease is renewed meanwhile, as any other, until
///   the io_context runs again, or is destroyed.
/// - The io_context is destroyed first, which destroys the handlers without calling them: operations that are
///   pending are cancelled, and leases that have come are given back, as are permits whose handler was about
///   to be called, also behind an outage of up to half an hour, if the client lasts and is driven. Nothing
///   waits for the server. Their signals have no effect afterwards.
#pragma once

#include <holdfast/asio_event_loop.hpp>
#include <holdfast/asio_initiate.hpp>

#ifdef HOLDFAST_STANDALONE_ASIO
#include <asio/awaitable.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/this_coro.hpp>
#else
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#endif

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

namespace holdfast::inline HOLDFAST_WITH_ASIO {

/// Of mutex, fair_mutex, recursive_mutex, quorum_mutex, shared_mutex (to write), expiring_semaphore: brings a
/// lease. Of multi_mutex: a multi_lease. try_…: a std::optional of that, empty if it stayed busy.
template <async::detail::leased Lock, class Token>
auto async_acquire(Lock& lock, Token&& token) {
  return initiate(async::acquire(lock), std::forward<Token>(token));
}
template <async::detail::leased Lock, class Token>
auto async_try_acquire(Lock& lock, Token&& token) {
  return initiate(async::try_acquire(lock), std::forward<Token>(token));
}
template <async::detail::leased Lock, class Rep, class Period, class Token>
auto async_try_acquire_for(Lock& lock, std::chrono::duration<Rep, Period> const& wait, Token&& token) {
  return initiate(async::try_acquire_for(lock, wait), std::forward<Token>(token));
}

/// Several permits as one lease.
template <class Token>
auto async_acquire(expiring_semaphore& permits, std::int64_t number, Token&& token) {
  return initiate(async::acquire(permits, number), std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto async_try_acquire_for(expiring_semaphore& permits, std::chrono::duration<Rep, Period> const& wait,
                           std::int64_t number, Token&& token) {
  return initiate(async::try_acquire_for(permits, wait, number), std::forward<Token>(token));
}

/// Reads. Brings a lease.
template <class Token>
auto async_acquire_shared(shared_mutex& lock, Token&& token) {
  return initiate(async::acquire_shared(lock), std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto async_try_acquire_shared_for(shared_mutex& lock, std::chrono::duration<Rep, Period> const& wait,
                                  Token&& token) {
  return initiate(async::try_acquire_shared_for(lock, wait), std::forward<Token>(token));
}
/// Reads, as the only one that may turn into a writer.
template <class Token>
auto async_acquire_upgrade(shared_mutex& lock, Token&& token) {
  return initiate(async::acquire_upgrade(lock), std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto async_try_acquire_upgrade_for(shared_mutex& lock, std::chrono::duration<Rep, Period> const& wait,
                                   Token&& token) {
  return initiate(async::try_acquire_upgrade_for(lock, wait), std::forward<Token>(token));
}
/// Turns the upgrade lease into one to write. Brings `(lease, bool)`: the lease in any case, and whether it
/// is one to write (shared_mutex::async_upgrade).
template <class Token>
auto async_upgrade(shared_mutex& lock, lease&& held, Token&& token) {
  return initiate(async::detail::upgrade(lock, async::detail::giving{std::move(held)}, {}),
                  std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto async_try_upgrade_for(shared_mutex& lock, lease&& held, std::chrono::duration<Rep, Period> const& wait,
                           Token&& token) {
  return initiate(
      async::detail::try_upgrade_for(lock, async::detail::giving{std::move(held)}, to_wait(wait), {}),
      std::forward<Token>(token));
}

/// Gives a lease, or a multi_lease, back. Brings the release_result. It is empty as soon as this has begun,
/// and must last until then.
template <class Lease, class Token>
  requires std::same_as<Lease, lease> || std::same_as<Lease, multi_lease>
auto async_release(Lease& held, Token&& token) {
  return initiate(async::release(held), std::forward<Token>(token));
}
/// Asks for a full ttl now. Brings nothing.
template <class Token>
auto async_renew(lease& held, Token&& token) {
  return initiate(async::renew(held), std::forward<Token>(token));
}

/// Permits of a semaphore, which aren't leases. Brings nothing; try_… whether it has them.
template <class Token>
auto async_acquire(semaphore& permits, std::int64_t number, Token&& token) {
  return initiate(async::acquire(permits, number), std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto async_try_acquire_for(semaphore& permits, std::chrono::duration<Rep, Period> const& wait,
                           std::int64_t number, Token&& token) {
  return initiate(async::try_acquire_for(permits, wait, number), std::forward<Token>(token));
}

/// Gives permits back, or adds new ones. Brings nothing.
template <class Token>
auto async_release(semaphore& permits, std::int64_t number, Token&& token) {
  return initiate(async::release(permits, number), std::forward<Token>(token));
}

/// Counts down by `n`. Brings nothing.
template <class Token>
auto async_count_down(latch& closed, std::int64_t n, Token&& token) {
  return initiate(async::count_down(closed, n), std::forward<Token>(token));
}
/// Counts down by 1 for a participant. Brings whether it has done so for the first time: see
/// latch::count_down.
template <class Token>
auto async_count_down(latch& closed, std::string participant, Token&& token) {
  return initiate(async::count_down(closed, std::move(participant)), std::forward<Token>(token));
}

/// Waits until the latch is open. Brings nothing.
template <class Token>
auto async_wait(latch& closed, Token&& token) {
  return initiate(async::wait(closed), std::forward<Token>(token));
}

/// Arrives, and waits until all have. Brings the number of the generation.
template <class Token>
auto async_arrive_and_wait(barrier& step, Token&& token) {
  return initiate(async::arrive_and_wait(step), std::forward<Token>(token));
}

/// Waits to lead. Brings the leader's lease; try_…: a std::optional of it.
template <class Token>
auto async_campaign(election& of, std::string value, Token&& token) {
  return initiate(async::campaign(of, std::move(value)), std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto async_try_campaign_for(election& of, std::string value, std::chrono::duration<Rep, Period> const& wait,
                            Token&& token) {
  return initiate(async::try_campaign_for(of, std::move(value), wait), std::forward<Token>(token));
}

/// Waits on the condition of a lock. Brings `(lease, std::cv_status)`: see condition::async_wait.
template <class Token>
auto async_wait(condition& changed, lease&& held, Token&& token) {
  return initiate(async::detail::wait(changed, async::detail::giving{std::move(held)}, {}),
                  std::forward<Token>(token));
}
template <class Rep, class Period, class Token>
auto async_wait_for(condition& changed, lease&& held, std::chrono::duration<Rep, Period> const& time,
                    Token&& token) {
  return initiate(async::detail::wait_for(changed, async::detail::giving{std::move(held)}, to_wait(time), {}),
                  std::forward<Token>(token));
}

/// The parts of with_lease().
namespace asio_parts {

/// Cancels what runs under a lease.
template <class Executor>
struct cancel_when_lost {
  Executor where;
  std::shared_ptr<net::cancellation_signal> signal;
  void operator()() const noexcept {
    try {
      net::post(where, [to = signal] { to->emit(net::cancellation_type::terminal); });
    } catch (std::bad_alloc const&) {
      return;  // the work isn't told, and goes on; its end says that the lease was lost
    }
  }
};

inline std::string title(lease const& held) { return "\"" + held.name() + "\""; }
inline std::string title(multi_lease const& held) {
  auto const& names = held.names();
  if (names.empty()) return "nothing";
  auto text = "\"" + names.front() + "\"";
  if (names.size() > 1) text += " and others";
  return text;
}

template <class Lease>
std::exception_ptr lost(Lease const& held, char const* when) {
  auto const why = held.lost_because();
  auto text = "the lease of " + title(held) + when;
  text += why == loss_cause::none ? std::string_view{"it isn't held"} : to_string(why);
  return std::make_exception_ptr(error{errc::lost, text});
}

}  // namespace asio_parts

/// Runs `work` under a lease, or a multi_lease, and cancels it (cancellation_type::terminal) when the lease
/// is lost. Any operation is such work, with use_awaitable: `with_lease(lease,
/// timer.async_wait(use_awaitable))`.
///
/// *Which it was.* If the lease was lost before `work` ended, however that ended, this throws errc::lost,
/// whose what() has the cause: another holder may have run at the same time. Otherwise it returns what `work`
/// returns, or throws what `work` throws. If the lease isn't held to begin with, `work` isn't begun.
///
/// It returns when `work` has ended: work that can't be cancelled, or that catches the cancellation, goes on
/// for as long as it likes. A cancellation of the coroutine that awaits this is passed on to `work`.
///
/// The lease must last until then, and isn't given back. `work` may release it; that isn't a loss. The
/// executor of the coroutine must not run two of its functions at a time (one thread, or a strand).
///
/// Where Asio itself has coroutines: standalone Asio 1.22, as Debian 12 has it, has none with clang.
#ifdef HOLDFAST_ASIO_AWAITS
template <class Lease, class Result, class Executor>
  requires std::same_as<Lease, lease> || std::same_as<Lease, multi_lease>
asio_parts::net::awaitable<Result, Executor> with_lease(Lease const& held,
                                                        asio_parts::net::awaitable<Result, Executor> work) {
  namespace net = asio_parts::net;
  if (!held.valid()) std::rethrow_exception(asio_parts::lost(held, " can't be worked under: "));
  auto const executor = co_await net::this_coro::executor;
  auto const outer = co_await net::this_coro::cancellation_state;
  auto const signal = std::make_shared<net::cancellation_signal>();
  auto slot = outer.slot();
  if (slot.is_connected()) {
    slot.assign([signal](net::cancellation_type how) { signal->emit(how); });
  }
  std::conditional_t<std::is_void_v<Result>, std::optional<bool>, std::optional<Result>> result;
  std::exception_ptr failure;
  {
    using watching = asio_parts::cancel_when_lost<Executor>;
    std::stop_callback<watching> const watch{held.lost(), watching{executor, signal}};
    net::use_awaitable_t<Executor> const token{};
    auto cancellable = net::bind_cancellation_slot(signal->slot(), token);
    try {
      if constexpr (std::is_void_v<Result>) {
        co_await net::co_spawn(executor, std::move(work), cancellable);
      } else {
        result.emplace(co_await net::co_spawn(executor, std::move(work), cancellable));
      }
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (slot.is_connected()) slot.clear();
  if (held.lost_because() != loss_cause::none) {
    failure = asio_parts::lost(held, " was lost while the work under it ran: ");
  }
  if (failure) std::rethrow_exception(failure);
  if constexpr (!std::is_void_v<Result>) co_return std::move(*result);
}
#endif

}  // namespace holdfast::inline HOLDFAST_WITH_ASIO
