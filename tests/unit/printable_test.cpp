#include "base/printable.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <holdfast/busy_info.hpp>

namespace {

using holdfast::printable;

TEST(printable, leaves_what_can_be_read_as_it_is) {
  for (auto const* const text : {"", "orders:42", "Überstunden €uro 錠 🔒", "a\\x1b"})
    EXPECT_EQ(printable(text), text);
}

TEST(printable, shows_control_characters_by_their_bytes) {
  EXPECT_EQ(printable("a\n\x1b[2Jb\x7f"), R"(a\x0a\x1b[2Jb\x7f)");
  EXPECT_EQ(printable(std::string_view{"\0", 1}), R"(\x00)");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            R"(\xc2\x9b2J)")
      << "CSI as one character";
  EXPECT_EQ(printable("\xe2\x80\xa8"), R"(\xe2\x80\xa8)") << "a line separator";
}

TEST(printable, shows_what_changes_the_direction_of_writing) {
  EXPECT_EQ(printable("user\xe2\x80\xaegnp"), R"(user\xe2\x80\xaegnp)") << "override";
  EXPECT_EQ(printable("\xe2\x81\xa6x\xe2\x81\xa9"), R"(\xe2\x81\xa6x\xe2\x81\xa9)") << "isolate";
  EXPECT_EQ(printable("\xd8\x9c\xe2\x80\x8f"), R"(\xd8\x9c\xe2\x80\x8f)") << "marks";
}

TEST(printable, shows_what_is_no_utf8) {
  EXPECT_EQ(printable("\x9b\xff"), R"(\x9b\xff)");
  EXPECT_EQ(printable("\xc0\x8a"), R"(\xc0\x8a)") << "a line feed in two bytes";
  EXPECT_EQ(printable("\xe2\x80"), R"(\xe2\x80)") << "cut off";
  EXPECT_EQ(printable("\xed\xa0\x80"), R"(\xed\xa0\x80)") << "half a pair";
}

RC_GTEST_PROP(printable, has_no_byte_that_a_terminal_obeys, (std::string const& text)) {
  auto const line = printable(text);
  for (char const c : line) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  RC_ASSERT(printable(line) == line);
}

TEST(busy_text, says_nothing_that_a_terminal_obeys) {
  holdfast::process_info const rude{.owner = "a:1",
                                    .host = "web\x1b[2J",
                                    .pid = 812,
                                    .program = "x",
                                    .label = "night\xe2\x80\xaely\r\nheld by nobody"};
  EXPECT_EQ(rude.to_string(), R"(web\x1b[2J pid 812 'night\xe2\x80\xaely\x0d\x0aheld by nobody')");
  EXPECT_EQ((holdfast::process_info{.owner = "redsync\n"}).to_string(), R"(unknown (redsync\x0a))");
  EXPECT_EQ((holdfast::busy_info{.holder = rude, .ahead = 1}).to_string(),
            R"(held by web\x1b[2J pid 812 'night\xe2\x80\xaely\x0d\x0aheld by nobody', 1 ahead of you)");
  EXPECT_EQ((holdfast::process_info{.host = "h", .pid = 1, .program = "\x9b"}).to_string(),
            R"(h pid 1 (\x9b))");
}

}  // namespace
