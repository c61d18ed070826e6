// Asio, 1 of 4: a callback on the thread of the io_context. Asio runs it there because it is bound to it, and
// keeps the io_context running until then.
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/asio_callback

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <holdfast/asio.hpp>
#include <holdfast/mutex.hpp>
#include <iostream>

namespace asio = boost::asio;

int main() {
  auto const* const url = std::getenv("HOLDFAST_URL");
  holdfast::client redis{url != nullptr ? url : "redis://localhost"};
  holdfast::mutex report{redis, "report"};
  asio::io_context io;
  bool held = false;

  holdfast::async_acquire(
      report, asio::bind_executor(io, [&](boost::system::error_code failed, holdfast::lease lease) {
        if (failed) {
          std::cerr << failed.message() << '\n';
          return;
        }
        held = true;
        std::cout << "held, token " << lease.token() << '\n';
      }));  // the lease goes out of scope here: that sends the release, and waits for nothing
  io.run();
  return held ? 0 : 1;
}
