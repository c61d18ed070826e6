/// What a terminal of a type can do, as terminfo knows it.
#pragma once

namespace holdfast::cli {

/// Can a screen be drawn on a terminal of that type (TERM; null: what the environment says)? Not where the
/// cursor can't be moved.
[[nodiscard]] bool can_be_drawn_on(char const* type);

}  // namespace holdfast::cli
