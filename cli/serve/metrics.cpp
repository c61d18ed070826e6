#include "serve/metrics.hpp"

#include "common/boot_time.hpp"

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

namespace holdfast::cli {
namespace {

/// The value of a label: Prometheus knows three escapes.
std::string label_text(std::string_view const text) {
  std::string result;
  for (char const letter : text) {
    if (letter == '\n') {
      result += "\\n";
      continue;
    }
    if (letter == '"' || letter == '\\') result += '\\';
    result += letter;
  }
  return result;
}

using labels = std::vector<std::pair<std::string_view, std::string>>;
struct sample {
  labels with{};
  double value = 0;
};

void add(std::string& text, std::string_view const name, std::string_view const type,
         std::string_view const help, std::vector<sample> const& samples) {
  text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  for (auto const& each : samples) {
    std::string with;
    for (auto const& [label, value] : each.with)
      with += fmt::format("{}{}=\"{}\"", with.empty() ? "" : ",", label, label_text(value));
    text += with.empty() ? fmt::format("{} {}\n", name, each.value)
                         : fmt::format("{}{{{}}} {}\n", name, with, each.value);
  }
}

struct of_locks {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  double (*value)(lock_store::totals const&);
};

double as_number(auto const value) { return static_cast<double>(value); }

constexpr of_locks lock_metrics[]{
    {"holdfast_serve_locks_held", "gauge", "Locks that are held.",
     [](auto const& of) { return as_number(of.held); }},
    {"holdfast_serve_locks_waited_for", "gauge", "Locks for which somebody waits.",
     [](auto const& of) { return as_number(of.waited_for); }},
    {"holdfast_serve_waiters", "gauge", "Processes that wait for locks.",
     [](auto const& of) { return as_number(of.waiting); }},
    {"holdfast_serve_longest_wait_seconds", "gauge", "For how long a lock has had waiters without a break.",
     [](auto const& of) { return as_number(of.longest_wait.count()) / 1000; }},
    {"holdfast_serve_long_holds", "gauge", "Holds that last longer than --long-hold.",
     [](auto const& of) { return as_number(of.long_holds); }},
    {"holdfast_serve_grants_total", "counter", "Acquisitions that were seen; short ones are missed.",
     [](auto const& of) { return as_number(of.grants); }},
    {"holdfast_serve_losses_total", "counter", "Leases whose time was over, as far as they were seen.",
     [](auto const& of) { return as_number(of.losses); }},
};

}  // namespace

std::string metrics_text(std::span<std::unique_ptr<deployment> const> const all,
                         std::map<std::string, fitness> const& fitness_of, http_facts const& http,
                         access_control const& access, long_hold_rules const& long_hold) {
  std::string text;
  std::vector<std::vector<lock_store::totals>> totals;
  std::vector<sample> up;
  std::vector<sample> requests;
  std::vector<sample> kept;
  std::vector<sample> findings;
  totals.reserve(all.size());
  for (auto* const each : {&up, &requests, &kept}) each->reserve(all.size());
  for (auto const& each : all) {
    labels const with{{"deployment", each->url()}};
    auto const now = each->now();
    up.push_back({with, now.reachable ? 1.0 : 0.0});
    requests.push_back({with, as_number(now.requests)});
    each->with_store([&](lock_store const& store) {
      totals.push_back(store.count(boot_time(), long_hold));
      kept.push_back({with, as_number(store.bytes())});
    });
    auto const found = fitness_of.find(each->id());
    if (found == fitness_of.end()) continue;
    for (auto const& [severity, count] : found->second.findings)
      findings.push_back({{{"deployment", each->url()}, {"severity", severity}}, as_number(count)});
  }
  add(text, "holdfast_serve_up", "gauge", "Whether the deployment can be asked.", up);
  for (auto const& metric : lock_metrics) {
    std::vector<sample> samples;
    for (std::size_t i = 0; i != all.size(); ++i) {
      for (auto const& group : totals[i])
        samples.push_back({{{"deployment", all[i]->url()}, {"prefix", group.prefix}}, metric.value(group)});
    }
    add(text, metric.name, metric.type, metric.help, samples);
  }
  add(text, "holdfast_serve_findings", "gauge", "What doctor has found last, by severity.", findings);
  add(text, "holdfast_serve_redis_requests_total", "counter", "Requests to Redis to look at locks.",
      requests);
  add(text, "holdfast_serve_store_bytes", "gauge", "Memory for what is known of locks.", kept);
  add(text, "holdfast_serve_connections", "gauge", "Open connections.", {{{}, as_number(http.connections)}});
  add(text, "holdfast_serve_streams", "gauge", "Pages that get events.", {{{}, as_number(http.streams)}});
  add(text, "holdfast_serve_http_requests_total", "counter", "Requests that were read.",
      {{{}, as_number(http.requests)}});
  add(text, "holdfast_serve_cut_off_total", "counter", "Connections closed for a limit or a time-out.",
      {{{}, as_number(http.cut_off)}});
  add(text, "holdfast_serve_failed_handshakes_total", "counter",
      "TLS handshakes that failed, also for want of a certificate.",
      {{{}, as_number(http.failed_handshakes)}});
  add(text, "holdfast_serve_wrong_tokens_total", "counter", "Requests with a token that nobody has.",
      {{{}, as_number(access.wrong_tokens())}});
  add(text, "holdfast_serve_refused_tokens_total", "counter",
      "Requests whose token wasn't looked at, since too many wrong ones came from their address.",
      {{{}, as_number(access.refused_tokens())}});
  return text;
}

}  // namespace holdfast::cli
