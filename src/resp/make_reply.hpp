/// Replies that no server has sent: put together from others, or for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "resp/reply.hpp"

namespace holdfast::resp {

inline reply make_integer(std::int64_t number) {
  return {.type = kind::integer, .integer = number, .text = {}, .elements = {}};
}
inline reply make_text(std::string text) {
  return {.type = kind::text, .integer = 0, .text = std::move(text), .elements = {}};
}
/// `text`: with the code in front.
inline reply make_error(std::string text) {
  return {.type = kind::error, .integer = 0, .text = std::move(text), .elements = {}};
}
inline reply make_array(std::vector<reply> elements) {
  return {.type = kind::array, .integer = 0, .text = {}, .elements = std::move(elements)};
}

}  // namespace holdfast::resp
