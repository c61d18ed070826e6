// Clocks: Redis ends keys by its time of day; holders count the time that passes.
#include "doctor/checks.hpp"
#include "doctor/servers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

/// A smaller step has no effect: a lease of one second ends 12 ms before the server's.
constexpr microseconds least_step = 10ms;
/// Times of day in INFO are whole seconds.
constexpr microseconds in_the_future = 2s;
constexpr microseconds too_far_apart = 100ms;

constexpr auto why_steps_matter =
    "Redis ends keys by its time of day: a step forward ends leases under their holders, and others can take "
    "the locks; a step back keeps the locks of dead holders for longer";
constexpr auto against_steps =
    "let NTP slew the clock and never step it while the server runs (chrony: makestep only for the first "
    "updates; no hypervisor that sets it)";

/// The time that the server's clock gained on ours.
microseconds gained(clock_sample const& from, clock_sample const& to) {
  return (to.there - from.there) - (to.here - from.here);
}

double rate_of_gain(clock_sample const& from, clock_sample const& to) {
  auto const passed = std::max(to.here - from.here, microseconds{1});
  return static_cast<double>(gained(from, to).count()) / static_cast<double>(passed.count());
}

/// The median rate: single jumps do not affect it.
double usual_rate(std::span<clock_sample const> const samples) {
  std::vector<double> rates;
  for (std::size_t i = 1; i < samples.size(); ++i) rates.push_back(rate_of_gain(samples[i - 1], samples[i]));
  auto const middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::ranges::nth_element(rates, middle);
  return *middle;
}

microseconds largest_step(std::span<clock_sample const> const samples) {
  auto const rate = usual_rate(samples);
  microseconds largest{};
  for (std::size_t i = 1; i < samples.size(); ++i) {
    auto const& from = samples[i - 1];
    auto const& to = samples[i];
    auto const expected = rate * static_cast<double>((to.here - from.here).count());
    auto const step = gained(from, to) - microseconds{std::llround(expected)};
    auto const doubt = (from.round_trip + to.round_trip) / 2;
    if (std::chrono::abs(step) > doubt + least_step && std::chrono::abs(step) > std::chrono::abs(largest))
      largest = step;
  }
  return largest;
}

std::string with_sign(microseconds const time) {
  return (time < 0s ? "-" : "+") + to_text(std::chrono::abs(time));
}

/// How far the time of the last save lies in the future.
std::optional<microseconds> set_back(server_facts const& facts) {
  auto const now = facts.clock.value->now;
  if (!facts.info.value || now == 0s) return std::nullopt;
  auto const saved = facts.info.value->number("rdb_last_save_time");
  if (!saved) return std::nullopt;
  auto const ahead = std::chrono::seconds{*saved} - now;
  return ahead > in_the_future ? std::optional{ahead} : std::nullopt;
}

}  // namespace

clock_facts compare(std::span<clock_sample const> const samples) {
  auto const& first = samples.front();
  auto const& last = samples.back();
  auto const step = samples.size() < 3 ? microseconds{} : largest_step(samples);
  return {.local = last.here - first.here,
          .server = last.there - first.there - step,
          .doubt = (first.round_trip + last.round_trip) / 2,
          .step = step,
          .now = last.there};
}

finding check_clock(server_facts const& facts) {
  if (!facts.clock.value) return unknown("clock", facts.clock.refusal);
  auto const& clock = *facts.clock.value;
  if (clock.step != 0s) {
    return {"clock", severity::problem,
            fmt::format("the server's time of day jumped by {} while it was watched, for {}",
                        with_sign(clock.step), to_text(clock.local)),
            why_steps_matter, against_steps};
  }
  auto const passed = static_cast<double>(std::max(clock.local, microseconds{1}).count());
  auto const rate = 100.0 * static_cast<double>((clock.server - clock.local).count()) / passed;
  auto const shown = std::abs(rate) < 0.005 ? 0.0 : rate;  // no -0.00
  auto const error = 100.0 * static_cast<double>(clock.doubt.count()) / passed;
  finding result{
      .check = "clock",
      .found = fmt::format("the server's clock goes {:+.2f} % (± {:.2f} %) against this machine's, "
                           "in {}",
                           shown, error, to_text(clock.local))};
  constexpr double promised = 1.0;
  if (std::abs(rate) - error >= promised) {
    result.level = severity::problem;
    result.why =
        "clock rates must differ by less than 1 %: otherwise the server may give the lock to another holder "
        "while the first one still believes that it has it";
    result.advice = "correct the time of both machines (chronyc tracking); nothing may step or stop a clock";
  } else if (auto const ahead = set_back(facts)) {
    result.level = severity::warning;
    result.found =
        fmt::format("the server's time of day was set back: it last saved {} from now", to_text(*ahead));
    result.why = why_steps_matter;
    result.advice = against_steps;
  } else if (std::abs(rate) + error >= promised) {
    result.level = severity::advice;
    result.why = "clock rates must differ by less than 1 %; the answers took too long to measure that here";
    result.advice = "run the doctor again, nearer to the server or when the network is quiet";
  }
  return result;
}

std::vector<finding> check_times(std::span<examined const> const servers) {
  examined const* behind = nullptr;
  examined const* ahead = nullptr;
  auto const clock_of = [](examined const& server) { return *server.facts->clock.value; };
  for (auto const& server : servers) {
    if (!server.facts || !server.facts->clock.value) continue;
    if (behind == nullptr || clock_of(server).ahead < clock_of(*behind).ahead) behind = &server;
    if (ahead == nullptr || clock_of(server).ahead > clock_of(*ahead).ahead) ahead = &server;
  }
  if (behind == ahead) return {};
  auto const apart = clock_of(*ahead).ahead - clock_of(*behind).ahead;
  auto const doubt = clock_of(*ahead).doubt + clock_of(*behind).doubt;
  finding result{.check = "clock spread",
                 .found = fmt::format("times of day differ by {} (± {})", to_text(apart), to_text(doubt))};
  if (apart - doubt >= too_far_apart) {
    result.level = severity::warning;
    result.why =
        "keys end by the time of day of the master: after a failover to a server whose clock is ahead, "
        "locks end before their holders expect it, and others can take them";
    result.advice = "let NTP keep all servers";
    result.servers = {to_string(behind->name), to_string(ahead->name)};
  }
  return {std::move(result)};
}

}  // namespace holdfast::cli
