/// What an asynchronous operation is, before it has begun; for those that write adapters such as
/// <holdfast/coroutine.hpp>. <holdfast/async.hpp> makes operations.
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/exclusive_lock.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/options.hpp>
#include <holdfast/semaphore.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast::async {

/// Something asynchronous that hasn't begun: made by the functions of <holdfast/async.hpp>. It refers to the
/// lock, which must last until the operation has begun; a semaphore, until it has ended.
///
/// *Leases.* A lease that an operation brings never blocks the thread that destroys it, whatever
/// lock_options::on_destroy says: see lease::on_destroy().
///
/// *For adapters.* begin() starts it; `done(failure, values…)` is called once, as the callback of the
/// function behind it would be, or never if begin() throws. The rest says what becomes of the values.
template <class Begin, class Hooks, class... Values>
class [[nodiscard]] operation {
 public:
  using values = std::tuple<Values...>;  ///< what it brings; default values with a failure
  using hooks = Hooks;                   ///< see `plain`

  /// `begin(hooks, done, stop)` calls the function of the lock.
  operation(Begin begin, Hooks own_hooks, std::stop_token stop)
      : begin_{std::move(begin)}, hooks_{std::move(own_hooks)}, stop_{std::move(stop)} {}

  /// Starts it. Throws what the function of the lock throws; nothing was begun then.
  template <class Done>
  void begin(Done done, std::stop_token stop) {
    begin_(hooks_, std::move(done), std::move(stop));
  }

  /// What ends the wait, besides the adapter.
  [[nodiscard]] std::stop_token const& stop() const noexcept { return stop_; }

  /// What the values do if nobody wants them, what they are if begin() throws, and what co_await makes of
  /// them.
  [[nodiscard]] Hooks& rest() noexcept { return hooks_; }

 private:
  Begin begin_;
  Hooks hooks_;
  std::stop_token stop_;
};

/// The parts of operations.
namespace detail {

/// What an operation does besides.
struct plain {
  /// Whether a cancellation that comes after the end, and before anybody was told, takes the result back.
  static constexpr bool cancelled_to_the_last = false;
  /// Whether a stop token ends it.
  static constexpr bool stoppable = true;

  /// Nobody wants what it brings: leases give themselves back when they are destroyed.
  template <class Values>
  void undo(Values&) noexcept {}

  /// The values for a handler when begin() has thrown.
  template <class Values>
  Values unbegun() noexcept {
    return {};
  }

  /// What co_await gives.
  template <class... Values>
  auto finish(std::exception_ptr const& failure, std::tuple<Values...>&& values) {
    if (failure) std::rethrow_exception(failure);
    if constexpr (sizeof...(Values) == 1) return std::get<0>(std::move(values));
  }
};

/// It ends by itself, in bounded time.
struct unstoppable : plain {
  static constexpr bool stoppable = false;
};

struct acquiring : plain {
  static constexpr bool cancelled_to_the_last = true;
};

/// Permits belong to nobody, so they don't give themselves back.
struct taking_permits : plain {
  semaphore* from;
  std::int64_t permits;

  taking_permits(semaphore& of, std::int64_t number) noexcept : from{&of}, permits{number} {}

  void undo(std::tuple<>&) noexcept { from->give_back_unwanted(permits); }
  void undo(std::tuple<bool>& got) noexcept {
    if (std::get<0>(got)) from->give_back_unwanted(permits);
  }
};

/// The lease is `held`, which gets it back.
struct lending : plain {
  lease* held;

  explicit lending(lease& of) noexcept : held{&of} {}
  [[nodiscard]] lease&& take() noexcept { return std::move(*held); }

  template <class Value>
  Value finish(std::exception_ptr const& failure, std::tuple<lease, Value>&& values) {
    *held = std::get<0>(std::move(values));
    if (failure) std::rethrow_exception(failure);
    return std::get<1>(values);
  }
};

/// The lease is its own, and the handler gets it back.
struct giving : plain {
  lease held;

  explicit giving(lease&& of) noexcept : held{std::move(of)} {}
  [[nodiscard]] lease&& take() noexcept { return std::move(held); }

  template <class Values>
  Values unbegun() noexcept {
    Values all{};
    std::get<0>(all) = std::move(held);
    return all;
  }
};

/// For adapters.
struct request_stop {
  std::stop_source of;
  void operator()() const noexcept {
    auto during = of;  // what this ends may destroy this object
    during.request_stop();
  }
};

template <class... Values, class Begin, class Hooks>
operation<Begin, Hooks, Values...> make(Hooks hooks, std::stop_token stop, Begin begin) {
  return {std::move(begin), std::move(hooks), std::move(stop)};
}

/// Whether an acquisition of it brings a lease.
template <class Lock>
concept leased = requires(Lock& lock, exclusive_lock::acquire_handler done) {
  lock.async_acquire(std::move(done), std::stop_token{});
} || std::same_as<Lock, multi_mutex>;

template <class Lock>
using lease_of = std::conditional_t<std::same_as<Lock, multi_mutex>, multi_lease, lease>;

/// Handlers as locks want them.
template <class Lease, class Done>
auto on_lease(Done done) {
  return [done = std::move(done)](std::optional<Lease> got, std::exception_ptr failure) mutable {
    if (got) got->on_destroy(holdfast::release::async);
    done(std::move(failure), got ? std::move(*got) : Lease{});
  };
}
template <class Lease, class Done>
auto on_lease_or_none(Done done) {
  return [done = std::move(done)](std::optional<Lease> got, std::exception_ptr failure) mutable {
    if (got) got->on_destroy(holdfast::release::async);
    done(std::move(failure), std::move(got));
  };
}
template <class Done>
auto on_yes(Done done) {
  return [done = std::move(done)](bool, std::exception_ptr failure) mutable { done(std::move(failure)); };
}
template <class Done>
auto on_yes_or_no(Done done) {
  return [done = std::move(done)](bool got, std::exception_ptr failure) mutable {
    done(std::move(failure), got);
  };
}
template <class Value, class Done>
auto on_lease_and(Done done) {
  return [done = std::move(done)](lease held, Value value, std::exception_ptr failure) mutable {
    held.on_destroy(holdfast::release::async);
    done(std::move(failure), std::move(held), value);
  };
}

}  // namespace detail

}  // namespace holdfast::async
