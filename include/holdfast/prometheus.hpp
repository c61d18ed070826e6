/// Metrics of the locks of a client, for Prometheus.
///
///     auto const registry = std::make_shared<prometheus::Registry>();
///     auto const exposer = holdfast::open_exposer("127.0.0.1:9464", registry);
///     holdfast::client redis{url, {.observer = holdfast::prometheus_metrics(registry)}};
///
/// A component of its own, on prometheus-cpp (Debian's prometheus-cpp-dev):
/// `find_package(holdfast COMPONENTS prometheus)`, target holdfast::prometheus. docs/metrics.md lists the
/// metrics; contrib/ has a dashboard for Grafana, and alerts.
#pragma once

#include <holdfast/observer.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Of prometheus-cpp: include <prometheus/registry.h> and <prometheus/exposer.h> to use these.
namespace prometheus {
class Registry;
class Exposer;
}  // namespace prometheus

namespace holdfast {

/// What series there are.
struct prometheus_options {
  /// The value of the label `lock` for an event of a lock: one for all "account:7", say. It may look at the
  /// name and the kind only, so that all events of a lock have the same. Empty: the name.
  std::function<std::string(lock_event const&)> lock{};
  /// Only so many values of `lock` have series of their own, first come, first served; all others are counted
  /// as `other`, so names without number can't fill a Prometheus. At least 1.
  std::size_t most_locks = 50;
  /// Upper bounds of the buckets of the histograms, in seconds, ascending.
  std::vector<double> wait_buckets{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                   0.25,   0.5,   1,      2.5,   5,    10,    30,   60};
  std::vector<double> hold_buckets{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600};
};

/// An observer that keeps metrics in `registry`. One may serve several clients; several with one registry
/// share their series. It keeps the registry alive. Thread-safe. Throws std::errc::invalid_argument for an
/// option out of range, and what the registry throws if it has other metrics of these names.
[[nodiscard]] std::shared_ptr<observer> prometheus_metrics(std::shared_ptr<::prometheus::Registry> registry,
                                                           prometheus_options options = {});

/// Serves the registry at /metrics of that address until the result is destroyed, with two threads of
/// prometheus-cpp. `address`: host:port, the host as an IP address of this machine; port 0 takes any
/// (Exposer::GetListeningPorts). Keep it private: it has no password. Throws std::errc::address_in_use if the
/// port is taken, and std::errc::invalid_argument if it can't be served there for another reason.
[[nodiscard]] std::shared_ptr<::prometheus::Exposer> open_exposer(
    std::string const& address, std::shared_ptr<::prometheus::Registry> const& registry);

}  // namespace holdfast
