// Asio, 2 of 4: futures, for a thread that begins several things and then waits for all of them.
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/asio_future

#include <chrono>
#include <cstdlib>
#include <future>
#include <holdfast/asio.hpp>
#include <holdfast/mutex.hpp>
#include <iostream>
#include <optional>

namespace asio = boost::asio;
using namespace std::chrono_literals;

int main() {
  auto const* const url = std::getenv("HOLDFAST_URL");
  holdfast::client redis{url != nullptr ? url : "redis://localhost"};
  holdfast::mutex alice{redis, "account:alice"};
  holdfast::mutex bob{redis, "account:bob"};
  try {
    std::future<holdfast::lease> first = holdfast::async_acquire(alice, asio::use_future);
    std::future<std::optional<holdfast::lease>> second =
        holdfast::async_try_acquire_for(bob, 2s, asio::use_future);
    auto one = first.get();
    auto two = second.get();
    std::cout << "token " << one.token() << (two ? ", and the other one, too" : ", the other one is busy")
              << '\n';
    auto const ended = holdfast::async_release(one, asio::use_future).get();
    return ended == holdfast::release_result::released ? 0 : 1;
  } catch (holdfast::error const& e) {
    std::cerr << e.what() << '\n';  // names the lock, the server, and what to do
    return 1;
  }
}
