/// The screen of `holdfast top` as lines of text that fit. No I/O.
#pragma once

#include "top/model.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

struct top_state {
  std::string server{};
  std::vector<top_row> rows{};
  std::string trouble{};  ///< why there are no newer rows; empty: no problem
  bool searched = false;  ///< all keys were searched once
  std::size_t first = 0;  ///< the row at the top
  bool paused = false;
  bool help = false;
};

struct size_in_cells {
  std::size_t columns = 0;
  std::size_t lines = 0;
};

struct styled_line {
  enum class style : std::uint8_t { plain, title, header, trouble } kind = style::plain;
  std::string text{};
};

/// The number of rows that fit on the screen.
[[nodiscard]] std::size_t rows_that_fit(size_in_cells) noexcept;

/// The lines of the screen, none wider than it. A screen that is too small shows a message instead.
[[nodiscard]] std::vector<styled_line> draw(top_state const&, size_in_cells);

/// The table without a screen.
[[nodiscard]] std::vector<std::string> table_lines(std::vector<top_row> const&);

/// `text` cut or padded to a number of terminal columns, with the character widths of the locale.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t columns);

/// "0.2", "12", "3.4k"
[[nodiscard]] std::string rate_cell(double rate);

}  // namespace holdfast::cli
