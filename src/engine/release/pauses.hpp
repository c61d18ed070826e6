/// Pauses before a request about a past acquisition is sent again.
#pragma once

#include <chrono>

namespace holdfast::engine {

constexpr std::chrono::milliseconds passing_pause{25};   ///< after an error that passes by itself
constexpr std::chrono::milliseconds refused_pause{500};  ///< after any other

}  // namespace holdfast::engine
