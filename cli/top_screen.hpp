/// The terminal as a screen of lines, and as it was before when the object is gone.
#pragma once

#include "top_view.hpp"

#include <cstdint>
#include <span>

struct screen;  // of ncurses, whose header is full of macros

namespace holdfast::cli {

enum class key : std::uint8_t { none, quit, up, down, page_up, page_down, home, end, pause, help, redraw };

/// Takes the terminal on stdin and stdout; there is one at a time. Signals are the business of who uses it:
/// they have to be blocked, so that the library underneath leaves them alone.
class top_screen {
 public:
  /// Throws failure when there is no terminal, or none that can be drawn on.
  top_screen();
  ~top_screen();
  top_screen(top_screen const&) = delete;
  top_screen& operator=(top_screen const&) = delete;

  [[nodiscard]] size_in_cells size() const;
  void show(std::span<styled_line const> lines);

  /// A key that was pressed; none: there is nothing more to read.
  [[nodiscard]] key read_key();

  /// All of it with the next show(), for a terminal that something else has written to.
  void redraw();
  /// The window has another size now.
  void resize();
  /// Gives the terminal back for a while, and takes it again.
  void suspend();
  void resume();

 private:
  ::screen* terminal_;
};

}  // namespace holdfast::cli
