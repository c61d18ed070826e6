#include "holdfast_command.hpp"

#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace {

using namespace holdfast::test;

constexpr auto page_file = HOLDFAST_SOURCE_DIR "/man/holdfast.1";

using option_names = std::set<std::string>;

/// The first groups of all matches of `pattern` in the lines of `text`.
option_names found_in(std::string const& text, std::string const& pattern) {
  option_names found;
  std::istringstream lines{text};
  std::regex const wanted{pattern};
  for (std::string line; std::getline(lines, line);) {
    for (std::sregex_iterator match{line.begin(), line.end(), wanted}, end; match != end; ++match) {
      found.insert((*match)[1]);
    }
  }
  return found;
}

std::string help_of(std::string const& command = {}) {
  auto help = command.empty() ? holdfast_command({"help"}) : holdfast_command({"help", command});
  EXPECT_EQ(help.wait(), 0);
  return help.out();
}

/// The page's sections of commands, and "Common options".
std::map<std::string, std::string> sections() {
  std::map<std::string, std::string> found;
  std::istringstream page{content_of(page_file)};
  std::string name;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(".Sh ")) name.clear();
    if (line.starts_with(".Ss ")) {
      name = line.substr(4);
    } else if (!name.empty()) {
      found[name] += line + '\n';
    }
  }
  return found;
}

option_names options_in(std::string const& section) {
  return found_in(section, R"(^\.It .*Fl -([a-z][a-z-]*))");
}

TEST(manual, is_free_of_errors) {
  process lint{{"mandoc", "-Tlint", "-W", "warning", page_file}};
  EXPECT_EQ(lint.wait(), 0);
  EXPECT_EQ(lint.out(), "");
}

TEST(manual, fits_a_terminal) {
  process shown{{"mandoc", "-Tascii", "-Owidth=80", page_file}};
  ASSERT_EQ(shown.wait(), 0);
  std::istringstream lines{shown.out()};
  for (std::string line; std::getline(lines, line);) {
    // A bold letter is printed twice, with a backspace between.
    EXPECT_LE(std::regex_replace(line, std::regex{".\b"}, "").size(), 80U) << line;
  }
}

TEST(manual, explains_each_command_and_no_other) {
  option_names explained;
  for (auto const& [name, text] : sections()) {
    if (name.starts_with("holdfast ")) explained.insert(name.substr(std::string{"holdfast "}.size()));
  }
  auto list = help_of();
  list.erase(0, list.find("Subcommands:"));
  list.erase(list.find("\n\n"));
  EXPECT_EQ(explained, found_in(list, "^  ([a-z]+) "));
}

TEST(manual, shows_each_command_in_its_synopsis) {
  auto const page = content_of(page_file);
  auto const synopsis = page.substr(0, page.find(".Sh DESCRIPTION"));
  for (auto const& [name, text] : sections()) {
    if (!name.starts_with("holdfast ")) continue;
    EXPECT_THAT(synopsis, testing::HasSubstr(".Cm " + name.substr(std::string{"holdfast "}.size()) + '\n'));
  }
}

TEST(manual, explains_each_option_of_a_command_and_no_other) {
  auto const all = sections();
  auto const common = options_in(all.at("Common options"));
  ASSERT_THAT(common, testing::IsSupersetOf({"url", "verbose", "help"}));
  for (auto const& [name, text] : all) {
    if (!name.starts_with("holdfast ")) continue;
    auto const offered =
        found_in(help_of(name.substr(std::string{"holdfast "}.size())), "^  (?:-[a-z],)?--([a-z-]+)");
    auto explained = options_in(text);
    for (auto const& option : explained)
      EXPECT_FALSE(common.contains(option)) << name << " repeats --" << option;
    // `completion` and `help` contact no server.
    for (auto const& option : common) {
      if (offered.contains(option)) explained.insert(option);
    }
    EXPECT_EQ(explained, offered) << name;
  }
}

}  // namespace
