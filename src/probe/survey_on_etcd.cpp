#include "probe/survey_on_etcd.hpp"

#include "etcd/reading.hpp"
#include "etcd/viewer.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::probe {
namespace {

using namespace std::chrono_literals;
using etcd::viewer;

/// Of a lease it is asked so rarely how long it lasts, and of so many at a time.
constexpr auto times_are_fresh = 1s;
constexpr std::size_t times_at_once = 16;
constexpr auto leases_are_kept = 60s;

}  // namespace

std::vector<lock_pulse> survey_on_etcd::feel(std::span<std::string const> names, pulse_scope const scope) {
  std::vector<viewer::pulse> felt;
  felt.reserve(names.size());
  while (!names.empty()) {
    auto const some = names.first(std::min(names.size(), viewer::pulses_in_one));
    names = names.subspan(some.size());
    ++requests_;
    auto part = server_.requests().ask_viewer<std::vector<viewer::pulse>>(
        [&](viewer& view, viewer::handler<std::vector<viewer::pulse>> done) {
          view.feel({some.begin(), some.end()}, std::move(done));
        });
    std::ranges::move(part, std::back_inserter(felt));
  }
  if (scope == pulse_scope::state_and_ttl) {
    std::set<std::string> leases;
    for (auto const& each : felt) {
      if (!each.lease.empty()) leases.insert(each.lease);
    }
    ask_for_times(leases);
  }
  std::vector<lock_pulse> all;
  all.reserve(felt.size());
  for (auto const& each : felt) {
    all.push_back({.state = each.state, .in_use = each.in_use});
    if (scope == pulse_scope::state_and_ttl) all.back().ttl = left_of(each.lease);
  }
  return all;
}

void survey_on_etcd::ask_for_times(std::set<std::string> const& leases) {
  auto const now = boot_clock::now();
  std::erase_if(leases_, [&](auto const& each) { return now - each.second.at > leases_are_kept; });
  std::vector<std::pair<time_point, std::string>> due;
  for (auto const& each : leases) {
    auto const known = leases_.find(each);
    auto const asked_at = known == leases_.end() ? time_point{} : known->second.at;
    if (now - asked_at >= times_are_fresh) due.emplace_back(asked_at, each);
  }
  std::ranges::sort(due);
  std::set<std::string> wanted;
  for (std::size_t i = 0; i != std::min(due.size(), times_at_once); ++i) wanted.insert(due[i].second);
  if (wanted.empty()) return;
  requests_ += wanted.size();
  auto const times = server_.requests().ask_viewer<viewer::lease_times>(
      [&](viewer& view, viewer::handler<viewer::lease_times> done) {
        view.find_times(wanted, std::move(done));
      });
  for (auto const& each : wanted) {
    auto const found = times.find(each);
    leases_[each] = {.at = now, .left = found == times.end() ? std::nullopt : std::optional{found->second}};
  }
}

std::optional<std::chrono::milliseconds> survey_on_etcd::left_of(std::string const& lease) const {
  auto const known = leases_.find(lease);
  if (known == leases_.end() || !known->second.left) return std::nullopt;
  auto const gone = std::chrono::floor<std::chrono::milliseconds>(boot_clock::now() - known->second.at);
  return std::max(*known->second.left - gone, 0ms);
}

void survey_on_etcd::look(std::span<std::string const> names,
                          std::function<bool(lock_state const&)> const& f) {
  while (!names.empty()) {
    auto const some = names.first(std::min(names.size(), viewer::names_in_one));
    names = names.subspan(some.size());
    auto const found = server_.requests().ask_viewer<std::vector<lock_state>>(
        [&](viewer& view, viewer::handler<std::vector<lock_state>> done) {
          view.look({some.begin(), some.end()}, queue_entries_of_a_look, std::move(done));
        });
    requests_ += 1 + etcd::leases_of(found).size();
    for (auto const& state : found) {
      if (!f(state)) return;
    }
  }
}

void survey_on_etcd::find_names(std::function<bool(std::vector<std::string> const&)> const& f) {
  std::string from;
  do {
    ++requests_;
    auto part = server_.requests().ask_viewer<viewer::page>(
        [&](viewer& view, viewer::handler<viewer::page> done) { view.find({}, from, std::move(done)); });
    if (!part.names.empty() && !f(part.names)) return;
    from = std::move(part.next);
  } while (!from.empty());
}

}  // namespace holdfast::probe
