// Holdfast's matching of a pattern against the server's.

#include "inspect/glob.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "contract/contract.hpp"

namespace holdfast::contract::glob_test {

using holdfast::inspection::escaped;
using holdfast::inspection::matches;
using holdfast::inspection::start_of;

rc::Gen<std::string> text_of(std::string const& letters) {
  return rc::gen::container<std::string>(rc::gen::elementOf(letters));
}

std::vector<std::string> all_short_names() {
  std::vector<std::string> all;
  std::vector<std::string> last{""};
  for (int length = 1; length <= 3; ++length) {
    std::vector<std::string> longer;
    for (auto const& start : last) {
      for (char const c : std::string_view{R"(abc-]\)"}) longer.push_back(start + c);
    }
    all.insert(all.end(), longer.begin(), longer.end());
    last = std::move(longer);
  }
  return all;
}

/// A server with exactly these keys.
raw_redis server_with(std::vector<std::string> const& keys) {
  auto server = empty_server().raw();
  std::vector<words> commands;
  for (auto const& key : keys) commands.push_back({"SET", key, "1"});
  server.pipeline(commands);
  return server;
}

RC_GTEST_PROP(glob, reads_a_pattern_as_the_server_does, ()) {
  auto const names = all_short_names();
  auto server = server_with(names);
  auto const pieces =
      *rc::gen::resize(5, rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
                              "a", "b", "c", "-", "*", "?", "[", "[^", "]", "\\", "[a-b]", "[c-b]", "[^a-b]",
                              "[^c]", "[a-", "[\\-", "b]")));
  std::string pattern;
  for (auto const& piece : pieces) pattern += piece;
  auto const by_server = server.keys(pattern);
  std::vector<std::string> by_matcher;
  std::ranges::copy_if(names, std::back_inserter(by_matcher),
                       [&pattern](std::string const& name) { return matches(pattern, name); });
  RC_ASSERT(std::set(by_matcher.begin(), by_matcher.end()) == std::set(by_server.begin(), by_server.end()));
}

RC_GTEST_PROP(glob, escapes_a_name_so_that_it_matches_itself_alone, ()) {
  auto const name = *text_of(R"(a*?[^]\-)");
  auto const other_name = *text_of(R"(a*?[^]\-)");
  RC_ASSERT(matches(escaped(name), name));
  RC_ASSERT(matches(escaped(name), other_name) == (name == other_name));
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
  EXPECT_TRUE(matches(R"(job:[a-c\]d])", "job:b")) << "what comes behind a match is still part of the set";
  EXPECT_FALSE(matches(R"(job:[a-c\]d])", "job:bd]"));
  EXPECT_FALSE(matches("job:", "job:1"));
}

TEST(glob, is_not_slow_with_many_stars) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  EXPECT_FALSE(matches(pattern + "b", std::string(10'000, 'a')));
}

}  // namespace holdfast::contract::glob_test
