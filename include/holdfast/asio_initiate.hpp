/// Gives any operation of <holdfast/async.hpp> a completion token of Asio. <holdfast/asio.hpp> includes it,
/// and says what is promised.
#pragma once

#include <holdfast/asio_context.hpp>
#include <holdfast/async.hpp>
#include <holdfast/room_for_one.hpp>

#ifdef HOLDFAST_STANDALONE_ASIO
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/execution.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>
#include <asio/require.hpp>
#else
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/require.hpp>
#endif

#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast::inline HOLDFAST_WITH_ASIO {

namespace asio_parts {

/// Posts in that memory, if that is known to be one piece: to an io_context, by an Asio whose executors have
/// execute(). Where many operations end together Asio would take two pieces from the heap for each.
template <class Executor, class Function>
void post_in(detail::room_for_one& room, Executor const& where, Function&& function) {
  using of_io_context = net::io_context::executor_type;
  if constexpr (std::same_as<Executor, of_io_context>) {
    auto const in_room = net::prefer(net::require(where, net::execution::blocking_t::never),
                                     net::execution::relationship_t::fork,
                                     net::execution::allocator(detail::room_for_one::allocator<void>{room}));
    if constexpr (requires { in_room.execute(std::forward<Function>(function)); })
      return in_room.execute(std::forward<Function>(function));
  } else if constexpr (requires { where.template target<of_io_context>(); }) {
    if (auto const* const known = where.template target<of_io_context>())
      return post_in(room, *known, std::forward<Function>(function));
  }
  net::post(where, std::forward<Function>(function));
}

/// One operation that has been initiated, with its handler. In memory of the handler's allocator, until the
/// handler is called. `Promise`: the handler sets a promise, wherever it is called.
template <class Failure, bool Promise, class Handler, class Operation>
class pending final : public tracked {
 public:
  static void start(Handler&& handler, Operation&& of) {
    allocator memory{net::get_associated_allocator(handler)};
    auto* const self = traits::allocate(memory, 1);
    try {
      ::new (static_cast<void*>(self)) pending(std::move(handler), std::move(of));
    } catch (...) {
      traits::deallocate(memory, self, 1);
      throw;
    }
    self->begin();
  }

  void orphan() noexcept override {
    auto const stop = stop_;
    until_.reset();
    handler_.reset();  // its slot stays as it is: the signal may be gone
    work_.reset();
    executor_.reset();  // a strand is a part of its context
    async::detail::request_stop{stop}();
    disown();
  }

 private:
  using executor_type =
      std::conditional_t<Promise, client_thread,
                         std::decay_t<typename net::associated_executor<Handler, client_thread>::type>>;
  using slot_type = std::decay_t<typename net::associated_cancellation_slot<Handler>::type>;
  using handlers_allocator = std::decay_t<typename net::associated_allocator<Handler>::type>;
  using allocator = typename std::allocator_traits<handlers_allocator>::template rebind_alloc<pending>;
  using traits = std::allocator_traits<allocator>;
  using hooks = typename Operation::hooks;
  using values_type = typename Operation::values;

  static constexpr bool on_client = std::same_as<executor_type, client_thread>;
  struct no_work {
    explicit no_work(client_thread) noexcept {}
  };
  using work_type = std::conditional_t<on_client, no_work, net::executor_work_guard<executor_type>>;

  /// Calls the handler. Owns the operation; the context may end before it is called.
  class completion {
   public:
    using allocator_type = handlers_allocator;
    explicit completion(pending& of) noexcept : of_{&of} {}
    completion(completion&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    completion& operator=(completion&&) = delete;
    ~completion() {
      if (of_ == nullptr) return;
      of_->undo();
      of_->destroy();
    }
    [[nodiscard]] allocator_type get_allocator() const noexcept { return of_->allocator_; }
    void operator()() { std::exchange(of_, nullptr)->call(); }

   private:
    pending* of_;
  };

  /// In the slot, on the handler's executor. Stays there, and refers to no operation, if the handler is
  /// destroyed without a call.
  struct cancel {
    std::stop_source stop;
    bool emitted = false;
    explicit cancel(std::stop_source of) noexcept : stop{std::move(of)} {}
    void operator()(net::cancellation_type how) {
      if (how == net::cancellation_type::none) return;
      emitted = true;
      async::detail::request_stop{stop}();
    }
  };

  /// The callback of the operation.
  struct on_end {
    pending* of;
    template <class... Values>
    void operator()(std::exception_ptr failure, Values... values) const {
      of->failure_ = std::move(failure);
      of->values_ = values_type{std::move(values)...};
      if (of->step_.exchange(step::ended, std::memory_order_acq_rel) == step::waiting) of->complete();
    }
  };

  pending(Handler&& handler, Operation&& of)
      : allocator_{net::get_associated_allocator(handler)},
        executor_{executor_of(handler)},
        slot_{net::get_associated_cancellation_slot(handler)},
        operations_{operations_at(*executor_)},
        operation_{std::move(of)},
        work_{*executor_},
        handler_{std::move(handler)} {}
  ~pending() = default;

  static executor_type executor_of(Handler const& handler) {
    if constexpr (on_client) {
      return {};
    } else {
      return net::get_associated_executor(handler, client_thread{});
    }
  }

  /// As long as begin() of the operation runs, the handler isn't posted: nobody else touches this meanwhile.
  void begin() {
    if (operations_ && !operations_->add(*this)) return destroy();  // a context that has ended calls nobody
    if (auto failure = prepare_stop()) {
      failure_ = std::move(failure);
      return complete();
    }
    try {
      operation_.begin(on_end{this}, stop_token());
    } catch (...) {
      failure_ = std::current_exception();
      values_ = operation_.rest().template unbegun<values_type>();
      return complete();
    }
    auto beginning = step::beginning;
    if (!step_.compare_exchange_strong(beginning, step::waiting, std::memory_order_acq_rel)) complete();
  }

  [[nodiscard]] std::exception_ptr prepare_stop() {
    if constexpr (on_client) {
      if (!slot_.is_connected()) return nullptr;
      return std::make_exception_ptr(
          error{std::errc::invalid_argument,
                "an operation that is to be cancelled by a slot needs an executor, on which the signal is "
                "emitted: give its completion token one, by bind_executor"});
    } else if constexpr (!hooks::stoppable) {
      return nullptr;
    } else {
      auto const& own = operation_.stop();
      if (!own.stop_possible() && !slot_.is_connected()) return nullptr;  // the context's is enough
      stop_ = std::stop_source{};
      if (own.stop_possible()) until_.emplace(own, async::detail::request_stop{stop_});
      if (slot_.is_connected()) in_slot_ = &slot_.template emplace<cancel>(stop_);
      return nullptr;
    }
  }

  [[nodiscard]] std::stop_token stop_token() const noexcept {
    if constexpr (on_client || !hooks::stoppable) {
      return operation_.stop();
    } else {
      if (stop_.stop_possible()) return stop_.get_token();
      return operations_ ? operations_->stop() : std::stop_token{};
    }
  }

  void complete() {
    if constexpr (on_client) {
      call();
    } else {
      auto const all = std::move(operations_);
      if (all && !all->take(*this)) {
        undo();
        return disown();
      }
      struct posting {
        operations* of;
        ~posting() {
          if (of != nullptr) of->posted();
        }
      } const now{all.get()};
      auto const where = *executor_;
      if constexpr (std::same_as<handlers_allocator, std::allocator<void>>) {
        post_in(room_, where, completion{*this});
      } else {
        net::post(where, completion{*this});
      }
    }
  }

  void call() {
    auto const cancelled = in_slot_ != nullptr && in_slot_->emitted;
    if (slot_.is_connected()) slot_.clear();
    until_.reset();
    auto const aborted = cancelled && (failure_ ? code_of(failure_) == make_error_code(errc::cancelled)
                                                : hooks::cancelled_to_the_last);
    auto failure = failure_as<Failure>(std::move(failure_), aborted);
    auto values = aborted && hooks::cancelled_to_the_last ? values_type{} : std::move(values_);
    [[maybe_unused]] auto const work = std::move(work_);
    auto handler = std::move(*handler_);
    destroy();
    std::apply([&](auto&... value) { std::move(handler)(std::move(failure), std::move(value)...); }, values);
  }

  /// Nobody wants the result.
  void undo() noexcept {
    if (!failure_) operation_.rest().undo(values_);
  }

  /// By orphan(), and by the callback that finds that it was there.
  void disown() noexcept {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

  void destroy() noexcept {
    allocator memory{allocator_};
    this->~pending();
    traits::deallocate(memory, this, 1);
  }

  enum class step : std::uint8_t { beginning, waiting, ended };

  handlers_allocator allocator_;
  std::optional<executor_type> executor_;
  slot_type slot_;
  std::shared_ptr<operations> operations_;
  Operation operation_;
  std::stop_source stop_{std::nostopstate};
  std::optional<std::stop_callback<async::detail::request_stop>> until_{};
  std::exception_ptr failure_{};
  values_type values_{};
  std::atomic<step> step_{step::beginning};
  std::atomic<int> owners_{2};
  cancel* in_slot_ = nullptr;  ///< until call()
  std::optional<work_type> work_;
  std::optional<Handler> handler_;
  detail::room_for_one room_;  ///< for the post that brings it
};

template <class Failure, bool Promise>
struct initiation {
  template <class Handler, class Operation>
  void operator()(Handler&& handler, Operation of) const {
    pending<Failure, Promise, std::decay_t<Handler>, Operation>::start(std::forward<Handler>(handler),
                                                                       std::move(of));
  }
};

}  // namespace asio_parts

/// Begins an operation of <holdfast/async.hpp>, and calls the token's handler when it has ended: with the
/// error_code (or std::exception_ptr, see <holdfast/asio.hpp>), and then what the operation brings. For
/// operations that have no function of their own:
///
///     auto said = initiate(async::from<fence_result>([&](auto done) {
///       orders.async_set("orders:42", "paid", lease, std::move(done));
///     }), asio::use_future);
template <class Begin, class Hooks, class... Values, class Token>
auto initiate(async::operation<Begin, Hooks, Values...> of, Token&& token) {
  using failure = asio_parts::failure_for<Token>;
  using initiation = asio_parts::initiation<failure, asio_parts::is_promise<std::decay_t<Token>>::value>;
  return asio_parts::net::async_initiate<Token, void(failure, Values...)>(initiation{}, token, std::move(of));
}

}  // namespace holdfast::inline HOLDFAST_WITH_ASIO
