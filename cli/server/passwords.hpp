/// The password for a Redis whose URL has none, and what of it a command gets to see.
#pragma once

#include "common/options.hpp"

#include <string>

namespace holdfast::cli {

/// `url` with its password: its own, else that of --password-file, $HOLDFAST_PASSWORD,
/// $CREDENTIALS_DIRECTORY/holdfast-password, or `configured` (a file; empty: none). Throws failure with
/// exit_code::usage when a file can't be used, or when the URL and --password-file both have one.
[[nodiscard]] std::string with_its_password(std::string const& url, common_options const& options,
                                            std::string const& configured);

/// Takes the passwords out of this process's environment, for what it starts later: HOLDFAST_PASSWORD, and
/// those in HOLDFAST_URL and, when that one names the Redis, REDIS_URL, which stay without. Changes the
/// environment, so it is for a process without other threads.
void hide_passwords(common_options const& options);

}  // namespace holdfast::cli
