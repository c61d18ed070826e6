// A function under a lock: the lock is taken before, renewed meanwhile, and given back after.
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/synchronized

#include <chrono>
#include <cstdlib>
#include <holdfast/synchronized.hpp>
#include <iostream>

using namespace std::chrono_literals;

int main() {
  auto const* const url = std::getenv("HOLDFAST_URL");
  holdfast::client redis{url != nullptr ? url : "redis://localhost"};

  // Waits for as long as it takes.
  auto const total = holdfast::synchronized(redis, "orders:42", {}, [] { return 2 * 21; });

  // Waits for two seconds, then throws errc::busy. The function sees its lease.
  auto const token = holdfast::synchronized(redis, "orders:42", {.wait = 2s},
                                            [](holdfast::lease const& lease) { return lease.token(); });

  // Doesn't wait: says whether it ran.
  auto const ran = holdfast::synchronized(redis, "nightly report", holdfast::skip_if_busy{},
                                          [] { std::cout << "here is the report\n"; });

  std::cout << "total " << total << ", token " << token << (ran ? "" : ", no report") << '\n';
  return total == 42 && token > 0 && ran ? 0 : 1;
}
