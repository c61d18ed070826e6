/// Shared by the tests with Asio: which Asio it is, and a client, a lock and an io_context.
#pragma once

#include <holdfast/asio.hpp>
#include <holdfast/mutex.hpp>

#ifdef HOLDFAST_STANDALONE_ASIO
#include <asio/bind_allocator.hpp>
#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#else
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#endif

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "asynchronous/two_clients.hpp"
#include "support/eventually.hpp"
#include "support/failure_of.hpp"

namespace holdfast::test {

namespace net = asio_parts::net;
using asio_parts::error_code;
using asio_parts::system_error;
#ifdef HOLDFAST_STANDALONE_ASIO
using net::experimental::as_tuple;
using net::experimental::deferred;
#else
using net::as_tuple;
using net::deferred;
#endif

/// Runs the io_context until that is so, also when it has nothing to do meanwhile.
template <class Predicate>
[[nodiscard]] bool run_until(net::io_context& io, Predicate predicate) {
  auto const work = net::make_work_guard(io);
  io.restart();
  return eventually([&] {
    io.poll();
    return predicate();
  });
}

/// What a handler got.
template <class Value>
struct outcome {
  bool called = false;
  error_code code{};
  Value value{};

  auto handler() {
    return [this](error_code ec, Value got) {
      called = true;
      code = ec;
      value = std::move(got);
    };
  }
};

/// Where the clients of a test run.
enum class place { own_threads, io_context };
inline auto both_places() { return testing::Values(place::own_threads, place::io_context); }
inline std::string name_of(testing::TestParamInfo<place> const& of) {
  return of.param == place::io_context ? "on_the_io_context" : "on_threads_of_their_own";
}

/// What is there before the clients, and after them.
struct has_io_context {
  net::io_context io_{};
};

class on_asio : protected has_io_context, public two_clients, public testing::WithParamInterface<place> {
 protected:
  on_asio() : two_clients{[&io = io_] { return loop_on(io); }} {}

  /// For a client; null: it has a thread.
  [[nodiscard]] std::shared_ptr<event_loop> loop_here() { return loop_on(io_); }

  /// Runs the io_context until it has nothing to do; false: it still has.
  [[nodiscard]] bool run() {
    io_.restart();
    io_.run_for(wait_limit);
    return io_.stopped();
  }

  /// Runs a coroutine to its end, and throws what it throws.
  template <class Coroutine>
  void run(Coroutine body) {
    std::optional<std::exception_ptr> ended;
    net::co_spawn(io_, std::move(body), [&ended](std::exception_ptr failure) { ended = failure; });
    ASSERT_TRUE(run());
    ASSERT_TRUE(ended);
    if (*ended) std::rethrow_exception(*ended);
  }

  /// Runs the io_context until that is so, also when only the clients have something to do.
  template <class Predicate>
  [[nodiscard]] bool run_until(Predicate predicate) {
    return test::run_until(io_, predicate);
  }

  /// Runs the io_context in another thread, as long as the result lives: for threads that wait for handlers.
  [[nodiscard]] std::jthread run_beside() {
    io_.restart();
    return std::jthread{[this](std::stop_token const& end) {
      auto const work = net::make_work_guard(io_);
      std::stop_callback const stop{end, [this] { io_.stop(); }};
      io_.run();
    }};
  }

  template <class Handler>
  auto here(Handler handler) {
    return net::bind_executor(io_, std::move(handler));
  }

  /// That somebody else can have the lock, which takes no ttl.
  [[nodiscard]] bool is_free() {
    auto const beside = run_beside();
    return free_lock_.try_acquire_for(wait_limit).has_value();
  }
  [[nodiscard]] bool nothing_left_behind() {
    auto const beside = run_beside();
    return two_clients::nothing_left_behind();
  }

 private:
  /// Of no object: the clients are made before this one.
  [[nodiscard]] static std::shared_ptr<event_loop> loop_on(net::io_context& io) {
    return GetParam() == place::io_context ? run_on(io) : nullptr;
  }
};

}  // namespace holdfast::test
