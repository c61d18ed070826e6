/// The terminal as a screen of lines. The destructor restores the terminal.
#pragma once

#include "top/view.hpp"

#include <cstdint>
#include <span>

struct screen;  // of ncurses, whose header defines many macros

namespace holdfast::cli {

enum class key : std::uint8_t { none, quit, up, down, page_up, page_down, home, end, pause, help, redraw };

/// Uses the terminal on stdin and stdout; only one object may exist. The caller handles signals and must
/// block them, so that ncurses leaves them alone.
class top_screen {
 public:
  /// Throws failure when there is no terminal, or it can't be drawn on.
  top_screen();
  ~top_screen();
  top_screen(top_screen const&) = delete;
  top_screen& operator=(top_screen const&) = delete;

  [[nodiscard]] size_in_cells size() const;
  void show(std::span<styled_line const> lines);

  /// The next key that was pressed; none: no input is left.
  [[nodiscard]] key read_key();

  /// Redraws everything with the next show(), after another program wrote to the terminal.
  void redraw();
  /// Adopts the new size of the window.
  void resize();
  /// Gives the terminal back until resume().
  void suspend();
  void resume();

 private:
  ::screen* terminal_;
};

}  // namespace holdfast::cli
