#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <array>
#include <functional>
#include <holdfast/error.hpp>
#include <holdfast/prometheus.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/printable.hpp"
#include "port.hpp"

namespace holdfast {
namespace {

using counters = prometheus::Family<prometheus::Counter>;
using gauges = prometheus::Family<prometheus::Gauge>;
using histograms = prometheus::Family<prometheus::Histogram>;

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>{time}.count(); }

bool begins_lease(event_kind what) {
  return what == event_kind::acquired || what == event_kind::handed_over || what == event_kind::granted;
}

/// Finds texts without making a string.
struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};

struct families {
  explicit families(prometheus::Registry& registry)
      : waits{prometheus::BuildHistogram()
                  .Name("holdfast_wait_seconds")
                  .Help("From asking for a lock until it is had.")
                  .Register(registry)},
        holds{prometheus::BuildHistogram()
                  .Name("holdfast_hold_seconds")
                  .Help("How long leases were held.")
                  .Register(registry)},
        held{prometheus::BuildGauge()
                 .Name("holdfast_held")
                 .Help("Leases held at this moment.")
                 .Register(registry)},
        waiting{prometheus::BuildGauge()
                    .Name("holdfast_waiting")
                    .Help("Callers that have asked for a lock, and don't have it yet.")
                    .Register(registry)},
        outcomes{prometheus::BuildCounter()
                     .Name("holdfast_acquisitions_total")
                     .Help("Ends of waits, by outcome.")
                     .Register(registry)},
        contended{prometheus::BuildCounter()
                      .Name("holdfast_contended_total")
                      .Help("Callers that found the lock busy, and waited.")
                      .Register(registry)},
        ends{prometheus::BuildCounter()
                 .Name("holdfast_leases_ended_total")
                 .Help("Ends of leases: released, kept or lost.")
                 .Register(registry)},
        lost{prometheus::BuildCounter()
                 .Name("holdfast_lost_total")
                 .Help("Leases that ended against their holder's will, by cause.")
                 .Register(registry)},
        late{prometheus::BuildCounter()
                 .Name("holdfast_renewed_late_total")
                 .Help("Renewals that came when less than a third of the ttl was left.")
                 .Register(registry)},
        connections{prometheus::BuildCounter()
                        .Name("holdfast_connections_total")
                        .Help("Connections for requests that broke, and that were made again.")
                        .Register(registry)},
        missed{prometheus::BuildCounter()
                   .Name("holdfast_events_missed_total")
                   .Help("Events that could not be told: these metrics are wrong by so many.")
                   .Register(registry)
                   .Add({})} {}

  histograms& waits;
  histograms& holds;
  gauges& held;
  gauges& waiting;
  counters& outcomes;
  counters& contended;
  counters& ends;
  counters& lost;
  counters& late;
  counters& connections;
  prometheus::Counter& missed;
};

/// The metrics of the locks of one kind that share a value of the label `lock`. Under the observer's mutex.
class series {
 public:
  series(families& all, prometheus_options const& options, std::string const& lock, std::string_view kind)
      : all_{all},
        labels_{{"lock", printable(lock)}, {"kind", std::string{kind}}},
        waits_{all.waits.Add(labels_, options.wait_buckets)},
        holds_{all.holds.Add(labels_, options.hold_buckets)},
        held_{all.held.Add(labels_)},
        waiting_{all.waiting.Add(labels_)},
        contended_{all.contended.Add(labels_)},
        late_{all.late.Add(labels_)} {
    // What an alert is about begins at 0: the first loss would be no increase otherwise.
    for (auto const* const cause :
         {"taken_over", "key_gone", "unreachable", "limit_reached", "closed", "forced"})
      (void)counter(all_.lost, lost_, "cause", cause);
  }

  void count(lock_event const& event) {
    switch (event.what) {
      case event_kind::asked:
        waiting_.Increment();
        return;
      case event_kind::waiting:
        contended_.Increment();
        return;
      case event_kind::acquired:
      case event_kind::handed_over:
      case event_kind::granted:
      case event_kind::taken:
        waits_.Observe(seconds(event.duration));
        [[fallthrough]];
      case event_kind::busy:
      case event_kind::timed_out:
      case event_kind::failed:
        waiting_.Decrement();
        counter(all_.outcomes, outcomes_, "outcome",
                event.what == event_kind::failed ? event.why : to_string(event.what))
            .Increment();
        if (begins_lease(event.what)) held_.Increment();
        return;
      case event_kind::converted:
        held_.Increment();
        return;
      case event_kind::released:
      case event_kind::kept:
      case event_kind::lost:
        held_.Decrement();
        holds_.Observe(seconds(event.duration));
        counter(all_.ends, ends_, "end", to_string(event.what)).Increment();
        if (event.what == event_kind::lost) counter(all_.lost, lost_, "cause", event.why).Increment();
        return;
      case event_kind::renewed_late:
        late_.Increment();
        return;
      case event_kind::disconnected:
      case event_kind::reconnected:
      case event_kind::missed:
        return;
    }
  }

 private:
  using by_word = std::map<std::string_view, prometheus::Counter*>;

  /// The keys are words of this library, which last.
  prometheus::Counter& counter(counters& family, by_word& known, char const* label, std::string_view word) {
    auto& found = known[word];
    if (found == nullptr) {
      auto labels = labels_;
      labels.emplace(label, word);
      found = &family.Add(labels);
    }
    return *found;
  }

  families& all_;
  prometheus::Labels const labels_;
  prometheus::Histogram& waits_;
  prometheus::Histogram& holds_;
  prometheus::Gauge& held_;
  prometheus::Gauge& waiting_;
  prometheus::Counter& contended_;
  prometheus::Counter& late_;
  by_word outcomes_;
  by_word ends_;
  by_word lost_;
};

class metrics final : public observer {
 public:
  metrics(std::shared_ptr<prometheus::Registry> registry, prometheus_options options)
      : registry_{std::move(registry)},
        options_{std::move(options)},
        all_{*registry_},
        disconnects_{all_.connections.Add({{"event", "disconnected"}})},
        reconnects_{all_.connections.Add({{"event", "reconnected"}})} {}

  [[nodiscard]] std::string_view name() const noexcept override { return "holdfast::prometheus_metrics"; }

  void on_event(lock_event const& event) override {
    switch (event.what) {
      case event_kind::disconnected:
        disconnects_.Increment();
        return;
      case event_kind::reconnected:
        reconnects_.Increment();
        return;
      case event_kind::missed:
        all_.missed.Increment(static_cast<double>(event.count));
        return;
      default:
        break;
    }
    if (options_.lock) {
      auto const lock = options_.lock(event);  // without the mutex: it is the user's code
      std::lock_guard const hold{mutex_};
      series_of(lock, event.kind).count(event);
    } else {
      std::lock_guard const hold{mutex_};
      series_of(event.name, event.kind).count(event);
    }
  }

 private:
  using by_kind = std::map<std::string_view, series>;  ///< the keys last as long as the library
  using all_locks = std::unordered_map<std::string, by_kind, text_hash, std::equal_to<>>;

  [[nodiscard]] series& series_of(std::string_view lock, std::string_view kind) {
    auto& [label, kinds] = entry_of(lock);
    auto const found = kinds.find(kind);
    if (found != kinds.end()) return found->second;
    return kinds.try_emplace(kind, all_, options_, label, kind).first->second;
  }

  [[nodiscard]] all_locks::value_type& entry_of(std::string_view lock) {
    if (auto const known = locks_.find(lock); known != locks_.end()) return *known;
    if (own_ < options_.most_locks && lock != other) {
      auto& added = *locks_.try_emplace(std::string{lock}).first;
      ++own_;
      return added;
    }
    if (others_ == nullptr) others_ = &*locks_.try_emplace(std::string{other}).first;
    return *others_;
  }

  static constexpr std::string_view other = "other";

  std::shared_ptr<prometheus::Registry> const registry_;
  prometheus_options const options_;
  families all_;
  prometheus::Counter& disconnects_;
  prometheus::Counter& reconnects_;
  std::mutex mutex_;
  all_locks locks_;
  std::size_t own_ = 0;                      ///< without `other`
  all_locks::value_type* others_ = nullptr;  ///< `other`, if it is there
};

void check(bool fine, char const* message) {
  if (!fine) throw error{std::errc::invalid_argument, message};
}

}  // namespace

std::shared_ptr<observer> prometheus_metrics(std::shared_ptr<prometheus::Registry> registry,
                                             prometheus_options options) {
  check(registry != nullptr, "prometheus_metrics() needs a registry");
  check(options.most_locks >= 1, "prometheus_options::most_locks must be at least 1");
  auto const ascending = [](std::vector<double> const& bounds) {
    return std::ranges::adjacent_find(bounds, std::greater_equal<>{}) == bounds.end();
  };
  check(ascending(options.wait_buckets), "prometheus_options::wait_buckets must be ascending");
  check(ascending(options.hold_buckets), "prometheus_options::hold_buckets must be ascending");
  return std::make_shared<metrics>(std::move(registry), std::move(options));
}

std::shared_ptr<prometheus::Exposer> open_exposer(std::string const& address,
                                                  std::shared_ptr<prometheus::Registry> const& registry) {
  check(registry != nullptr, "open_exposer() needs a registry");
  try {
    auto exposer = std::make_shared<prometheus::Exposer>(address);
    exposer->RegisterCollectable(registry);
    return exposer;
  } catch (std::exception const& failure) {  // CivetException, which doesn't tell the cause
    auto const reason = detail::why_not_bindable(address);
    auto const taken = reason == std::errc::address_in_use;
    throw error{taken ? reason : make_error_code(std::errc::invalid_argument),
                "metrics can't be served at \"" + address +
                    "\": " + (reason ? reason.message() : failure.what()) +
                    (taken ? "; end what listens there (ss -ltnp shows it), or choose another port"
                           : "; give host:port, the host as an address of this machine")};
  }
}

}  // namespace holdfast
