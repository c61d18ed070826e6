#include "base/whole_number.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace holdfast {
namespace {

TEST(whole_number, is_read_to_its_limits) {
  EXPECT_EQ(whole_number("0"), 0);
  EXPECT_EQ(whole_number("-17"), -17);
  EXPECT_EQ(whole_number("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(whole_number("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(whole_number<std::uint16_t>("65535"), 65535);
}

TEST(whole_number, is_no_other_text) {
  for (auto const* const text :
       {"", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "one", "9223372036854775808"})
    EXPECT_FALSE(whole_number(text)) << text;
  EXPECT_FALSE(whole_number<std::uint16_t>("65536"));
  EXPECT_FALSE(whole_number<std::uint16_t>("-1"));
}

TEST(leading_number, is_what_the_text_begins_with) {
  EXPECT_EQ(leading_number("17 of 20"), 17);
  EXPECT_EQ(leading_number("-1"), -1);
  EXPECT_EQ(leading_number(""), 0);
  EXPECT_EQ(leading_number("x1", -1), -1);
  EXPECT_EQ(leading_number<std::uint16_t>("65536"), 0) << "that is too large";
}

}  // namespace
}  // namespace holdfast
