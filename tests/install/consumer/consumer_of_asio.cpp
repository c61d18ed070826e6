// A program of somebody else's on Boost.Asio: there is no server, and the handler says so.
#include <boost/asio/io_context.hpp>
#include <holdfast/asio.hpp>
#include <holdfast/coroutine.hpp>
#include <holdfast/mutex.hpp>
#include <iostream>

int main() {
  holdfast::client redis{"redis+unix:///nowhere/redis.sock"};
  holdfast::mutex lock{redis, "orders:42"};
  boost::asio::io_context io;
  auto said = false;
  holdfast::async_try_acquire(lock,
                              boost::asio::bind_executor(io, [&](boost::system::error_code failed, auto) {
                                std::cout << failed.message() << '\n';
                                said = failed == holdfast::make_error_code(holdfast::errc::unreachable);
                              }));
  io.run();
  return said ? 0 : 1;
}
