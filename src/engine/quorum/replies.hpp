/// The joint reply of several masters, in the format of a single server's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/recipe.hpp"

namespace holdfast::engine::quorum_replies {

inline resp::reply number(std::int64_t value) {
  resp::reply reply;
  reply.what = resp::kind::integer;
  reply.integer = value;
  return reply;
}

inline resp::reply text(std::string value) {
  resp::reply reply;
  reply.what = resp::kind::text;
  reply.text = std::move(value);
  return reply;
}

inline resp::reply list(std::vector<resp::reply> elements) {
  resp::reply reply;
  reply.what = resp::kind::array;
  reply.elements = std::move(elements);
  return reply;
}

/// In the format of an acquisition; a number where there are no tokens.
inline resp::reply of(granted const& grant) {
  if (grant.token == 0) return number(grant.count);
  return list({number(grant.token), number(grant.count)});
}

inline resp::reply of(busy const& busy_reply) {
  return list({number(busy_reply.pttl.count()), number(busy_reply.ahead), number(busy_reply.ticket),
               number(busy_reply.counter), text(busy_reply.holder), number(busy_reply.held_for.count())});
}

/// In the format of a release.
inline resp::reply of_release(ownership state) {
  if (state == ownership::mine) return number(1);
  return number(state == ownership::gone ? 0 : -1);
}

/// In the format of a renewal of one lease.
inline resp::reply of_renewal(ownership state) {
  if (state == ownership::mine) return list({});
  return list({number(state == ownership::gone ? 1 : -1)});
}

}  // namespace holdfast::engine::quorum_replies
