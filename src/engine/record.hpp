/// Client records: a client's description of itself in Redis, for the clients that it blocks. No I/O.
#pragma once

#include <chrono>
#include <holdfast/busy_info.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "resp/reply.hpp"

namespace holdfast::engine {

/// The client's uuid in an owner id of Holdfast ("<uuid>:<n>"); empty for anything else that stands in a key.
[[nodiscard]] std::string_view uuid_of(std::string_view owner) noexcept;

/// What a client says of itself. Missing or unreadable fields are empty.
struct client_record {
  process_info process{};               ///< without owner and trace
  std::optional<std::string> traces{};  ///< of its leases, see held_traces::say; nullopt: it never says any

  /// So long after it was read it may say more: another trace, or the first one.
  [[nodiscard]] std::chrono::milliseconds lasts() const noexcept;
  [[nodiscard]] bool is_missing() const noexcept { return process.host.empty() && process.pid == 0; }

  /// As the holder, or waiter, of that id.
  [[nodiscard]] process_info of(std::string owner) const;
};

/// Reads the reply to HGETALL of a client's record.
[[nodiscard]] client_record read_record(resp::reply const& record);
/// Of the client of `owner`.
[[nodiscard]] process_info read_record(std::string_view owner, resp::reply const& record);

}  // namespace holdfast::engine
