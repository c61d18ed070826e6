#include "base/traceparent.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast {
namespace {

constexpr std::string_view usual{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"};

TEST(traceparent, is_four_hexadecimal_numbers_of_their_length) {
  EXPECT_TRUE(is_traceparent(usual));
  EXPECT_TRUE(is_traceparent("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"));
}

TEST(traceparent, is_nothing_else) {
  for (std::string_view const text :
       {"", "checkout", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7 01"}) {
    EXPECT_FALSE(is_traceparent(text)) << text;
  }
}

TEST(traceparent, has_no_other_character_at_any_place) {
  for (std::string::size_type i = 0; i != usual.size(); ++i) {
    std::string text{usual};
    text[i] = ' ';
    EXPECT_FALSE(is_traceparent(text)) << text;
  }
}

}  // namespace
}  // namespace holdfast
