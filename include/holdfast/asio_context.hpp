/// Which Asio is meant, and how an execution context tells that it ends: a part of <holdfast/asio.hpp>.
#pragma once

#include <holdfast/error.hpp>

#if !defined(HOLDFAST_STANDALONE_ASIO) && (defined(ASIO_STANDALONE) || !__has_include(<boost/asio/version.hpp>))
#define HOLDFAST_STANDALONE_ASIO
#endif

#ifdef HOLDFAST_STANDALONE_ASIO
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/error.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/query.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#else
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#endif

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stop_token>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

// A program may have both kinds of Asio, in sources of their own: these names differ for the linker.
#ifdef HOLDFAST_STANDALONE_ASIO
#define HOLDFAST_WITH_ASIO with_standalone_asio
#ifdef ASIO_HAS_CO_AWAIT
#define HOLDFAST_ASIO_AWAITS
#endif
#else
#define HOLDFAST_WITH_ASIO with_boost_asio
#ifdef BOOST_ASIO_HAS_CO_AWAIT
#define HOLDFAST_ASIO_AWAITS
#endif
#endif

namespace holdfast::inline HOLDFAST_WITH_ASIO {

/// The parts of <holdfast/asio.hpp>.
namespace asio_parts {

#ifdef HOLDFAST_STANDALONE_ASIO
namespace net = ::asio;
using error_code = std::error_code;
using system_error = std::system_error;
#else
namespace net = boost::asio;
using error_code = boost::system::error_code;
using system_error = boost::system::system_error;
#endif

/// Whether a failure is thrown at the user of the token, who doesn't see the error code.
template <class Token>
struct throws : std::false_type {};
#ifdef HOLDFAST_ASIO_AWAITS
template <class Executor>
struct throws<net::use_awaitable_t<Executor>> : std::true_type {};
#endif
template <class Allocator>
struct throws<net::use_future_t<Allocator>> : std::true_type {};
template <class Token, class Executor>
struct throws<net::executor_binder<Token, Executor>> : throws<Token> {};
template <class Token, class Slot>
struct throws<net::cancellation_slot_binder<Token, Slot>> : throws<Token> {};

/// Whether the token is a future, and nothing else: Asio's executor for promises would have a thread of its
/// own set them.
template <class Token>
struct is_promise : std::false_type {};
template <class Allocator>
struct is_promise<net::use_future_t<Allocator>> : std::true_type {};
template <class Token, class Slot>
struct is_promise<net::cancellation_slot_binder<Token, Slot>> : is_promise<Token> {};

template <class Token>
using failure_for = std::conditional_t<throws<std::decay_t<Token>>::value, std::exception_ptr, error_code>;

/// The code of a failure.
inline std::error_code code_of(std::exception_ptr const& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (std::system_error const& e) {
    return e.code();
  } catch (std::bad_alloc const&) {
    return std::make_error_code(std::errc::not_enough_memory);
  } catch (...) {
    return std::make_error_code(std::errc::state_not_recoverable);  // thrown by async::from's function
  }
}

template <class Failure>
Failure failure_as(std::exception_ptr&& failure, bool aborted) {
  error_code const as_asio_says = net::error::operation_aborted;
  if constexpr (std::same_as<Failure, std::exception_ptr>) {
    return aborted ? std::make_exception_ptr(system_error{as_asio_says}) : std::move(failure);
  } else {
    if (aborted) return as_asio_says;
    return failure ? error_code{code_of(failure)} : error_code{};
  }
}

/// For handlers without an executor: where the callback of the lock would run.
class client_thread {
 public:
  template <class Function>
  void execute(Function&& function) const {
    std::forward<Function>(function)();
  }
  friend bool operator==(client_thread, client_thread) noexcept { return true; }
  friend bool operator!=(client_thread, client_thread) noexcept { return false; }
};

/// An operation whose handler is to run in an execution context.
class tracked {
 public:
  tracked() = default;
  tracked(tracked const&) = delete;
  tracked& operator=(tracked const&) = delete;
  /// The context ends: the handler must be destroyed, and nobody wants the result.
  virtual void orphan() noexcept = 0;

 protected:
  ~tracked() = default;

 private:
  friend class operations;
  tracked* previous_ = nullptr;
  tracked* next_ = nullptr;
  bool listed_ = false;
};

/// The operations of one context, and its end: what comes first, the end of an operation or that of the
/// context, takes it out of the list. Outlives the context while there are operations.
class operations {
 public:
  /// False: the context has ended.
  [[nodiscard]] bool add(tracked& one) noexcept {
    std::scoped_lock const hold{guard_};
    if (closed()) return false;
    one.next_ = first_;
    if (first_ != nullptr) first_->previous_ = &one;
    first_ = &one;
    one.listed_ = true;
    return true;
  }

  /// Is requested when the context has ended: for those that nobody else stops.
  [[nodiscard]] std::stop_token stop() const noexcept { return stop_.get_token(); }

  /// The context has ended, for those that know that it has by themselves.
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

  /// Afterwards the handler may be posted; the context lasts until posted() was called. False: it has ended.
  [[nodiscard]] bool take(tracked& one) noexcept {
    std::scoped_lock const hold{guard_};
    if (!one.listed_) return false;
    unlist(one);
    posting_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void posted() noexcept { posting_.fetch_sub(1, std::memory_order_release); }

  void close() noexcept {
    auto* each = close_list();
    stop_.request_stop();  // first, since handlers may take long to destroy
    while (each != nullptr) {
      auto& one = *std::exchange(each, each->next_);
      one.orphan();
    }
    while (posting_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }

 private:
  /// Takes all out of the list, of which they remain a chain.
  [[nodiscard]] tracked* close_list() noexcept {
    std::scoped_lock const hold{guard_};
    closed_.store(true, std::memory_order_relaxed);
    for (auto* each = first_; each != nullptr; each = each->next_) each->listed_ = false;
    return std::exchange(first_, nullptr);
  }

  void unlist(tracked& one) noexcept {
    (one.previous_ != nullptr ? one.previous_->next_ : first_) = one.next_;
    if (one.next_ != nullptr) one.next_->previous_ = one.previous_;
    one.listed_ = false;
  }

  std::mutex guard_;
  tracked* first_ = nullptr;
  std::atomic<bool> closed_{false};
  std::atomic<int> posting_{0};
  std::stop_source stop_{};
};

/// How a context tells that it ends.
class context_end final : public net::execution_context::service {
 public:
  using key_type = context_end;
  static inline net::execution_context::id id{};

  explicit context_end(net::execution_context& of) : service{of} {}
  context_end(context_end const&) = delete;
  context_end& operator=(context_end const&) = delete;
  /// One that was made while the context ended isn't told so.
  ~context_end() override { operations_->close(); }
  [[nodiscard]] std::shared_ptr<operations> const& of() const noexcept { return operations_; }

 private:
  void shutdown() override { operations_->close(); }

  std::shared_ptr<operations> operations_ = std::make_shared<operations>();
};

/// Those of that context. Each thread remembers its last one, since to look for a service takes as long as
/// the rest of what an operation does here; a context at the place of one that has ended is another one.
inline std::shared_ptr<operations> const& operations_of(net::execution_context& context) {
  static constinit thread_local bool exiting = false;  // destructors of static objects come behind it
  struct memory {
    ~memory() { exiting = true; }
    net::execution_context* at = nullptr;
    std::shared_ptr<operations> found{};
  };
  static thread_local memory last;
  if (exiting) return net::use_service<context_end>(context).of();
  if (last.at != &context || last.found->closed()) {
    last.found = net::use_service<context_end>(context).of();
    last.at = &context;
  }
  return last.found;
}

/// Null for an executor without a context that could end.
template <class Executor>
std::shared_ptr<operations> operations_at(Executor const& executor) {
  if constexpr (requires {
                  {
                    net::query(executor, net::execution::context)
                  } -> std::convertible_to<net::execution_context&>;
                }) {
    return operations_of(net::query(executor, net::execution::context));
  } else {
    return nullptr;
  }
}

}  // namespace asio_parts

}  // namespace holdfast::inline HOLDFAST_WITH_ASIO
