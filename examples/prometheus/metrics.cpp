// Workers whose locks have metrics, at http://127.0.0.1:9464/metrics. Runs for a moment, or for so many
// seconds:
//
//     HOLDFAST_URL=redis://localhost build/dev/examples/metrics [SECONDS [ADDRESS]]

#include <prometheus/exposer.h>
#include <prometheus/registry.h>

#include <chrono>
#include <cstdlib>
#include <holdfast/error.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/prometheus.hpp>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main(int count, char** arguments) try {
  auto const* const url = std::getenv("HOLDFAST_URL");
  auto const end = std::chrono::steady_clock::now() + (count > 1 ? std::stoi(arguments[1]) * 1s : 0s);
  auto const registry = std::make_shared<prometheus::Registry>();
  auto const exposer = holdfast::open_exposer(count > 2 ? arguments[2] : "127.0.0.1:0", registry);
  std::cout << "metrics at port " << exposer->GetListeningPorts().front() << std::endl;

  // One series for all accounts: there may be millions of them.
  auto const lock_of = [](holdfast::lock_event const& event) {
    return std::string{event.name.substr(0, event.name.find(':'))};
  };
  holdfast::client redis{
      url != nullptr ? url : "redis://localhost",
      {.label = "example", .observer = holdfast::prometheus_metrics(registry, {.lock = lock_of})}};
  std::vector<std::jthread> workers;
  for (int worker = 0; worker != 4; ++worker) {
    workers.emplace_back([&, worker] {
      auto turn = 0;
      do {
        holdfast::mutex account{redis, "account:" + std::to_string(++turn % 100)};
        holdfast::mutex report{redis, "report"};
        (void)account.acquire();
        if (auto const lease = report.try_acquire_for(5ms)) std::this_thread::sleep_for(worker * 2ms);
      } while (std::chrono::steady_clock::now() < end);
    });
  }
  workers.clear();
  std::cout << registry->Collect().size() << " metrics of " << redis.stats().acquired << " leases\n";
} catch (holdfast::error const& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
