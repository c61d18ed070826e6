/// Shared by the tests with Asio: which Asio it is, and a client, a lock and an io_context.
#pragma once

#include <holdfast/asio.hpp>
#include <holdfast/mutex.hpp>

#ifdef HOLDFAST_STANDALONE_ASIO
#include <asio/bind_allocator.hpp>
#include <asio/detached.hpp>
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
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#endif

#include <gtest/gtest.h>

#include <exception>
#include <optional>
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

class on_asio : public two_clients {
 protected:
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

  /// Runs the io_context until that is so.
  template <class Predicate>
  [[nodiscard]] bool run_until(Predicate predicate) {
    io_.restart();
    return eventually([&] {
      io_.poll();
      return predicate();
    });
  }

  template <class Handler>
  auto here(Handler handler) {
    return net::bind_executor(io_, std::move(handler));
  }

  /// That somebody else can have the lock, which takes no ttl.
  [[nodiscard]] bool is_free() { return free_lock_.try_acquire_for(wait_limit).has_value(); }

  net::io_context io_{};
};

}  // namespace holdfast::test
