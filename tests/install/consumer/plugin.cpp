// A shared library that has Holdfast inside: makes a client and a lock, asks no server.
#include <holdfast/mutex.hpp>
#include <string>

std::string lock_of_plugin();

std::string lock_of_plugin() {
  holdfast::client redis{"redis://:secret@localhost"};
  holdfast::mutex const lock{redis, "orders:42"};
  return lock.name() + " at " + redis.url();
}
