#include "top/screen.hpp"

#include "common/exit_codes.hpp"
#include "top/terminal_type.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string>

#define NCURSES_NOMACROS  // `move`, `clear`, `timeout` …
#include <curses.h>

namespace holdfast::cli {
namespace {

attr_t attributes_of(styled_line::style const line_style) {
  switch (line_style) {
    case styled_line::style::plain:
      break;
    case styled_line::style::title:
      return A_BOLD;
    case styled_line::style::header:
      return A_REVERSE;
    case styled_line::style::trouble:
      return A_BOLD | A_STANDOUT;
  }
  return A_NORMAL;
}

}  // namespace

top_screen::top_screen() : terminal_{nullptr} {
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
    throw failure{usage,
                  "top draws on a terminal, but stdin or stdout is not one; use `holdfast top --once` or "
                  "`holdfast ls --json`"};
  }
  std::setlocale(LC_CTYPE, "");
  set_escdelay(25);
  char const* const type = std::getenv("TERM");
  if (can_be_drawn_on(type)) terminal_ = newterm(nullptr, stdout, stdin);
  if (terminal_ == nullptr) {
    throw failure{usage, std::string{"can't draw on a terminal of the type \""} +
                             (type == nullptr ? "" : type) + "\"; set TERM, or use `holdfast top --once`"};
  }
  cbreak();
  noecho();
  nonl();
  keypad(stdscr, true);
  nodelay(stdscr, true);
  curs_set(0);
}

top_screen::~top_screen() {
  endwin();
  delscreen(terminal_);
}

size_in_cells top_screen::size() const {
  return {.columns = static_cast<std::size_t>(getmaxx(stdscr)),
          .lines = static_cast<std::size_t>(getmaxy(stdscr))};
}

void top_screen::show(std::span<styled_line const> const lines) {
  werase(stdscr);
  int y = 0;
  for (auto const& [line_style, text] : lines) {
    wattrset(stdscr, static_cast<int>(attributes_of(line_style)));
    mvwaddstr(stdscr, y++, 0, text.c_str());
  }
  wattrset(stdscr, A_NORMAL);
  wrefresh(stdscr);
}

key top_screen::read_key() {
  for (;;) {
    switch (wgetch(stdscr)) {
      case ERR:
        return key::none;
      case 'q':
      case 'Q':
        return key::quit;
      case KEY_UP:
      case 'k':
        return key::up;
      case KEY_DOWN:
      case 'j':
        return key::down;
      case KEY_PPAGE:
        return key::page_up;
      case KEY_NPAGE:
      case ' ':
        return key::page_down;
      case KEY_HOME:
        return key::home;
      case KEY_END:
        return key::end;
      case 'p':
      case 'P':
        return key::pause;
      case '?':
      case 'h':
        return key::help;
      case '\f':
        return key::redraw;
      default:
        break;  // an unknown key
    }
  }
}

void top_screen::redraw() { clearok(curscr, true); }

void top_screen::resize() {
  winsize now{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) == 0 && now.ws_row > 0 && now.ws_col > 0)
    resizeterm(now.ws_row, now.ws_col);
}

void top_screen::suspend() { endwin(); }

void top_screen::resume() {
  // After a stop without notice (SIGSTOP) the terminal has the shell's modes, although suspend() was not
  // called.
  reset_prog_mode();
  resize();  // the size may have changed without a signal
  redraw();
}

}  // namespace holdfast::cli
