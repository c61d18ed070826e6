/// Collects the facts for `holdfast doctor`.
#pragma once

#include "doctor/checks.hpp"
#include "doctor/servers.hpp"
#include "probe/named_servers.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// Collects all facts; takes about two seconds because of the clock. `lock`: the name of a lock, to find out
/// whether this user may touch it; empty: none. Writes one key, with a ttl of seconds, and deletes it. Throws
/// errc::unreachable and the like when the server can't be asked.
[[nodiscard]] server_facts examine(probe::server_session& server, std::string_view lock,
                                   probe::deployment_kind part_of);

/// A server to be examined together with others.
struct server_to_examine {
  server_duty duty = server_duty::serving;
  probe::server_address name{};
  std::unique_ptr<probe::server_session> session{};
};

/// examine() of all servers, some dozens in parallel: as slow as the slowest. Keeps their order.
[[nodiscard]] std::vector<examined> examine_all(std::vector<server_to_examine> servers, std::string_view lock,
                                                probe::deployment_kind part_of);

/// Calls `task(i)` for each i below `count`, several in parallel, in threads. Rethrows an exception of a task
/// after all have ended.
void at_once(std::size_t count, std::function<void(std::size_t)> const& task);

/// Fills in rights, scripts, messages and writing.
void try_all(probe::server_session& server, server_facts& facts);

/// "no right to CONFIG GET (NOPERM …)"
[[nodiscard]] std::string refusal_of(std::string_view command, probe::reply const& reply);

/// The server's INFO, or its refusal.
[[nodiscard]] known<info_text> read_info(probe::server_session& server);

}  // namespace holdfast::cli
