/// What an error of the server means for a lock, in words. No I/O.
#pragma once

#include <holdfast/error.hpp>
#include <memory>
#include <string_view>

#include "resp/reply.hpp"

namespace holdfast::engine {

class lock_queue;

/// Will it pass by itself (LOADING, BUSY…), so that asking again is worth while?
[[nodiscard]] bool passes(resp::reply const& refusal) noexcept;

/// Is it that a right is missing?
[[nodiscard]] bool about_rights(resp::reply const& refusal) noexcept;

/// What to do about it, for those errors of Redis that we know; empty for the others.
[[nodiscard]] std::string_view advice_for(resp::reply const& refusal) noexcept;

/// The error for the caller of a lock: names the lock and the server, has the server's words, and what to do.
[[nodiscard]] std::shared_ptr<error const> explain(resp::reply const& refusal, std::string_view name,
                                                   std::string_view server);
[[nodiscard]] std::shared_ptr<error const> explain(resp::reply const& refusal, lock_queue const& at,
                                                   std::string_view server);

}  // namespace holdfast::engine
