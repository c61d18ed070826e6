/// Parsing of the scripts' replies: the same for all kinds of lock, on both wires. No I/O, no clock.
#pragma once

#include "engine/answers.hpp"
#include "net/pipeline.hpp"

namespace holdfast::engine::replies {

/// {first token, count}; count, without tokens; or {pttl, ahead, ticket, token counter, holder, held for}.
[[nodiscard]] answer<verdict> read_acquire(net::response&& response) noexcept;

/// {OK, token counter}, where the order is strict {OK, token counter, 0}: granted with that token, a number
/// or its text. {nil, …}: somebody has the lock, perhaps we. {OK, token counter, 1}: it is ours, but there is
/// a queue. Otherwise there is something wrong with the counter.
[[nodiscard]] answer<verdict> read_fast_acquire(net::response&& response) noexcept;

/// The same as read_release; and 2: the lock is still ours, somebody waits for it.
[[nodiscard]] answer<ownership> read_fast_release(net::response&& response) noexcept;

/// 1: the lock was ours and is free now; 0: the lock was gone; -1: another owner has the lock. A release that
/// was sent again and finds nothing was carried out the first time, so the lock was ours.
[[nodiscard]] answer<ownership> read_release(net::response&& response) noexcept;

/// The same for a request that turns a lease into another one, and finds the new one when it is sent again.
[[nodiscard]] answer<ownership> read_conversion(net::response&& response) noexcept;

/// How many of the keys are there that say that a lease is wanted back.
[[nodiscard]] answer<bool> read_petition(net::response&& response) noexcept;

/// The positions (from 1) of the locks that are still to be released. Throws std::bad_alloc.
[[nodiscard]] answer<still_wanted> read_release_unwanted(net::response&& response);

/// {0} or {-1}: as for a release; {1, and the grant as for acquire}; {2, and the busy reply as for acquire}.
[[nodiscard]] answer<passed> read_pass(net::response&& response) noexcept;

/// Any reply but an error; 1: the lock was ours.
[[nodiscard]] answer<abandoned> read_abandon(net::response&& response) noexcept;

/// The positions (from 1) of the lost locks: n when the lock is gone, -n when another owner has the lock; and
/// pairs {position, remaining milliseconds}: see renewals::cut; and pairs {position, text}: see
/// renewals::unsaid. Throws std::bad_alloc.
[[nodiscard]] answer<renewals> read_renew(net::response&& response);

/// The same for a single lock.
[[nodiscard]] answer<ownership> read_set_ttl(net::response&& response) noexcept;

}  // namespace holdfast::engine::replies
