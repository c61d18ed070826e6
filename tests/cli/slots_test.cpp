#include "run/time_slots.hpp"

#include "common/exit_codes.hpp"

#include <gmock/gmock.h>

#include <time.h>

#include <cstdlib>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using holdfast::cli::failure;
using holdfast::cli::instant;
using holdfast::cli::slot_for;
using holdfast::cli::slot_rule;
using holdfast::cli::slot_rule_of;
using holdfast::cli::time_slot;
using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The local time of this process, until it is destroyed. Written out, so that no data about zones is needed.
class local_zone {
 public:
  explicit local_zone(std::string const& zone) {
    if (auto const* const before = std::getenv("TZ")) before_ = before;
    setenv("TZ", zone.c_str(), 1);
    tzset();
  }
  ~local_zone() {
    if (before_.empty()) {
      unsetenv("TZ");
    } else {
      setenv("TZ", before_.c_str(), 1);
    }
    tzset();
  }
  local_zone(local_zone const&) = delete;
  local_zone& operator=(local_zone const&) = delete;

 private:
  std::string before_{};
};

constexpr auto berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
constexpr auto kolkata = "IST-5:30";
constexpr auto azores = "<-01>1<+00>,M3.5.0/0,M10.5.0/1";  ///< goes back from 1:00 to 0:00
constexpr auto havana = "CST5CDT,M3.2.0/0,M11.1.0/1";      ///< has days without 0:00, and with two
constexpr auto lord_howe = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";

instant utc(int month, int day, std::chrono::microseconds time_of_day = 0us) {
  return sys_days{year{2026} / month / day} + time_of_day;
}

slot_rule without_slack(std::string const& text) {
  auto rule = slot_rule_of(text);
  rule.slack = 0ms;
  return rule;
}

TEST(slot, of_a_length_is_aligned_to_the_clock) {
  EXPECT_EQ(slot_for(without_slack("15m"), utc(3, 1, 10h + 29min + 59s)),
            (time_slot{utc(3, 1, 10h + 15min), utc(3, 1, 10h + 30min)}));
  EXPECT_EQ(slot_for(without_slack("1h"), utc(3, 1, 10h)), (time_slot{utc(3, 1, 10h), utc(3, 1, 11h)}));
  EXPECT_EQ(slot_for(without_slack("1d"), utc(3, 1, 23h)), (time_slot{utc(3, 1), utc(3, 2)}));
}

TEST(slot, of_a_length_is_the_same_in_all_zones) {
  local_zone const zone{kolkata};
  EXPECT_EQ(slot_for(without_slack("1h"), utc(3, 1, 10h + 20min)),
            (time_slot{utc(3, 1, 10h), utc(3, 1, 11h)}));
}

TEST(slot, of_an_hour_is_one_of_the_local_time) {
  local_zone const zone{kolkata};
  EXPECT_EQ(slot_for(without_slack("hour"), utc(3, 1, 10h + 20min)),
            (time_slot{utc(3, 1, 9h + 30min), utc(3, 1, 10h + 30min)}));
}

TEST(slot, of_a_day_is_one_of_the_local_time) {
  local_zone const zone{berlin};
  EXPECT_EQ(slot_for(without_slack("day"), utc(1, 10, 22h + 59min)),
            (time_slot{utc(1, 9, 23h), utc(1, 10, 23h)}));
  EXPECT_EQ(slot_for(without_slack("day"), utc(1, 10, 23h)), (time_slot{utc(1, 10, 23h), utc(1, 11, 23h)}));
}

TEST(slot, of_a_day_is_shorter_and_longer_when_clocks_are_changed) {
  local_zone const zone{berlin};
  EXPECT_EQ(slot_for(without_slack("day"), utc(3, 29, 12h)), (time_slot{utc(3, 28, 23h), utc(3, 29, 22h)}));
  EXPECT_EQ(slot_for(without_slack("day"), utc(10, 25, 12h)),
            (time_slot{utc(10, 24, 22h), utc(10, 25, 23h)}));
}

TEST(slot, of_an_hour_comes_twice_when_clocks_are_set_back) {
  local_zone const zone{berlin};
  auto const first = slot_for(without_slack("hour"), utc(10, 25, 0h + 30min));
  auto const second = slot_for(without_slack("hour"), utc(10, 25, 1h + 30min));
  EXPECT_EQ(first, (time_slot{utc(10, 25, 0h), utc(10, 25, 1h)}));
  EXPECT_EQ(second, (time_slot{utc(10, 25, 1h), utc(10, 25, 2h)}));
}

TEST(slot, of_a_week_begins_on_monday) {
  auto rule = without_slack("week");
  rule.by = slot_rule::zone::utc;
  for (int day = 23; day <= 29; ++day)  // the 23rd of November is a Monday
    EXPECT_EQ(slot_for(rule, utc(11, day, 12h)), (time_slot{utc(11, 23), utc(11, 30)})) << day;
}

TEST(slot, of_a_month_is_as_long_as_the_month) {
  auto rule = without_slack("month");
  rule.by = slot_rule::zone::utc;
  EXPECT_EQ(slot_for(rule, utc(2, 28, 23h)), (time_slot{utc(2, 1), utc(3, 1)}));
  EXPECT_EQ(slot_for(rule, utc(3, 31)), (time_slot{utc(3, 1), utc(4, 1)}));
}

TEST(slot, begins_later_by_its_offset) {
  auto rule = without_slack("1h");
  rule.offset = 15min;
  EXPECT_EQ(slot_for(rule, utc(3, 1, 10h + 14min)),
            (time_slot{utc(3, 1, 9h + 15min), utc(3, 1, 10h + 15min)}));
  local_zone const zone{berlin};
  auto day = without_slack("day");
  day.offset = 6h;  // by the wall clock, also on the day on which it goes forward
  EXPECT_EQ(slot_for(day, utc(3, 29, 3h + 59min)), (time_slot{utc(3, 28, 5h), utc(3, 29, 4h)}));
  EXPECT_EQ(slot_for(day, utc(3, 29, 4h)), (time_slot{utc(3, 29, 4h), utc(3, 30, 4h)}));
  auto month = without_slack("month");
  month.by = slot_rule::zone::utc;
  month.offset = days{20};
  EXPECT_EQ(slot_for(month, utc(3, 1)), (time_slot{utc(2, 21), utc(3, 21)}));
}

TEST(slot, takes_a_start_within_its_slack_before_it) {
  auto rule = slot_rule_of("1h");
  EXPECT_EQ(rule.slack, 30s);
  EXPECT_EQ(slot_rule_of("1m").slack, 6s);
  EXPECT_EQ(slot_for(rule, utc(3, 1, 9h + 59min + 30s)), (time_slot{utc(3, 1, 10h), utc(3, 1, 11h)}));
  EXPECT_EQ(slot_for(rule, utc(3, 1, 9h + 59min + 29s)), (time_slot{utc(3, 1, 9h), utc(3, 1, 10h)}));
}

long ahead_of_utc(instant const time) {
  time_t const whole = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  std::tm fields{};
  localtime_r(&whole, &fields);
  return fields.tm_gmtoff;
}

/// Each half hour of the two days on either side of a change of the clocks in 2026, in order.
std::vector<instant> half_hours_around_switches() {
  std::vector<instant> switches;
  for (auto time = utc(1, 1); time < utc(12, 31); time += 30min)
    if (ahead_of_utc(time) != ahead_of_utc(time - 30min)) switches.push_back(time);
  if (switches.empty()) switches.push_back(utc(10, 25));
  std::vector<instant> all;
  for (auto const time : switches)
    for (auto offset = -48h + 0min; offset <= 48h; offset += 30min) all.push_back(time + offset);
  return all;
}

std::vector<slot_rule> rules_of_the_wall_clock() {
  std::vector<slot_rule> all;
  for (std::string const unit : {"hour", "day", "week", "month"}) {
    for (auto const offset : {0min, 15min, 59min, 60min, 90min, 120min, 150min, 180min, 1'410min}) {
      if (unit == "hour" && offset >= 1h) continue;
      all.push_back(without_slack(unit));
      all.back().offset = offset;
    }
  }
  return all;
}

class slots_in : public testing::TestWithParam<char const*> {};

TEST_P(slots_in, its_zone_follow_each_other_without_a_gap_and_are_the_same_whoever_asked_before) {
  local_zone const zone{GetParam()};
  for (auto const& rule : rules_of_the_wall_clock()) {
    std::vector<std::pair<instant, time_slot>> seen;
    for (auto const time : half_hours_around_switches()) {
      auto const slot = slot_for(rule, time);
      ASSERT_LE(slot.begin, time);
      ASSERT_LT(time, slot.end);
      ASSERT_EQ(slot_for(rule, slot.begin), slot);
      ASSERT_EQ(slot_for(rule, slot.end - 1us), slot);
      ASSERT_EQ(slot_for(rule, slot.end).begin, slot.end);
      seen.emplace_back(time, slot);
    }
    for (auto const& [time, slot] : std::views::reverse(seen)) {
      ASSERT_EQ(slot_for(rule, time), slot);
      ASSERT_EQ(slot_for(rule, time), slot);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(zones, slots_in, testing::Values(berlin, azores, havana, lord_howe, kolkata));

TEST(slot, begins_at_the_first_of_two_equal_times_and_at_the_switch_over_its_own) {
  local_zone const zone{berlin};
  auto rule = without_slack("day");
  rule.offset = 150min;
  EXPECT_EQ(slot_for(rule, utc(10, 25, 0h + 30min)),
            (time_slot{utc(10, 25, 0h + 30min), utc(10, 26, 1h + 30min)}));
  EXPECT_EQ(slot_for(rule, utc(3, 29, 1h)), (time_slot{utc(3, 29, 1h), utc(3, 30, 0h + 30min)}));
}

TEST(slot, of_an_hour_ends_where_clocks_are_changed_by_half_an_hour) {
  local_zone const zone{lord_howe};
  auto const rule = without_slack("hour");
  EXPECT_EQ(slot_for(rule, utc(4, 4, 14h + 30min)), (time_slot{utc(4, 4, 14h), utc(4, 4, 15h)}));
  EXPECT_EQ(slot_for(rule, utc(4, 4, 15h)), (time_slot{utc(4, 4, 15h), utc(4, 4, 15h + 30min)}));
}

TEST(slot, of_a_length_that_no_day_is_a_multiple_of_is_refused) {
  for (std::string const text : {"7h", "50m", "25h", "7s"}) {
    EXPECT_THAT([&] { (void)slot_rule_of(text); },
                ThrowsMessage<failure>(HasSubstr("--at-most-every " + text + " counts from the last run")));
  }
  for (std::string const text : {"45m", "90s", "12h", "1d", "2d", "300ms"}) (void)slot_rule_of(text);
}

}  // namespace
