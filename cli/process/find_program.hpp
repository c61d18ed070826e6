/// Where PATH finds a program.
#pragma once

#include <string>

namespace holdfast::cli {

/// What a folder without a name in PATH means: the current one, as to execvp, or none.
enum class unnamed_folder { current, none };

/// The absolute path of the file; empty: it isn't there. A name with a slash is taken as it is.
[[nodiscard]] std::string find_program(std::string const& name, unnamed_folder unnamed);

}  // namespace holdfast::cli
