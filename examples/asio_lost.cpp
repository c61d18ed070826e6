// Asio, 4 of 4: work that is cancelled when its lease is lost. Here somebody releases the lock by force, as
// an operator may with `holdfast release --force`, while the work waits.
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/asio_lost

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdlib>
#include <holdfast/asio.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>
#include <iostream>
#include <thread>

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

asio::awaitable<void> import_for_an_hour() {
  asio::steady_timer timer{co_await asio::this_coro::executor, 1h};
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> work(holdfast::mutex& nightly, std::jthread& elsewhere, holdfast::client& redis,
                           bool& told) {
  auto const lease = co_await holdfast::async_acquire(nightly, asio::use_awaitable);
  elsewhere = std::jthread{[&redis] { (void)holdfast::force_release(redis, "nightly"); }};
  try {
    co_await holdfast::with_lease(lease, import_for_an_hour());
  } catch (holdfast::error const& e) {
    told = e.code() == holdfast::errc::lost;
    std::cout << e.what() << '\n';
  }
}

}  // namespace

int main() {
  auto const* const url = std::getenv("HOLDFAST_URL");
  holdfast::client redis{url != nullptr ? url : "redis://localhost"};
  holdfast::mutex nightly{redis, "nightly"};
  asio::io_context io;
  std::jthread elsewhere;
  bool told = false;
  asio::co_spawn(io, work(nightly, elsewhere, redis, told), [](std::exception_ptr failed) {
    if (failed) std::rethrow_exception(failed);
  });
  io.run();
  return told ? 0 : 1;
}
