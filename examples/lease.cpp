// A job in steps that stops when its lease is lost, and passes the fencing token with each write.
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/lease

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <holdfast/mutex.hpp>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

namespace {

/// A store that knows tokens: it refuses a write that comes with an older one than it has seen.
class store {
 public:
  bool write(std::string const& value, std::int64_t token) {
    if (token < newest_) return false;
    newest_ = token;
    value_ = value;
    return true;
  }

 private:
  std::int64_t newest_ = 0;
  std::string value_;
};

}  // namespace

int main() {
  auto const* const url = std::getenv("HOLDFAST_URL");
  holdfast::client redis{url != nullptr ? url : "redis://localhost"};
  holdfast::mutex report{redis, "report", {.ttl = 10s}};
  store results;

  auto lease = report.try_acquire_for(2s);
  if (!lease) {
    std::cout << "somebody else makes the report\n";
    return 0;
  }
  lease->on_lost([](holdfast::loss_cause why) { std::cerr << "lost: " << to_string(why) << '\n'; });
  auto const lost = lease->lost();
  for (int step = 1; step <= 3 && !lost.stop_requested(); ++step) {
    auto const written = results.write("step " + std::to_string(step), lease->token());
    std::cout << "step " << step << (written ? " written" : " refused") << '\n';
  }
  auto const ended = lease->release();
  std::cout << "the lock is " << to_string(ended) << '\n';
  return ended == holdfast::release_result::released ? 0 : 1;
}
