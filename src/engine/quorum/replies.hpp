/// The joint reply of several masters, in the format of a single server's.
#pragma once

#include "engine/recipe.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::engine::quorum_replies {

using resp::make_array;
using resp::make_integer;

/// In the format of an acquisition; a number where there are no tokens.
inline resp::reply of(granted const& grant) {
  if (grant.token == 0) return make_integer(grant.count);
  return make_array({make_integer(grant.token), make_integer(grant.count)});
}

inline resp::reply of(busy const& busy_reply) {
  return make_array({make_integer(busy_reply.pttl.count()), make_integer(busy_reply.ahead),
                     make_integer(busy_reply.ticket), make_integer(busy_reply.counter),
                     resp::make_text(busy_reply.holder), make_integer(busy_reply.held_for.count())});
}

/// In the format of a release.
inline resp::reply of_release(ownership state) {
  if (state == ownership::mine) return make_integer(1);
  return make_integer(state == ownership::gone ? 0 : -1);
}

/// In the format of a renewal of one lease.
inline resp::reply of_renewal(ownership state) {
  if (state == ownership::mine) return make_array({});
  return make_array({make_integer(state == ownership::gone ? 1 : -1)});
}

}  // namespace holdfast::engine::quorum_replies
