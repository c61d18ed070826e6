// The generated calls of tests/embed/accepted, with types that only record their arguments.
#include <gtest/gtest.h>

#include <string>

#include "scripts/family.hpp"

namespace holdfast {
namespace {

TEST(embed_lua, makes_one_field_for_each_key_and_argument_in_order) {
  auto const generated = scripts::family::verb{
      .lock = {"L"}, .others = {{"M"}, {"N"}}, .owner = {"o"}, .ttl_ms = {"5"}, .ids = {{"x"}, {"y"}}}();
  EXPECT_EQ(generated.keys, (std::vector<std::string>{"L", "M", "N"}));
  EXPECT_EQ(generated.args, (std::vector<std::string>{"o", "5", "x", "y"}));
}

TEST(embed_lua, takes_keys_without_arguments) {
  auto const generated = scripts::family::only_locks{.locks = {{"A"}, {"B"}}}();
  EXPECT_EQ(generated.keys, (std::vector<std::string>{"A", "B"}));
  EXPECT_TRUE(generated.args.empty());
}

TEST(embed_lua, names_a_script_after_its_family_and_verb) {
  EXPECT_EQ(scripts::family::nothing{}().source.name, "family.nothing");
}

TEST(embed_lua, keeps_the_text_exactly_and_expands_includes) {
  constexpr std::string_view text = scripts::family::verb::source.text;
  EXPECT_NE(text.find("local function pop(list)\n  local owner = owner\n"), std::string_view::npos);
  EXPECT_NE(text.find(R"(local text = "[[;\\\"@lock@ ${lock}" .. lock .. owner;)"), std::string_view::npos);
  EXPECT_EQ(text.find("@include"), std::string_view::npos);
  EXPECT_TRUE(text.ends_with("end\n\nreturn {text, t}\n"));
}

TEST(embed_lua, leaves_the_contracts_of_the_includes_out) {
  constexpr std::string_view text = scripts::family::ended::source.text;
  EXPECT_TRUE(
      text.starts_with("local owner = ARGV[1]\nlocal ids = {unpack(ARGV, 2)}\n"
                       "-- Not in the text that is embedded: what stands above.\nlocal now, later = 0\n"));
  EXPECT_TRUE(
      text.ends_with("end\nlocal id = pop(ids)\nif not id then return 0 end\nreturn id\n"
                     "-- A comment may stand here.\n"));
}

TEST(embed_lua, gives_the_sha1_of_the_text) {
  // printf 'return redis.call("TIME")\n' | sha1sum
  EXPECT_EQ(scripts::family::nothing::source.text, "return redis.call(\"TIME\")\n");
  EXPECT_EQ(scripts::family::nothing::source.sha1, "def4b74b60a6c895598f030af7963a467d7faac3");
}

}  // namespace
}  // namespace holdfast
