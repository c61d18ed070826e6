/// Replies as text, for traces and for comparisons.
#pragma once

#include <string>

#include "resp/reply.hpp"

namespace holdfast::simulation {

inline std::string describe(resp::reply const& reply) {
  switch (reply.type) {
    case resp::kind::nil:
      return "nil";
    case resp::kind::integer:
      return std::to_string(reply.integer);
    case resp::kind::text:
      return '"' + reply.text + '"';
    case resp::kind::error:
      return "error " + reply.text;
    case resp::kind::array:
      break;
  }
  std::string result = "[";
  for (auto const& element : reply.elements) result += describe(element) + ' ';
  return result + ']';
}

}  // namespace holdfast::simulation
