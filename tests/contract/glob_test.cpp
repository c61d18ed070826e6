// Our reading of a pattern against that of the server.

#include "inspect/glob.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "contract/contract.hpp"

namespace {

using namespace holdfast::contract;
using holdfast::inspection::escaped;
using holdfast::inspection::matches;
using holdfast::inspection::start_of;

rc::Gen<std::string> text_of(std::string const& letters) {
  return rc::gen::container<std::string>(rc::gen::elementOf(letters));
}

/// Says KEYS of `pattern`, on a server with the key `name` only.
bool server_matches(raw_redis& server, std::string const& pattern, std::string const& name) {
  server.command({"FLUSHDB"});
  server.command({"SET", name, "1"});
  return !server.keys(pattern).empty();
}

RC_GTEST_PROP(glob, reads_a_pattern_as_the_server_does, ()) {
  static auto server = empty_server().raw();
  auto const pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "a", "b", "c", "-", "*", "?", "[", "[^", "]", "\\", "[a-b]", "[c-b]", "[^a-b]", "[a-", "[\\-", "b]"));
  std::string pattern;
  for (auto const& piece : pieces) pattern += piece;
  auto const name = *rc::gen::nonEmpty(text_of(R"(abc-]\)"));
  RC_ASSERT(matches(pattern, name) == server_matches(server, pattern, name));
}

RC_GTEST_PROP(glob, escapes_a_name_so_that_it_matches_itself_alone, ()) {
  auto const name = *text_of(R"(a*?[^]\-)");
  auto const other = *text_of(R"(a*?[^]\-)");
  RC_ASSERT(matches(escaped(name), name));
  RC_ASSERT(matches(escaped(name), other) == (name == other));
  RC_ASSERT(start_of(escaped(name)).complete);
  RC_ASSERT(start_of(escaped(name)).text == name);
}

RC_GTEST_PROP(glob, knows_what_all_that_match_begin_with, ()) {
  auto const pattern = *text_of(R"(ab*?[]\)");
  auto const name = *text_of(R"(ab\)");
  auto const start = start_of(pattern);
  if (matches(pattern, name)) RC_ASSERT(name.starts_with(start.text));
  if (start.complete) RC_ASSERT(matches(pattern, name) == (name == start.text));
}

TEST(glob, knows_ranges_in_either_direction_and_what_is_left_open) {
  EXPECT_TRUE(matches("job:[a-c]", "job:b"));
  EXPECT_TRUE(matches("job:[c-a]", "job:b"));
  EXPECT_FALSE(matches("job:[^a-c]", "job:b"));
  EXPECT_TRUE(matches("job:[ab", "job:b"));
  EXPECT_FALSE(matches("job:", "job:1"));
}

TEST(glob, is_not_slow_with_many_stars) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  EXPECT_FALSE(matches(pattern + "b", std::string(10'000, 'a')));
}

}  // namespace
