#include "common/duration.hpp"

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>

namespace {

using holdfast::cli::parse_duration;
using holdfast::cli::to_string;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(duration, reads_numbers_with_units) {
  EXPECT_EQ(parse_duration("200ms"), 200ms);
  EXPECT_EQ(parse_duration("5s"), 5s);
  EXPECT_EQ(parse_duration("1m30s"), 90s);
  EXPECT_EQ(parse_duration("2h"), 2h);
  EXPECT_EQ(parse_duration("1d1h1m1s1ms"), 25h + 1min + 1s + 1ms);
}

TEST(duration, takes_a_bare_number_as_seconds) {
  EXPECT_EQ(parse_duration("0"), 0ms);
  EXPECT_EQ(parse_duration("90"), 90s);
}

TEST(duration, reads_decimals_and_minutes_as_flock_and_systemd_write_them) {
  EXPECT_EQ(parse_duration("5min"), 5min);
  EXPECT_EQ(parse_duration("1h5min"), 65min);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("1.5"), 1500ms);
  EXPECT_EQ(parse_duration("0.25h"), 15min);
  EXPECT_EQ(parse_duration("2.000ms"), 2ms);
}

TEST(duration, says_what_is_wrong_and_what_is_allowed) {
  struct row {
    char const* text;
    char const* cause;
  };
  for (auto const& [text, cause] :
       {row{"", "empty"}, row{"-5s", "negative"}, row{"5 minutes", "unknown unit \" minutes\""},
        row{"5x", "unknown unit \"x\""}, row{"soon", "a number is expected at \"soon\""},
        row{"1.s", "digit is expected"}, row{"0.0005s", "finer than a millisecond"},
        row{"1.0000000001s", "too many digits"}, row{"1.5.5s", "unknown unit"},
        row{"1s1m", "from large to small"}, row{"1s1s", "from large to small"}, row{"1m30", "no unit"},
        row{"99999999999999999999s", "too large"}, row{"9999999d", "ten years"}}) {
    EXPECT_THAT(
        [&] { static_cast<void>(parse_duration(text)); },
        ThrowsMessage<std::invalid_argument>(testing::AllOf(HasSubstr(cause), HasSubstr("200ms, 5s, 1m30s"))))
        << text;
  }
}

TEST(duration, writes_the_two_largest_units) {
  EXPECT_EQ(to_string(0ms), "0s");
  EXPECT_EQ(to_string(200ms), "200ms");
  EXPECT_EQ(to_string(90s), "1m30s");
  EXPECT_EQ(to_string(2h), "2h");
  EXPECT_EQ(to_string(25h + 1s), "1d1h");
}

}  // namespace
