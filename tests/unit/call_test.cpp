#include "script/call.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace {

using holdfast::arg;
using holdfast::call;
using holdfast::key;

constexpr holdfast::script verb{"family.verb", "sha", "return 1"};

TEST(call, writes_the_number_of_keys_then_keys_then_arguments) {
  call const command{verb, {key{"a"}, key{"bc"}}, {arg{"x"}, arg{42}}};
  EXPECT_EQ(command.tail(), "$1\r\n2\r\n$1\r\na\r\n$2\r\nbc\r\n$1\r\nx\r\n$2\r\n42\r\n");
  EXPECT_EQ(command.source, &verb);
}

TEST(call, counts_the_parts_of_the_whole_command) {
  EXPECT_EQ((call{verb, {}, {}}.parts), 3u);
  EXPECT_EQ((call{verb, {key{"a"}}, {arg{1}, arg{2}}}.parts), 6u);
}

TEST(call, puts_more_keys_behind_the_first_and_more_arguments_last) {
  std::vector<key> const keys{{"b"}, {"c"}};
  std::vector<arg> const args{arg{"y"}};
  call const command{verb, {key{"a"}}, {arg{"x"}}, keys, args};
  EXPECT_EQ(command.tail(), "$1\r\n3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nx\r\n$1\r\ny\r\n");
  EXPECT_EQ(command.parts, 8u);
}

TEST(call, carries_any_bytes) {
  using namespace std::string_view_literals;
  call const command{verb, {key{"a\r\n\0$"sv}}, {arg{""sv}}};
  EXPECT_EQ(command.tail(), "$1\r\n1\r\n$5\r\na\r\n\0$\r\n$0\r\n\r\n"sv);
}

TEST(call, writes_numbers_of_any_size) {
  call const command{verb, {}, {arg{std::numeric_limits<std::int64_t>::min()}, arg{0}, arg{-1}}};
  EXPECT_EQ(command.tail(), "$1\r\n0\r\n$20\r\n-9223372036854775808\r\n$1\r\n0\r\n$2\r\n-1\r\n");
}

}  // namespace
