/// What `holdfast top` shows, as lines of text that fit. No I/O.
#pragma once

#include "top_model.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

struct top_state {
  std::string server{};
  std::vector<top_row> rows{};
  std::string trouble{};  ///< why there is nothing newer; empty: all is well
  bool searched = false;  ///< all keys were looked at once
  std::size_t first = 0;  ///< the row at the top
  bool paused = false;
  bool help = false;
};

struct size_in_cells {
  std::size_t columns = 0;
  std::size_t lines = 0;
};

struct styled_line {
  enum class style : std::uint8_t { plain, title, header, trouble } how = style::plain;
  std::string text{};
};

/// How many rows there is room for.
[[nodiscard]] std::size_t rows_that_fit(size_in_cells) noexcept;

/// At most as many lines as there are, none wider than there is room. A terminal that is too small is told
/// so.
[[nodiscard]] std::vector<styled_line> draw(top_state const&, size_in_cells);

/// The table alone, for those who have no screen.
[[nodiscard]] std::vector<std::string> table_lines(std::vector<top_row> const&);

/// `text` cut or filled to so many columns of the terminal, by the locale's idea of characters.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t columns);

/// "0.2", "12", "3.4k"
[[nodiscard]] std::string rate_cell(double rate);

}  // namespace holdfast::cli
