/// The parts that all URL parsers have in common.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::net::url_text {

/// Throws error{errc::bad_url}; `reason` may contain what was given, whose bytes can be any.
[[noreturn]] void bad(std::string const& reason);

/// Throws for an '@' in the wrong place. An unencoded '@' belongs between password and host, once. Anywhere
/// else it is most likely part of a password, or follows a password that holds a '/', '?' or '#': such text
/// can neither be parsed nor shown. And for a '#': it begins a fragment, which has no meaning, and Boost.URL
/// 1.81 reads past the end of "?#" (it counts the fragment's characters as a parameter). `rest` is the URL
/// after the scheme.
void check_marks(std::string_view rest);

/// Whether this may follow a host, and its port. Boost.URL 1.81 takes "redis://[::1]3" for a host and a path.
[[nodiscard]] inline bool is_path(std::string_view encoded) noexcept {
  return encoded.empty() || encoded.front() == '/';
}

/// The parameter `name`, which must be yes or no.
[[nodiscard]] bool to_bool(std::string const& name, std::string_view value);

}  // namespace holdfast::net::url_text
