/// Replies, made by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "resp/reply.hpp"

namespace holdfast::simulation {

inline resp::reply nil() { return {}; }
inline resp::reply integer(std::int64_t number) {
  return {.what = resp::kind::integer, .integer = number, .text = {}, .elements = {}};
}
inline resp::reply text(std::string words) {
  return {.what = resp::kind::text, .integer = 0, .text = std::move(words), .elements = {}};
}
inline resp::reply failure(std::string words) {
  return {.what = resp::kind::error, .integer = 0, .text = std::move(words), .elements = {}};
}
inline resp::reply array(std::vector<resp::reply> elements) {
  return {.what = resp::kind::array, .integer = 0, .text = {}, .elements = std::move(elements)};
}

}  // namespace holdfast::simulation
