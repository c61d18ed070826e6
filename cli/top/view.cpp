#include "top/view.hpp"

#include "common/output.hpp"
#include "show/listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cwchar>
#include <span>
#include <utility>

namespace holdfast::cli {
namespace {

using style = styled_line::style;

constexpr size_in_cells smallest{.columns = 42, .lines = 5};
constexpr std::size_t lines_around = 3;  ///< title, header, and the line at the bottom

constexpr std::array help{
    std::string_view{"q          leave"},
    std::string_view{"up, down   scroll by a line; page up, page down, home, end"},
    std::string_view{"p          pause, and go on when it is pressed again"},
    std::string_view{"?          this help, and back; ^L redraws"},
    std::string_view{""},
    std::string_view{"HOLDER     host:pid; unknown: it has no record"},
    std::string_view{"HELD       for how long; TTL: what is left of its lease, unless it is renewed"},
    std::string_view{"WAITING    processes in the queue"},
    std::string_view{"ACQ/s      acquisitions a second at the server, estimated from fencing tokens"},
    std::string_view{
        "WIRE       plain, redisson or etcd; a name that is in use on both of Redis has two rows"},
};

struct column {
  std::string_view title;
  std::size_t width;
  std::size_t from;  ///< the minimal width of the terminal that shows the column
  listing::column::side aligned;
};

constexpr auto left = listing::column::side::left;
constexpr auto right = listing::column::side::right;
/// The columns after the name, which takes the remaining width.
constexpr std::array<column, 8> columns{{{"KIND", 10, 116, left},
                                         {"HOLDER", 20, 64, left},
                                         {"LABEL", 16, 92, left},
                                         {"HELD", 8, 0, right},
                                         {"TTL", 8, 54, right},
                                         {"WAITING", 7, 0, right},
                                         {"ACQ/s", 6, 0, right},
                                         {"WIRE", 8, 126, left}}};

std::vector<std::string> cells_of(top_row const& row) {
  auto const& lock = row.lock;
  return {std::string{listing::kind_word(lock)},
          listing::holder_cell(lock),
          lock.holder.label.empty() ? "-" : lock.holder.label,
          listing::cell(lock.held_for),
          listing::ttl_cell(lock),
          std::to_string(lock.waiting),
          rate_cell(row.rate),
          std::string{listing::wire_word(lock)}};
}

/// A row of the screen.
std::string line_of(std::string_view const name, std::span<std::string const> const cells,
                    std::size_t const width) {
  std::string rest;
  std::size_t taken = 0;
  for (std::size_t i = 0; i != columns.size(); ++i) {
    auto const& column = columns[i];
    if (width < column.from) continue;
    auto const text = output::one_line(cells[i]);
    auto const padding =
        column.aligned == right && text.size() < column.width ? column.width - text.size() : 0;
    rest += "  " + fitted(std::string(padding, ' ') + text, column.width);
    taken += column.width + 2;
  }
  return fitted(output::one_line(name), width - taken) + rest;
}

std::string title_of(top_state const& state) {
  auto const waited_for =
      std::ranges::count_if(state.rows, [](top_row const& row) { return row.lock.waiting > 0; });
  // The least important part comes last: a small window cuts it off.
  return fmt::format("holdfast top  {}locks: {}, waited for: {}{}  {}", state.paused ? "PAUSED  " : "",
                     state.rows.size(), waited_for, state.searched ? "" : ", searching",
                     output::one_line(state.server));
}

styled_line bottom_of(top_state const& state) {
  if (!state.trouble.empty()) return {style::trouble, output::one_line(state.trouble)};
  if (state.searched && state.rows.empty()) return {style::plain, "no lock is held or waited for    q quit"};
  return {style::plain, "q quit  p pause  ? help  arrows scroll"};
}

}  // namespace

std::size_t rows_that_fit(size_in_cells const size) noexcept {
  return size.lines > lines_around ? size.lines - lines_around : 0;
}

std::string fitted(std::string_view text, std::size_t const wanted) {
  std::string result;
  std::size_t used = 0;
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t character = 0;
    auto length = std::mbrtowc(&character, text.data(), text.size(), &state);
    std::string_view shown = text.substr(0, length);
    int places = 0;
    if (length == 0 || length > text.size()) {  // no character of this locale
      state = {};
      length = 1;
      places = -1;
    } else {
      places = wcwidth(character);
    }
    if (places < 0) {
      shown = "?";
      places = 1;
    }
    if (used + static_cast<std::size_t>(places) > wanted) break;
    used += static_cast<std::size_t>(places);
    result += shown;
    text.remove_prefix(length);
  }
  result.append(wanted - used, ' ');
  return result;
}

std::string rate_cell(double const rate) {
  if (rate < 0.05) return "0";
  if (rate < 10) return fmt::format("{:.1f}", rate);
  if (rate < 1000) return fmt::format("{:.0f}", rate);
  return fmt::format("{:.1f}k", rate / 1000);
}

std::vector<std::string> table_lines(std::vector<top_row> const& rows) {
  std::vector<listing::column> all{{"NAME", 24}};
  for (auto const& column : columns) all.push_back({column.title, column.width, column.aligned});
  listing::table table{std::move(all)};
  std::vector<std::string> lines{table.header()};
  for (auto const& row : rows) {
    auto cells = cells_of(row);
    cells.insert(cells.begin(), row.lock.name);
    lines.push_back(table.row(cells));
  }
  return lines;
}

std::vector<styled_line> draw(top_state const& state, size_in_cells const size) {
  std::vector<styled_line> lines;
  if (size.columns < smallest.columns || size.lines < smallest.lines) {
    auto const words = fmt::format("too small: {}x{} at least", smallest.columns, smallest.lines);
    if (size.lines > 0) lines.push_back({style::trouble, fitted(words, size.columns)});
    return lines;
  }
  auto const add = [&](style const line_style, std::string_view const text) {
    lines.push_back({line_style, fitted(text, size.columns)});
  };
  add(style::title, title_of(state));
  auto const room = rows_that_fit(size);
  if (state.help) {
    add(style::header, "HELP");
    for (std::size_t i = 0; i != std::min(room, help.size()); ++i) add(style::plain, help[i]);
  } else {
    std::vector<std::string> titles;
    titles.reserve(columns.size());
    for (auto const& column : columns) titles.emplace_back(column.title);
    lines.push_back({style::header, line_of("NAME", titles, size.columns)});
    for (auto i = std::min(state.first, state.rows.size());
         i != state.rows.size() && lines.size() != room + 2; ++i) {
      lines.push_back(
          {style::plain, line_of(state.rows[i].lock.name, cells_of(state.rows[i]), size.columns)});
    }
  }
  while (lines.size() != room + 2) add(style::plain, "");
  auto const bottom = bottom_of(state);
  add(bottom.kind, bottom.text);
  return lines;
}

}  // namespace holdfast::cli
