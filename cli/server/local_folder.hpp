/// The folder of the private server: one for each user of a machine, whatever the environment.
#pragma once

#include <filesystem>
#include <string>

namespace holdfast::cli {

/// Depends on the machine and the user only, so that a cron job, a systemd unit and a login find the same
/// server: below /run/lock where every user may write there (Debian), else below /tmp. A user's runtime
/// folder exists only while the user is logged in. $HOLDFAST_LOCAL_DIR names another one, for tests.
[[nodiscard]] std::filesystem::path local_folder();

/// Whether local_folder() was named by the environment.
[[nodiscard]] bool local_folder_is_named();

/// Other users may neither read nor write the folder, since the server behind the socket decides who holds a
/// lock. Throws failure.
void require_private(std::filesystem::path const& folder);

/// Makes the folder if it isn't there. Throws failure if it isn't private.
void make_private(std::filesystem::path const& folder);

/// For a private server that can't be had. Throws failure with exit_code::unavailable.
[[noreturn]] void no_private_server(std::string const& reason);

}  // namespace holdfast::cli
