// A function that always runs under a lock, which is named after its arguments: one order at a time,
// wherever.
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/locked

#include <chrono>
#include <cstdlib>
#include <holdfast/synchronized.hpp>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main() {
  auto const* const url = std::getenv("HOLDFAST_URL");
  holdfast::client redis{url != nullptr ? url : "redis://localhost"};
  int charged[2] = {};

  auto const name_of = [](int order) { return "orders:" + std::to_string(order); };
  auto const charge = holdfast::locked(redis, name_of, {}, [&](int order) { ++charged[order]; });
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i != 8; ++i) {
      threads.emplace_back([&charge] {
        for (int n = 0; n != 100; ++n) charge(n % 2);
      });
    }
  }

  // Once per hour, whoever calls it and wherever: the lock is kept until its time is over.
  auto const remind = holdfast::locked(
      redis, "reminder", holdfast::skip_if_busy{.lock = {.ttl = 1h, .watchdog = false, .keep = true}},
      [] { std::cout << "an hour has passed\n"; });
  auto const first = remind();
  auto const again = remind();

  std::cout << "charged " << charged[0] << " and " << charged[1] << " times\n";
  return charged[0] == 400 && charged[1] == 400 && first && !again ? 0 : 1;
}
