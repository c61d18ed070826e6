/// Finding out what `holdfast doctor` judges.
#pragma once

#include "doctor_checks.hpp"
#include "server_session.hpp"

#include <string_view>

namespace holdfast::cli {

/// Asks all there is to ask; takes about two seconds, for the sake of the clock. `lock`: a lock's name, to
/// find out whether this user may touch it; empty: none. What it writes is one key, with a ttl of seconds,
/// which it deletes. Throws errc::unreachable and the like when the server can't be asked at all.
[[nodiscard]] server_facts examine(server_session& server, std::string_view lock);

}  // namespace holdfast::cli
