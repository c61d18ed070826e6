/// Awaits the operations of locks in any coroutine of C++20; needs no other library.
///
///     task work(holdfast::mutex& orders, executor& pool) {
///       auto lease = co_await async::acquire(orders);                           // on the client's thread
///       auto again = co_await async::on(pool, async::try_acquire_for(orders, 2s));   // on one of `pool`
///       …
///       co_await async::release(lease);
///     }
#pragma once

#include <holdfast/async.hpp>

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast::async {

/// The parts of co_await.
namespace detail {

/// What a coroutine and the callback of its operation share. Both have a reference.
class awaited {
 public:
  awaited() = default;
  awaited(awaited const&) = delete;
  awaited& operator=(awaited const&) = delete;

  void keep() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  /// By the coroutine, when the operation has begun. False: it has ended meanwhile.
  [[nodiscard]] bool suspend() noexcept { return move_on(step::beginning, step::suspended); }
  /// By the callback. False: the coroutine isn't suspended yet, and suspend() tells it; or it is gone, and
  /// left() says so.
  [[nodiscard]] bool end() noexcept {
    before_end_ = step_.exchange(step::ended, std::memory_order_acq_rel);
    return before_end_ == step::suspended;
  }
  [[nodiscard]] bool left() const noexcept { return before_end_ == step::left; }
  /// Whether the coroutine is there to be resumed; true once.
  [[nodiscard]] bool take_up() noexcept { return move_on(step::ended, step::resumed); }
  void resume() noexcept {
    if (take_up()) coroutine_.resume();
  }
  /// By a coroutine that is destroyed. True: the callback hasn't come yet.
  [[nodiscard]] bool leave() noexcept {
    return step_.exchange(step::left, std::memory_order_acq_rel) == step::suspended;
  }

 protected:
  explicit awaited(std::coroutine_handle<> waits) noexcept : coroutine_{waits} {}
  virtual ~awaited() = default;

 private:
  enum class step : std::uint8_t { beginning, suspended, ended, resumed, left };
  [[nodiscard]] bool move_on(step from, step to) noexcept {
    return step_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
  }

  std::atomic<int> references_{1};
  std::atomic<step> step_{step::beginning};
  step before_end_ = step::beginning;
  std::coroutine_handle<> coroutine_{};
};

}  // namespace detail

/// Resumes a coroutine whose operation has ended: what on() passes to the executor. Calling it more than
/// once has no effect, nor has calling it when the coroutine was destroyed meanwhile. If it is never called,
/// the coroutine stays suspended, until somebody destroys it.
class resumption {
 public:
  /// Copies resume the same coroutine.
  explicit resumption(detail::awaited& of) noexcept : of_{&of} { of_->keep(); }
  resumption(resumption const& other) noexcept : of_{other.of_} {
    if (of_ != nullptr) of_->keep();
  }
  resumption(resumption&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
  resumption& operator=(resumption other) noexcept {
    std::swap(of_, other.of_);
    return *this;
  }
  ~resumption() {
    if (of_ != nullptr) of_->drop();
  }

  /// Resumes the coroutine on this thread.
  void operator()() const noexcept {
    auto const during = *this;  // the coroutine may destroy this object
    if (during.of_ != nullptr) during.of_->resume();
  }

 private:
  detail::awaited* of_;
};

/// What on() takes: called with a resumption, on the client's thread or, if the operation has ended at once,
/// on the coroutine's. It must not throw.
template <class Executor>
concept resumes = std::move_constructible<std::decay_t<Executor>> && std::invocable<Executor&, resumption>;

namespace detail {

/// Resumes the coroutine at once, on the thread that knows that its operation has ended.
struct at_once {
  void operator()(resumption const& next) const noexcept { next(); }
};

template <class Values, class Executor>
class awaited_values final : public awaited {
 public:
  awaited_values(std::coroutine_handle<> waits, Executor executor)
      : awaited{waits}, executor_{std::move(executor)} {}

  /// From here on somebody else may resume the coroutine.
  void pass_on() noexcept {
    keep();  // for the executor, which is a part of this
    executor_(resumption{*this});
    drop();
  }

  std::stop_source stop{};
  std::exception_ptr failure{};
  std::optional<Values> values{};

 private:
  ~awaited_values() override = default;
  Executor executor_;
};

/// The callback of an operation. Has a reference.
template <class Shared, class Hooks>
class when_ended {
 public:
  when_ended(Shared& shared, Hooks const& hooks) : shared_{&shared}, hooks_{hooks} { shared.keep(); }
  when_ended(when_ended&& other) noexcept
      : shared_{std::exchange(other.shared_, nullptr)}, hooks_{other.hooks_} {}
  when_ended& operator=(when_ended&&) = delete;
  ~when_ended() {
    if (shared_ != nullptr) shared_->drop();
  }

  template <class... Values>
  void operator()(std::exception_ptr failure, Values... values) noexcept {
    shared_->failure = std::move(failure);
    shared_->values.emplace(std::move(values)...);
    if (shared_->end()) {
      shared_->pass_on();
    } else if (shared_->left() && !shared_->failure) {
      hooks_.undo(*shared_->values);
    }
  }

 private:
  Shared* shared_;
  [[no_unique_address]] Hooks hooks_;
};

/// The rest of the hooks needs the coroutine.
template <class Hooks>
using hooks_of_callback = std::conditional_t<std::derived_from<Hooks, taking_permits>, taking_permits, plain>;

template <class Operation, class Executor>
class [[nodiscard]] awaiter {
 public:
  awaiter(Operation begun_by_await, Executor executor)
      : operation_{std::move(begun_by_await)}, executor_{std::move(executor)} {}
  awaiter(awaiter const&) = delete;
  awaiter& operator=(awaiter const&) = delete;
  ~awaiter() {
    if (shared_ == nullptr) return;
    until_.reset();
    if (shared_->leave()) {
      request_stop{shared_->stop}();
    } else {
      if (!shared_->failure) operation_.rest().undo(*shared_->values);
      shared_->values.reset();  // now, and not when the executor drops the resumption
    }
    shared_->drop();
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }

  /// Until shared->suspend() the coroutine isn't resumed, so all of this object, and what the operation
  /// refers to, is there while begin() runs.
  bool await_suspend(std::coroutine_handle<> waits) {
    auto* const shared = new shared_values{waits, std::move(executor_)};
    shared_ = shared;
    try {
      if (operation_.stop().stop_possible()) until_.emplace(operation_.stop(), request_stop{shared->stop});
      operation_.begin(
          when_ended<shared_values, hooks_of_callback<typename Operation::hooks>>{*shared, operation_.rest()},
          shared->stop.get_token());
    } catch (...) {
      until_.reset();
      std::exchange(shared_, nullptr)->drop();
      throw;
    }
    if (shared->suspend()) return true;
    if constexpr (std::same_as<Executor, at_once>) {
      return !shared->take_up();
    } else {
      shared->pass_on();
      return true;
    }
  }

  auto await_resume() {
    until_.reset();
    auto failure = std::move(shared_->failure);
    auto values = std::move(*shared_->values);
    std::exchange(shared_, nullptr)->drop();
    return operation_.rest().finish(failure, std::move(values));
  }

 private:
  using shared_values = awaited_values<typename Operation::values, Executor>;

  Operation operation_;
  Executor executor_;
  shared_values* shared_ = nullptr;
  std::optional<std::stop_callback<request_stop>> until_{};
};

}  // namespace detail

/// Awaits an operation, and goes on where its end is known.
///
/// *Result.* What the operation brings. A failure is thrown: holdfast::error, as by the blocking functions.
///
/// *Where.* On the client's thread, or on a thread that is inside a call of the client, as a callback would
/// run (see client): what is said there of callbacks is true of the coroutine until it is suspended again. If
/// the operation has ended by the time that it has begun, the coroutine goes on without being suspended. For
/// another place use on(). An exception that leaves the coroutine there, thrown on by its promise, ends the
/// program.
///
/// *Cancelling.* `stop` of the operation; it ends with errc::cancelled.
///
/// *Life.* A coroutine may be destroyed while it waits. Then the operation is cancelled and leaves nothing
/// behind: a lease or permits that come nevertheless are given back, also behind an outage (permits of a
/// semaphore, which have no lease, if the client lasts, and the outage is over within half an hour). Destroy
/// it where it would be resumed, or make sure in another way that it isn't resumed at that moment; with on()
/// and an executor of one thread, that is any time on that thread. The client may end while it waits: the
/// operation ends with errc::closed.
///
/// *Cost.* Two small allocations more than the callback: what the coroutine and the client share, so that
/// either may go first, and the state of a std::stop_source.
template <class Begin, class Hooks, class... Values>
auto operator co_await(operation<Begin, Hooks, Values...>&& begun_by_await) {
  using type = operation<Begin, Hooks, Values...>;
  return detail::awaiter<type, detail::at_once>{std::move(begun_by_await), {}};
}

/// An operation, and where to go on: made by on().
template <class Operation, class Executor>
class [[nodiscard]] operation_on {
 public:
  /// See on().
  operation_on(Operation of, Executor executor) : operation_{std::move(of)}, executor_{std::move(executor)} {}
  auto operator co_await() && {
    return detail::awaiter<Operation, Executor>{std::move(operation_), std::move(executor_)};
  }

 private:
  Operation operation_;
  Executor executor_;
};

/// The same operation; the coroutine goes on where `executor` calls the resumption that it is passed:
///
///     auto const on_loop = [&loop](async::resumption next) { loop.post(std::move(next)); };
///     auto lease = co_await async::on(on_loop, async::acquire(orders));
///
/// It is always passed on to the executor, also if the operation has ended at once. The executor is copied or
/// moved into the operation; what it refers to must last until the coroutine goes on.
template <resumes Executor, class Begin, class Hooks, class... Values>
auto on(Executor&& executor, operation<Begin, Hooks, Values...> of) {
  using type = operation<Begin, Hooks, Values...>;
  return operation_on<type, std::decay_t<Executor>>{std::move(of), std::forward<Executor>(executor)};
}

}  // namespace holdfast::async
