#include "top/view.hpp"

#include <gmock/gmock.h>

#include <clocale>
#include <string>

namespace {

using namespace holdfast;
using namespace holdfast::cli;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// The locale decodes characters.
struct with_utf8 : testing::Test {
  with_utf8() { std::setlocale(LC_CTYPE, "C.UTF-8"); }
  ~with_utf8() override { std::setlocale(LC_CTYPE, "C"); }
};
using top_view = with_utf8;

top_row row(std::string const& name) {
  lock_state lock{.name = name, .kind = lock_kind::exclusive, .held_for = 41s, .ttl_left = 29s, .waiting = 5};
  lock.holder = {.owner = "o", .host = "web-3", .pid = 812, .program = "import", .label = "nightly import"};
  return {.lock = lock, .rate = 12.3};
}

top_state with_rows(std::size_t const count) {
  top_state state{.server = "redis://host", .searched = true};
  for (std::size_t i = 0; i != count; ++i) state.rows.push_back(row("job-" + std::to_string(i)));
  return state;
}

TEST_F(top_view, shows_a_lock_in_a_line) {
  auto const lines = draw(with_rows(1), {.columns = 110, .lines = 10});
  ASSERT_EQ(lines.size(), 10U);
  EXPECT_THAT(lines[0].text, AllOf(HasSubstr("locks: 1, waited for: 1"), HasSubstr("redis://host")));
  EXPECT_THAT(lines[2].text, testing::MatchesRegex("job-0 +web-3:812 +nightly import +41s +29s +5 +12 *"));
}

TEST_F(top_view, never_draws_more_than_there_is_room_for) {
  auto state = with_rows(50);
  state.rows.front().lock.name = std::string(300, 'x');
  for (bool const help : {false, true}) {
    state.help = help;
    for (std::size_t columns = 0; columns != 130; ++columns) {
      for (std::size_t lines = 0; lines != 30; ++lines) {
        auto const drawn = draw(state, {.columns = columns, .lines = lines});
        EXPECT_LE(drawn.size(), lines);
        for (auto const& line : drawn) EXPECT_EQ(line.text.size(), columns);
      }
    }
  }
}

TEST_F(top_view, drops_what_can_be_spared_in_a_narrow_window) {
  auto const narrow = draw(with_rows(1), {.columns = 60, .lines = 10});
  EXPECT_THAT(narrow[1].text, AllOf(HasSubstr("WAITING"), HasSubstr("TTL"), Not(HasSubstr("HOLDER"))));
  EXPECT_THAT(draw(with_rows(1), {.columns = 125, .lines = 10})[1].text, Not(HasSubstr("WIRE")));
  EXPECT_THAT(draw(with_rows(1), {.columns = 126, .lines = 10})[1].text, HasSubstr("WIRE"));
  EXPECT_THAT(draw(with_rows(1), {.columns = 30, .lines = 10})[0].text, HasSubstr("too small: 42x5"));
}

TEST_F(top_view, begins_with_the_row_it_was_scrolled_to) {
  auto state = with_rows(50);
  state.first = 7;
  EXPECT_THAT(draw(state, {.columns = 80, .lines = 10})[2].text, StartsWith("job-7 "));
  state.first = 500;
  EXPECT_THAT(draw(state, {.columns = 80, .lines = 10})[2].text, StartsWith("  "));
}

TEST_F(top_view, says_at_the_bottom_what_is_wrong) {
  auto state = with_rows(1);
  state.trouble = "cannot reach\nhost";
  auto const bottom = draw(state, {.columns = 80, .lines = 10}).back();
  EXPECT_EQ(bottom.kind, styled_line::style::trouble);
  EXPECT_THAT(bottom.text, StartsWith("cannot reach\\x0ahost"));
}

TEST_F(top_view, fits_text_by_the_places_it_takes) {
  EXPECT_EQ(fitted("abc", 5), "abc  ");
  EXPECT_EQ(fitted("abc", 2), "ab");
  EXPECT_EQ(fitted("äöü", 2), "äö");
  EXPECT_EQ(fitted("日本", 4), "日本");
  EXPECT_EQ(fitted("日本", 3), "日 ");  // no half of a wide character
  EXPECT_EQ(fitted("a\xff\xc3", 4), "a?? ");
  EXPECT_EQ(fitted("", 0), "");
}

TEST_F(top_view, writes_rates_in_few_places) {
  EXPECT_EQ(rate_cell(0), "0");
  EXPECT_EQ(rate_cell(0.3), "0.3");
  EXPECT_EQ(rate_cell(12.4), "12");
  EXPECT_EQ(rate_cell(3456), "3.5k");
}

}  // namespace
