#include "run/time_slots.hpp"

#include "common/duration.hpp"
#include "common/exit_codes.hpp"

#include <fmt/format.h>

#include <time.h>

#include <algorithm>
#include <stdexcept>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::floor;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds one_day = std::chrono::days{1};
/// Clocks of hosts that are set by NTP, and the moment at which a crontab's line begins, differ by less.
constexpr milliseconds longest_default_slack = 30s;
constexpr int part_for_slack = 10;

std::tm broken_down(instant const time, slot_rule::zone const by) {
  time_t const whole = floor<seconds>(time).time_since_epoch().count();
  std::tm fields{};
  if (by == slot_rule::zone::utc) {
    gmtime_r(&whole, &fields);
  } else {
    localtime_r(&whole, &fields);
  }
  return fields;
}

seconds ahead_of_utc(instant const time, slot_rule::zone const by) {
  return seconds{broken_down(time, by).tm_gmtoff};
}

/// When clocks are changed. Requires that they are once, after `from` and no later than `to`.
instant switch_between(instant const from, instant const to, slot_rule::zone const by) {
  auto before = floor<seconds>(from);
  auto after = std::chrono::ceil<seconds>(to);
  auto const in_the_end = ahead_of_utc(after, by);
  while (after - before > 1s) {
    auto const middle = before + (after - before) / 2;
    (ahead_of_utc(middle, by) == in_the_end ? after : before) = middle;
  }
  return after;
}

/// The first moment at which the wall clock shows `wall` or more: the first of two if it shows that time
/// twice, the switch if it never does. Not by mktime, which guesses such a time by its last call.
instant when_shown(instant const wall, slot_rule::zone const by) {
  constexpr auto more_than_any_zone = std::chrono::days{1};
  auto const before = wall - ahead_of_utc(wall - more_than_any_zone, by);
  if (before + ahead_of_utc(before, by) == wall) return before;
  auto const after = wall - ahead_of_utc(wall + more_than_any_zone, by);
  if (after + ahead_of_utc(after, by) == wall) return after;
  return switch_between(after, before, by);
}

/// The slot of equal lengths, counted from `zero`.
time_slot equal_slot(instant const time, milliseconds const length, instant const zero) {
  auto const before = (time - zero) % microseconds{length};
  auto const begin = time - before - (before < 0us ? microseconds{length} : 0us);
  return {begin, begin + length};
}

/// By the wall clock: `shift` units after the day, week or month that `day` is in.
instant wall_begin(slot_rule const& rule, std::tm const& day, int const shift) {
  constexpr int days_a_week = 7;
  std::tm fields{};
  fields.tm_year = day.tm_year;
  fields.tm_mon = day.tm_mon;
  fields.tm_mday = day.tm_mday;
  if (rule.of == slot_rule::unit::day) fields.tm_mday += shift;
  if (rule.of == slot_rule::unit::week)
    fields.tm_mday += days_a_week * shift - (day.tm_wday + days_a_week - 1) % days_a_week;
  if (rule.of == slot_rule::unit::month) {
    fields.tm_mon += shift;
    fields.tm_mday = 1;
  }
  return when_shown(instant{seconds{timegm(&fields)}} + rule.offset, rule.by);
}

/// Twice while the wall clock shows an hour again. Where clocks are changed by half an hour, the hour ends at
/// the switch.
time_slot hour_slot(slot_rule const& rule, instant const time) {
  auto const ahead = ahead_of_utc(time, rule.by);
  auto slot = equal_slot(time, 1h, instant{rule.offset - ahead});
  if ((ahead_of_utc(slot.begin, rule.by) - ahead) % 1h != 0s)
    slot.begin = switch_between(slot.begin, time, rule.by);
  if ((ahead_of_utc(slot.end, rule.by) - ahead) % 1h != 0s)
    slot.end = switch_between(time, slot.end, rule.by);
  return slot;
}

time_slot wall_slot(slot_rule const& rule, instant const time) {
  auto const day = broken_down(time, rule.by);
  // The offset is less than a unit, so the slot begins in the unit of `time` or in the one before.
  int shift = wall_begin(rule, day, 0) <= time ? 0 : -1;
  while (wall_begin(rule, day, shift + 1) <= time) ++shift;
  return {wall_begin(rule, day, shift), wall_begin(rule, day, shift + 1)};
}

slot_rule rule_of_unit(slot_rule::unit const unit, milliseconds const length) {
  return {.of = unit, .length = length, .slack = longest_default_slack};
}

}  // namespace

slot_rule slot_rule_of(std::string const& text) {
  if (text == "hour") return rule_of_unit(slot_rule::unit::hour, 1h);
  if (text == "day") return rule_of_unit(slot_rule::unit::day, one_day);
  if (text == "week") return rule_of_unit(slot_rule::unit::week, 7 * one_day);
  if (text == "month") return rule_of_unit(slot_rule::unit::month, 28 * one_day);
  slot_rule rule;
  try {
    rule.length = parse_duration(text);
  } catch (std::invalid_argument const& problem) {
    throw failure{usage, fmt::format("--once-per: {}; or hour, day, week, month", problem.what())};
  }
  if (rule.length == 0ms) {
    throw failure{usage, "--once-per: 0 is not the length of a slot; leave it out for no limit"};
  }
  if (one_day % rule.length != 0ms && rule.length % one_day != 0ms) {
    throw failure{usage,
                  fmt::format("--once-per: slots of {0} would begin at another time each day, since a day "
                              "is not a multiple of {0}; --at-most-every {0} counts from the last run",
                              text)};
  }
  rule.slack = std::min(longest_default_slack, rule.length / part_for_slack);
  return rule;
}

time_slot slot_for(slot_rule const& rule, instant const now) {
  auto const time = now + rule.slack;
  switch (rule.of) {
    case slot_rule::unit::length:
      return equal_slot(time, rule.length, instant{rule.offset});
    case slot_rule::unit::hour:
      return hour_slot(rule, time);
    case slot_rule::unit::day:
    case slot_rule::unit::week:
    case slot_rule::unit::month:
      break;
  }
  return wall_slot(rule, time);
}

}  // namespace holdfast::cli
