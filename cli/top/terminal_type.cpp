#include "top/terminal_type.hpp"

#include <curses.h>
#include <unistd.h>

#include <term.h>  // a file of its own: it is full of macros with short names

namespace holdfast::cli {

bool can_be_drawn_on(char const* const type) {
  int problem = 0;
  if (setupterm(type, STDOUT_FILENO, &problem) != OK) return false;
  bool const moves = cursor_address != nullptr;
  del_curterm(cur_term);
  return moves;
}

}  // namespace holdfast::cli
