// Asio, 3 of 4: coroutines. A hundred of them on one thread take turns at one lock; a busy lock suspends only
// the coroutine.
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/asio_coroutine

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <exception>
#include <holdfast/asio.hpp>
#include <holdfast/mutex.hpp>
#include <iostream>

namespace asio = boost::asio;

namespace {

asio::awaitable<void> add(holdfast::mutex& account, int& balance) {
  auto lease = co_await holdfast::async_acquire(account, asio::use_awaitable);
  auto const before = balance;  // nobody else, in any process, is between these lines
  co_await holdfast::async_renew(lease, asio::use_awaitable);
  balance = before + 1;
  co_await holdfast::async_release(lease, asio::use_awaitable);
}

}  // namespace

int main() {
  auto const* const url = std::getenv("HOLDFAST_URL");
  holdfast::client redis{url != nullptr ? url : "redis://localhost"};
  holdfast::mutex account{redis, "account:7"};
  asio::io_context io;
  int balance = 0;
  for (int i = 0; i != 100; ++i) {
    asio::co_spawn(io, add(account, balance), [](std::exception_ptr failed) {
      if (failed) std::rethrow_exception(failed);  // out of io.run()
    });
  }
  io.run();
  std::cout << "the balance is " << balance << '\n';
  return balance == 100 ? 0 : 1;
}
