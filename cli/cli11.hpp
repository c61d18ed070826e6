/// CLI11's name for a command, for headers that must not cost whoever includes them all of CLI11.
#pragma once

// NOLINTBEGIN(readability-identifier-naming): named by CLI11
namespace CLI {
class App;
}
// NOLINTEND(readability-identifier-naming)
