/// Parsing of the replies of the scripts: the same for all kinds of lock.
#pragma once

#include <utility>
#include <vector>

#include "engine/recipe.hpp"

namespace holdfast::recipes::replies {

/// {first token, count}; count, without tokens; or {pttl, ahead, ticket, token counter, holder, held for}.
[[nodiscard]] engine::verdict read_acquire(resp::reply const& reply);

/// 1: the lock was ours and is free now; 0: the lock was gone; -1: another owner has the lock.
[[nodiscard]] engine::ownership read_release(resp::reply const& reply);

/// The positions (from 1) of the locks that are still to be released.
[[nodiscard]] std::vector<std::size_t> read_wanted(resp::reply const& reply);

/// {0} or {-1}: as for a release; {1, and the grant as for acquire}; {2, and the busy reply as for acquire}.
[[nodiscard]] engine::passed read_pass(resp::reply const& reply);

/// The positions (from 1) of the lost locks: n when the lock is gone, -n when another owner has the lock.
[[nodiscard]] std::vector<std::pair<std::size_t, engine::ownership>> read_renew(resp::reply const& reply);

/// The pairs {position (from 1), remaining milliseconds} in the reply: see engine::recipe::read_cut.
[[nodiscard]] std::vector<std::pair<std::size_t, engine::milliseconds>> read_cut(resp::reply const& reply);

}  // namespace holdfast::recipes::replies
