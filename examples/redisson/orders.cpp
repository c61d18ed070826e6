// Takes orders that a Java program ships: Orders.java beside this file. Both write in one book, a file, so
// they contend for its lock; a semaphore counts the orders that wait for shipping, and a latch those that are
// left to ship.
//
//     HOLDFAST_URL=redis://localhost:6379 build/dev/examples/orders book.txt

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <holdfast/latch.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <iostream>
#include <mutex>
#include <string>

using namespace std::chrono_literals;

int main(int count, char** arguments) {
  std::string const book = count > 1 ? arguments[1] : "book.txt";
  auto const* const url = std::getenv("HOLDFAST_URL");
  // RLock is what a mutex is on Redisson's wire, and RSemaphore and RCountDownLatch what the others are.
  holdfast::client redis{url != nullptr ? url : "redis://localhost", {.wire = holdfast::wire::redisson}};
  holdfast::mutex book_lock{redis, "shop:book"};
  holdfast::semaphore to_ship{redis, "shop:to-ship"};
  holdfast::latch all_shipped{redis, "shop:all-shipped"};

  constexpr int orders = 20;
  all_shipped.try_set_count(orders);  // whoever comes first sets it, here or in Java
  for (int number = 1; number <= orders; ++number) {
    {
      std::scoped_lock const hold{book_lock};
      std::ofstream{book, std::ios::app} << number << " ordered\n";
    }
    to_ship.release();  // wakes the Java program if it waits
  }

  if (!all_shipped.wait_for(30s)) {
    std::cerr << all_shipped.count() << " orders weren't shipped: does the Java program run?\n";
    return 1;
  }
  std::scoped_lock const hold{book_lock};
  std::ifstream lines{book};
  std::cout << lines.rdbuf();
}
