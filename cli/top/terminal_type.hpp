/// The abilities of a terminal type, from terminfo.
#pragma once

namespace holdfast::cli {

/// Whether a screen can be drawn on a terminal of the type (TERM; null: from the environment), that is,
/// whether its cursor can be moved.
[[nodiscard]] bool can_be_drawn_on(char const* type);

}  // namespace holdfast::cli
