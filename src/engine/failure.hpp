/// Explains an error of the server to the caller of a lock. No I/O.
#pragma once

#include <holdfast/error.hpp>
#include <memory>
#include <string_view>

#include "resp/reply.hpp"

namespace holdfast::engine {

class lock_queue;

/// Whether it passes by itself (LOADING, BUSY…), so that a retry is worth while.
[[nodiscard]] bool passes(resp::reply const& refusal) noexcept;

/// Whether a right is missing.
[[nodiscard]] bool about_rights(resp::reply const& refusal) noexcept;

/// What to do about a known error of Redis; empty for the others.
[[nodiscard]] std::string_view advice_for(resp::reply const& refusal) noexcept;

/// The error for the caller of a lock: names the lock and the server, quotes the server, says what to do.
[[nodiscard]] std::shared_ptr<error const> explain(resp::reply const& refusal, std::string_view name,
                                                   std::string_view server);
[[nodiscard]] std::shared_ptr<error const> explain(resp::reply const& refusal, lock_queue const& queue,
                                                   std::string_view server);

}  // namespace holdfast::engine
