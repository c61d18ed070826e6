/// How the replies of the scripts read: the same for all kinds of lock.
#pragma once

#include <utility>
#include <vector>

#include "engine/recipe.hpp"

namespace holdfast::sync::replies {

/// {first token, how many}; how many, without tokens; or {pttl, ahead, ticket, token counter, holder, held
/// for}.
[[nodiscard]] engine::verdict read_acquire(resp::reply const& reply);

/// 1 it was ours and is free now; 0 it was gone; -1 it is somebody else's.
[[nodiscard]] engine::ownership read_release(resp::reply const& reply);

/// The places (from 1) of those that are still to be released.
[[nodiscard]] std::vector<std::size_t> read_wanted(resp::reply const& reply);

/// {0} or {-1} as a release; {1, and what acquire grants}; {2, and what acquire says when it is busy}.
[[nodiscard]] engine::passed read_pass(resp::reply const& reply);

/// The places (from 1) of those that are lost: n when it is gone, -n when it is somebody else's.
[[nodiscard]] std::vector<std::pair<std::size_t, engine::ownership>> read_renew(resp::reply const& reply);

/// The lists {place (from 1), milliseconds that were left} among them: see engine::recipe::read_cut.
[[nodiscard]] std::vector<std::pair<std::size_t, engine::milliseconds>> read_cut(resp::reply const& reply);

}  // namespace holdfast::sync::replies
