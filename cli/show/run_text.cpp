#include "show/run_text.hpp"

#include "common/output.hpp"

#include <fmt/format.h>

#include <time.h>

#include <algorithm>

namespace holdfast::cli::run_text {
namespace {

using namespace std::chrono_literals;
using std::chrono::ceil;
using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;

/// "19 h 26 min", "2 d": when a job is due next is no time to round to whole hours or days.
std::string in_two_units(minutes const time, minutes const large, std::string_view const large_name,
                         minutes const small, std::string_view const small_name) {
  auto text = fmt::format("{} {}", time / large, large_name);
  if (auto const rest = time % large; rest >= small) text += fmt::format(" {} {}", rest / small, small_name);
  return text;
}

std::tm local_fields(run_info::time_point const time) {
  time_t const whole = floor<seconds>(time).time_since_epoch().count();
  std::tm fields{};
  localtime_r(&whole, &fields);
  return fields;
}

}  // namespace

std::string since(microseconds const time) {
  if (time < 1min) return fmt::format("{} s", std::max(floor<seconds>(time), 0s).count());
  if (time < 1h) return fmt::format("{} min", floor<minutes>(time).count());
  if (time < 48h) return fmt::format("{} h", floor<hours>(time).count());
  return fmt::format("{} d", floor<days>(time).count());
}

std::string until(microseconds const time) {
  if (time <= 1min) return fmt::format("{} s", std::max(ceil<seconds>(time), 0s).count());
  if (time <= 1h) return fmt::format("{} min", ceil<minutes>(time).count());
  if (time <= 48h) return in_two_units(ceil<minutes>(time), 1h, "h", 1min, "min");
  return in_two_units(ceil<hours>(time), 24h, "d", 1h, "h");
}

std::string clock(run_info::time_point const time, run_info::time_point const now) {
  auto const fields = local_fields(time);
  auto const today = local_fields(now);
  auto text = fmt::format("{:02}:{:02}", fields.tm_hour, fields.tm_min);
  if (fields.tm_year == today.tm_year && fields.tm_yday == today.tm_yday) return text;
  constexpr int first_year = 1900;
  return fmt::format("{}-{:02}-{:02} {}", first_year + fields.tm_year, fields.tm_mon + 1, fields.tm_mday,
                     text);
}

std::string host(run_info const& run) {
  return run.process.host.empty() ? "an unknown host" : output::one_line(run.process.host);
}

std::string story(run_info const& run, lock_is const lock, run_info::time_point const now) {
  auto const ago = since(now - run.began);
  if (run.took) {
    return fmt::format("ran {} ago on {} ({}, exit {})", ago, host(run), since(*run.took),
                       run.exit_code.value_or(0));
  }
  if (lock == lock_is::held) return fmt::format("has been running for {} on {}", ago, host(run));
  return fmt::format("began {} ago on {} and did not end", ago, host(run));
}

std::string kept(lock_state const& state) {
  auto const& run = *state.last_run;
  auto const end = fmt::format("kept until {}", clock(*kept_until(state), state.seen));
  if (!run.took) return fmt::format("{}; began {}, did not end", end, clock(run.began, state.seen));
  return fmt::format("{}; finished {}, exit {}", end, clock(run.began + *run.took, state.seen),
                     run.exit_code.value_or(0));
}

}  // namespace holdfast::cli::run_text
