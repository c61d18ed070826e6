#include "run/limit_options.hpp"

#include "common/duration.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"

#include <fmt/format.h>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

/// Refuses the options that only slots have.
void check_without_slots(limit_words const& from) {
  auto const refuse = [](std::string_view const option, std::string_view const reason) {
    throw failure{usage, fmt::format("{}: {}", option, reason)};
  };
  constexpr auto of_slots = "goes with --once-per, whose slots it is about";
  if (from.offset) refuse("--offset", of_slots);
  if (from.utc) refuse("--utc", of_slots);
  if (from.slack && from.at_most_every)
    refuse("--slack", "goes with --once-per; give --at-most-every a shorter time instead");
  if (from.slack) refuse("--slack", of_slots);
  if (from.retry_failed && !from.at_most_every)
    refuse("--retry-failed", "goes with --once-per or --at-most-every");
}

slot_rule slots_of(limit_words const& from) {
  auto rule = slot_rule_of(*from.once_per);
  if (from.utc) rule.by = slot_rule::zone::utc;
  if (from.offset) rule.offset = duration_of("--offset", *from.offset);
  if (rule.offset >= rule.length) {
    throw failure{usage, fmt::format("--offset: {} is not less than a slot ({})", to_string(rule.offset),
                                     to_string(rule.length))};
  }
  if (from.slack) rule.slack = duration_of("--slack", *from.slack);
  if (rule.slack > rule.length / 2) {
    throw failure{usage, fmt::format("--slack: {} is more than half a slot ({})", to_string(rule.slack),
                                     to_string(rule.length))};
  }
  return rule;
}

}  // namespace

void add_limit(command_options& run, limit_words& to) {
  run.value(
      "--once-per", to.once_per,
      "Run once in each slot of the clock, on any host: each hour, day, week or month of the local time, "
      "or each 15m, 1h … of UTC. If it is done already: exit code 0 (implies --no-wait unless --wait is "
      "given)",
      "hour|day|week|month|15m");
  run.value("--offset", to.offset, "With --once-per: slots begin so much later (default: 0)", "DURATION");
  run.value("--slack", to.slack,
            "With --once-per: a start so much before a slot counts for that slot (default: a tenth of the "
            "slot, at most 30s)",
            "DURATION");
  run.flag("--utc", to.utc, "With --once-per: hours, days, weeks and months of UTC, not of the local time");
  run.value("--at-most-every", to.at_most_every,
            "Run at most once in this time, counted from the beginning of the last run, on any host; "
            "otherwise as --once-per",
            "DURATION");
  run.flag("--retry-failed", to.retry_failed,
           "With --once-per or --at-most-every: a run that failed or died doesn't count, so the next start "
           "runs the job again");
  run.excludes("--at-most-every", "--once-per");
}

std::string limit_option(limit_words const& from) {
  if (from.once_per) return "--once-per";
  return from.at_most_every ? "--at-most-every" : "";
}

std::optional<run_limit> limit_of(limit_words const& from) {
  if (!from.once_per) check_without_slots(from);
  run_limit limit;
  if (from.retry_failed) limit.a_failed_run = run_limit::failed::is_retried;
  if (from.once_per) {
    limit.slots = slots_of(from);
    return limit;
  }
  if (!from.at_most_every) return std::nullopt;
  limit.period = duration_of("--at-most-every", *from.at_most_every);
  if (limit.period == 0ms)
    throw failure{usage, "--at-most-every: 0 is not a period; leave it out for no limit"};
  return limit;
}

}  // namespace holdfast::cli
