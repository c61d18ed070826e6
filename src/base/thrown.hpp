/// Errors for handlers.
#pragma once

#include <exception>
#include <holdfast/error.hpp>

namespace holdfast {

/// `failure` as an exception_ptr; std::bad_alloc when there is no memory for it.
[[nodiscard]] inline std::exception_ptr thrown(error const& failure) noexcept {
  try {
    throw error{failure};
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace holdfast
