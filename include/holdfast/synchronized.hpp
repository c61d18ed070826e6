/// Functions that run under a lock. The lock is taken before, and given back after, whatever happens in
/// between.
///
///     auto total = holdfast::synchronized(redis, "orders:42", {}, [&] { return add_up(order); });
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/exclusive_lock.hpp>
#include <holdfast/export.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/options.hpp>

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace holdfast {

/// What happens to the result if the lock was lost while the function ran.
enum class if_lost {
  fail,    ///< it is dropped, and errc::lost is thrown: another holder may have run at the same time
  ignore,  ///< it is returned: for work that may run twice without harm, or that checks by itself
};

/// If the lock is busy, wait, and fail if that takes too long.
struct synchronized_options {
  /// Options of the lock. The lock is renewed while the function runs. With `keep` and a ttl of an hour the
  /// function runs at most once per hour.
  lock_options lock{};

  /// How long to wait for the lock; then errc::busy is thrown. Empty: without a limit. 0 ms or less: don't
  /// wait.
  std::optional<milliseconds> wait{};

  holdfast::if_lost if_lost = holdfast::if_lost::fail;  ///< what happens to the result after a loss
};

/// If the lock is busy, don't call the function. Given in place of synchronized_options.
struct skip_if_busy {
  /// Options of the lock: see synchronized_options.
  lock_options lock{};

  /// How long to wait for the lock before it counts as busy. 0 ms or less: don't wait.
  milliseconds wait{0};

  holdfast::if_lost if_lost = holdfast::if_lost::fail;  ///< what happens to the result after a loss
};

/// The parts of synchronized() and locked().
namespace detail {

/// Empty if the lock stayed busy.
HOLDFAST_EXPORT [[nodiscard]] std::optional<lease> take(exclusive_lock& from,
                                                        std::optional<milliseconds> wait);
/// Throws errc::busy instead.
HOLDFAST_EXPORT [[nodiscard]] lease take_or_throw(client const& redis, exclusive_lock& from,
                                                  std::optional<milliseconds> wait);
/// Throws errc::lost if the lock wasn't held any more, unless `policy` ignores that.
HOLDFAST_EXPORT void give_back(client const& redis, lease& held, if_lost policy);

/// Called with the arguments alone if possible, otherwise with the lease in front of them.
template <class F, class... Arguments>
concept runs_under_lock =
    std::is_invocable_v<F, Arguments...> || std::is_invocable_v<F, lease&, Arguments...>;

template <class F, class... Arguments>
decltype(auto) call([[maybe_unused]] lease& held, F&& f, Arguments&&... arguments) {
  if constexpr (std::is_invocable_v<F, Arguments...>) {
    return std::invoke(std::forward<F>(f), std::forward<Arguments>(arguments)...);
  } else {
    return std::invoke(std::forward<F>(f), held, std::forward<Arguments>(arguments)...);
  }
}

template <class F, class... Arguments>
using result_of = decltype(call(std::declval<lease&>(), std::declval<F>(), std::declval<Arguments>()...));

template <class F, class... Arguments>
result_of<F, Arguments...> run(client const& redis, lease held, if_lost policy, F&& f,
                               Arguments&&... arguments) {
  using result_type = result_of<F, Arguments...>;
  if constexpr (std::is_void_v<result_type>) {
    call(held, std::forward<F>(f), std::forward<Arguments>(arguments)...);
    give_back(redis, held, policy);
  } else if constexpr (std::is_reference_v<result_type>) {
    auto&& result = call(held, std::forward<F>(f), std::forward<Arguments>(arguments)...);
    give_back(redis, held, policy);
    return static_cast<result_type>(result);
  } else {
    result_type result = call(held, std::forward<F>(f), std::forward<Arguments>(arguments)...);
    give_back(redis, held, policy);
    return result;
  }
}

template <class Result>
struct if_run {
  using type = std::optional<std::remove_cvref_t<Result>>;
};
template <class Result>
struct if_run<Result&> {
  using type = std::optional<std::reference_wrapper<Result>>;
};
template <>
struct if_run<void> {
  using type = bool;
};

}  // namespace detail

/// Runs f(arguments…) under the lock of that name, and returns the result of f, which may be a reference or
/// void.
///
/// `f` may take the lease as its first parameter (`lease&` or `lease const&`), for its token and its loss. It
/// is called so only if it can't be called with the arguments alone. It may also give the lease back early.
///
/// *Lock.* A mutex; synchronized<fair_mutex>(…) for another kind of exclusive lock.
///
/// *Errors.* What f throws passes through, and the lock is given back. Before f is called: errc::busy if the
/// lock stayed busy for options.wait, and all that mutex and exclusive_lock::acquire throw. After it:
/// errc::lost if the lock was lost meanwhile (see if_lost). If the server doesn't answer when the lock is
/// given back, that is not an error: the result is there, and the lock ends with its ttl.
///
/// *Nesting.* f must not call synchronized() again with the same name: it would wait for itself, for ever if
/// options.wait is empty.
///
/// *Cost.* As the lock: one request to take a free one, one to give it back.
template <std::derived_from<exclusive_lock> Lock = mutex, class F, class... Arguments>
  requires detail::runs_under_lock<F, Arguments...>
detail::result_of<F, Arguments...> synchronized(client& redis, std::string name,
                                                synchronized_options const& options, F&& f,
                                                Arguments&&... arguments) {
  Lock lock{redis, std::move(name), options.lock};
  return detail::run(redis, detail::take_or_throw(redis, lock, options.wait), options.if_lost,
                     std::forward<F>(f), std::forward<Arguments>(arguments)...);
}

/// The same, but f isn't called if the lock is busy. If f returns nothing, the result is whether f was
/// called. Otherwise it is an optional with the result of f (a std::reference_wrapper if f returns a
/// reference).
///
///     if (!holdfast::synchronized(redis, "nightly", holdfast::skip_if_busy{}, make_report)) …
template <std::derived_from<exclusive_lock> Lock = mutex, std::same_as<skip_if_busy> Options, class F,
          class... Arguments>
  requires detail::runs_under_lock<F, Arguments...>
[[nodiscard]] auto synchronized(client& redis, std::string name, Options const& options, F&& f,
                                Arguments&&... arguments) {
  using result_type = detail::result_of<F, Arguments...>;
  using optional_type = typename detail::if_run<result_type>::type;
  Lock lock{redis, std::move(name), options.lock};
  auto held = detail::take(lock, options.wait);
  if (!held) return optional_type{};
  if constexpr (std::is_void_v<result_type>) {
    detail::run(redis, std::move(*held), options.if_lost, std::forward<F>(f),
                std::forward<Arguments>(arguments)...);
    return true;
  } else {
    return optional_type{std::in_place,
                         detail::run(redis, std::move(*held), options.if_lost, std::forward<F>(f),
                                     std::forward<Arguments>(arguments)...)};
  }
}

namespace detail {

/// The same name whatever the arguments are.
class fixed_name {
 public:
  explicit fixed_name(std::string name) : name_{std::move(name)} {}
  std::string const& operator()(auto const&...) const noexcept { return name_; }

 private:
  std::string name_;
};

template <class NameOf>
using name_source =
    std::conditional_t<std::is_constructible_v<std::string, NameOf>, fixed_name, std::decay_t<NameOf>>;

/// The function object that locked() makes.
template <class Lock, class NameOf, class Options, class F>
class locked_function {
 public:
  locked_function(client& redis, NameOf name_of, Options const& options, F f)
      : redis_{&redis}, name_of_{std::move(name_of)}, options_{options}, f_{std::move(f)} {}

  template <class... Arguments>
    requires runs_under_lock<F&, Arguments...>
  decltype(auto) operator()(Arguments&&... arguments) {
    return run_on(*this, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
    requires runs_under_lock<F const&, Arguments...>
  decltype(auto) operator()(Arguments&&... arguments) const {
    return run_on(*this, std::forward<Arguments>(arguments)...);
  }

 private:
  template <class... Arguments>
  static decltype(auto) run_on(auto& self, Arguments&&... arguments) {
    // The arguments are f's: the name only looks at them.
    std::string name{std::invoke(self.name_of_, std::as_const(arguments)...)};
    return synchronized<Lock>(*self.redis_, std::move(name), self.options_, self.f_,
                              std::forward<Arguments>(arguments)...);
  }

  client* redis_;
  NameOf name_of_;
  Options options_;
  F f_;
};

}  // namespace detail

/// Makes a function that runs f(arguments…) under the lock whose name is name_of(arguments…), as
/// synchronized() does. `name_of` may also be the name itself.
///
///     auto charge = holdfast::locked(redis, [](int order) { return "orders:" + std::to_string(order); }, {},
///                                    [&](int order) { … });
///     charge(42);
///
/// The client must outlive the function and must not be moved. Several threads may call the function at once
/// if they may call `f` and `name_of` at once.
template <std::derived_from<exclusive_lock> Lock = mutex, class NameOf, class F>
[[nodiscard]] auto locked(client& redis, NameOf&& name_of, synchronized_options const& options, F&& f) {
  using name_type = detail::name_source<NameOf>;
  return detail::locked_function<Lock, name_type, synchronized_options, std::decay_t<F>>{
      redis, name_type(std::forward<NameOf>(name_of)), options, std::forward<F>(f)};
}

/// The same, but a call does nothing if the lock is busy, and says so.
template <std::derived_from<exclusive_lock> Lock = mutex, class NameOf, std::same_as<skip_if_busy> Options,
          class F>
[[nodiscard]] auto locked(client& redis, NameOf&& name_of, Options const& options, F&& f) {
  using name_type = detail::name_source<NameOf>;
  return detail::locked_function<Lock, name_type, skip_if_busy, std::decay_t<F>>{
      redis, name_type(std::forward<NameOf>(name_of)), options, std::forward<F>(f)};
}

}  // namespace holdfast
