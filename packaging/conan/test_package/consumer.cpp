// A program of somebody else's: makes a client and a lock, asks no server, and knows an error of the library
// as what it is.
#include <holdfast/mutex.hpp>
#include <holdfast/version.hpp>
#include <iostream>

static_assert(HOLDFAST_VERSION == holdfast::version_number && holdfast::version == HOLDFAST_VERSION_STRING);

int main() {
  holdfast::client redis{"redis://:secret@localhost"};
  holdfast::mutex const lock{redis, "orders:42"};
  std::cout << lock.name() << " at " << redis.url() << '\n';
  try {
    holdfast::client const none{"nonsense://localhost"};
  } catch (holdfast::error const& wrong) {
    return wrong.code() == holdfast::errc::bad_url ? 0 : 2;
  }
  return 1;
}
