// A program of somebody else's: makes a client and a lock, asks no server.
#include <holdfast/mutex.hpp>
#include <iostream>

int main() {
  holdfast::client redis{"redis://:secret@localhost"};
  holdfast::mutex const lock{redis, "orders:42"};
  std::cout << lock.name() << " at " << redis.url() << '\n';
}
