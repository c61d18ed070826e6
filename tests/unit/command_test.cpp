#include "resp/command.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace holdfast::resp;
using namespace std::string_literals;

std::string bulk(std::int64_t value) {
  std::string out;
  append_integer_bulk(out, value);
  return out;
}

TEST(command, is_an_array_of_bulk_strings) {
  std::string out;
  append_command(out, {"SET", "key", "", "a\r\nb"});
  EXPECT_EQ(out, "*4\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n$4\r\na\r\nb\r\n");
}

TEST(command, keeps_zero_bytes) {
  std::string out;
  append_bulk(out, {"\0x", 2});
  EXPECT_EQ(out, "$2\r\n\0x\r\n"s);
}

TEST(command, is_appended_to_what_is_there) {
  std::string out = "before";
  append_array_header(out, 12);
  EXPECT_EQ(out, "before*12\r\n");
}

TEST(command, writes_every_integer) {
  EXPECT_EQ(bulk(0), "$1\r\n0\r\n");
  EXPECT_EQ(bulk(-7), "$2\r\n-7\r\n");
  EXPECT_EQ(bulk(std::numeric_limits<std::int64_t>::max()), "$19\r\n9223372036854775807\r\n");
  EXPECT_EQ(bulk(std::numeric_limits<std::int64_t>::min()), "$20\r\n-9223372036854775808\r\n");
}

TEST(command, is_taken_once_it_is_whole) {
  std::string bytes;
  append_command(bytes, {"SET", "a\r\nb", ""});
  std::vector<std::string_view> words;
  for (std::size_t size = 0; size != bytes.size(); ++size) {
    auto come = std::string_view{bytes}.substr(0, size);
    EXPECT_FALSE(take_whole_command(come, words)) << size;
    EXPECT_EQ(come.size(), size);
  }
  auto const two = bytes + "*1";
  std::string_view come{two};
  EXPECT_TRUE(take_whole_command(come, words));
  EXPECT_EQ(words, (std::vector<std::string_view>{"SET", "a\r\nb", ""}));
  EXPECT_EQ(come, "*1");
}

}  // namespace
