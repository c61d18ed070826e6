/// The passwords in a URL, which are put in, found and taken out before anything else reads it.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::probe {

/// Whether the URL has a password for the servers.
[[nodiscard]] bool has_password(std::string_view url);

/// Whether the URL shows a password: the servers' or the sentinels'.
[[nodiscard]] bool shows_password(std::string_view url);

/// Whether the URL has a user without a password, which is to come from somewhere else.
[[nodiscard]] bool lacks_password(std::string_view url);

/// The URL with this password, percent-encoded. Requires that it has none.
[[nodiscard]] std::string with_password(std::string_view url, std::string_view password);

/// The URL without a password, for a reader that is to know the server only. Empty for a text that is no URL:
/// a password might stand anywhere in it.
[[nodiscard]] std::string without_passwords(std::string_view url);

}  // namespace holdfast::probe
