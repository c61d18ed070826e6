/// Explains a refusal of the server, by its words, to the caller of a lock. No I/O.
#pragma once

#include <chrono>
#include <holdfast/error.hpp>
#include <memory>
#include <string_view>

#include "engine/answers.hpp"
#include "engine/client_constants.hpp"

namespace holdfast::engine {

class lock_queue;

/// The word that the refusal begins with.
[[nodiscard]] std::string_view first_word(std::string_view refusal) noexcept;

/// Whether the refusal passes by itself (LOADING, BUSY…), so that a retry is worth while.
[[nodiscard]] bool is_transient(std::string_view refusal) noexcept;

/// Whether a right is missing.
[[nodiscard]] bool about_rights(std::string_view refusal) noexcept;

/// Whether the server can't be asked, or isn't ready, at the moment: another try may do.
[[nodiscard]] bool is_outage(error const& reason) noexcept;

/// The same error, with how long its caller waited; only about a server that couldn't be reached. Without
/// memory it stays as it is.
[[nodiscard]] std::shared_ptr<error const> after_waiting(std::shared_ptr<error const> const& reason,
                                                         std::chrono::nanoseconds waited) noexcept;

/// What to do about a known error of Redis; empty for the others.
[[nodiscard]] std::string_view advice_for(std::string_view refusal) noexcept;

/// The error for the caller of a lock: names the lock and the server, quotes the server, says what to do with
/// a deployment of that kind.
[[nodiscard]] std::shared_ptr<error const> explain(std::string_view refusal, std::string_view name,
                                                   client_constants const& client);
[[nodiscard]] std::shared_ptr<error const> explain(std::string_view refusal, lock_queue const& queue,
                                                   client_constants const& client);

/// The error for the caller of a lock whose key can never come free: it is a number without a ttl, or one of
/// Holdfast's own keys beside the locks. Null: it may be somebody's lock.
[[nodiscard]] std::shared_ptr<error const> explain_endless(busy const& reply, lock_queue const& queue,
                                                           client_constants const& client);

/// Why a request for a lock has no outcome. Null: it has one.
template <class Outcome>
[[nodiscard]] std::shared_ptr<error const> failure_of(answer<Outcome> const& result, lock_queue const& queue,
                                                      client_constants const& client) {
  if (auto const* const refusal = result.refusal()) return explain(refusal->text, queue, client);
  return result.failure() != nullptr ? result.failure()->reason : nullptr;
}

}  // namespace holdfast::engine
