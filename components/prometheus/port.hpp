/// Why an address can't be listened on.
#pragma once

#include <string>
#include <system_error>

namespace holdfast::detail {

/// Tries it: civetweb, below prometheus-cpp, doesn't tell. No error: it can be.
[[nodiscard]] std::error_code why_not_bindable(std::string const& address);

}  // namespace holdfast::detail
