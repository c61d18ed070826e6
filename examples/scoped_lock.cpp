// Two accounts, locked together: std::scoped_lock takes any number of mutexes without deadlock.
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/scoped_lock

#include <cstdlib>
#include <holdfast/mutex.hpp>
#include <iostream>
#include <mutex>
#include <thread>

int main() {
  auto const* const url = std::getenv("HOLDFAST_URL");
  holdfast::client redis{url != nullptr ? url : "redis://localhost"};
  holdfast::mutex alice{redis, "account:alice"};
  holdfast::mutex bob{redis, "account:bob"};
  int alices = 100;
  int bobs = 100;

  auto const move = [](holdfast::mutex& from, int& out, holdfast::mutex& to, int& in) {
    for (int i = 0; i != 100; ++i) {
      std::scoped_lock const hold{from, to};
      --out;
      ++in;
    }
  };
  std::thread one{[&] { move(alice, alices, bob, bobs); }};
  std::thread other{[&] { move(bob, bobs, alice, alices); }};
  one.join();
  other.join();
  std::cout << "alice has " << alices << ", bob has " << bobs << '\n';
  return alices == 100 && bobs == 100 ? 0 : 1;
}
