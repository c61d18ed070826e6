/// What several masters say together, in the words in which one says it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/recipe.hpp"

namespace holdfast::engine::quorum_replies {

inline resp::reply number(std::int64_t value) {
  resp::reply one;
  one.what = resp::kind::integer;
  one.integer = value;
  return one;
}

inline resp::reply text(std::string words) {
  resp::reply one;
  one.what = resp::kind::text;
  one.text = std::move(words);
  return one;
}

inline resp::reply list(std::vector<resp::reply> elements) {
  resp::reply one;
  one.what = resp::kind::array;
  one.elements = std::move(elements);
  return one;
}

/// As an acquisition says it; a number where there are no tokens.
inline resp::reply of(granted const& what) {
  if (what.token == 0) return number(what.count);
  return list({number(what.token), number(what.count)});
}

inline resp::reply of(busy const& what) {
  return list({number(what.pttl.count()), number(what.ahead), number(what.ticket), number(what.counter),
               text(what.holder), number(what.held_for.count())});
}

/// As a release says it.
inline resp::reply of_release(ownership how) {
  if (how == ownership::mine) return number(1);
  return number(how == ownership::gone ? 0 : -1);
}

/// As a renewal of one says it.
inline resp::reply of_renewal(ownership how) {
  if (how == ownership::mine) return list({});
  return list({number(how == ownership::gone ? 1 : -1)});
}

}  // namespace holdfast::engine::quorum_replies
