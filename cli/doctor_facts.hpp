/// Finding out what `holdfast doctor` judges.
#pragma once

#include "doctor_checks.hpp"
#include "doctor_servers.hpp"
#include "server_place.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// Asks all there is to ask; takes about two seconds, for the sake of the clock. `lock`: a lock's name, to
/// find out whether this user may touch it; empty: none. What it writes is one key, with a ttl of seconds,
/// which it deletes. Throws errc::unreachable and the like when the server can't be asked at all.
[[nodiscard]] server_facts examine(server_session& server, std::string_view lock, deployment_kind part_of);

/// One of several that are examined together.
struct server_to_examine {
  server_duty duty = server_duty::serving;
  address name{};
  std::unique_ptr<server_session> session{};
};

/// The same of all of them at once: it takes no longer than the slowest, some dozens at a time. Their order
/// stays.
[[nodiscard]] std::vector<examined> examine_all(std::vector<server_to_examine> servers, std::string_view lock,
                                                deployment_kind part_of);

/// Calls `one(i)` for each i below `count`, some at a time, each in a thread. What one throws comes out, when
/// all are done.
void at_once(std::size_t count, std::function<void(std::size_t)> const& one);

/// Fills in rights, scripts, messages and writing.
void try_all(server_session& server, server_facts& facts);

/// "no right to CONFIG GET (NOPERM …)"
[[nodiscard]] std::string refusal_of(std::string_view what, answer const& how);

/// The server's INFO, or why there is none.
[[nodiscard]] known<info_text> read_info(server_session& server);

}  // namespace holdfast::cli
