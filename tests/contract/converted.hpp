/// A server's reply as the library has it.
#pragma once

#include "resp/reply.hpp"
#include "support/redis_server.hpp"

namespace holdfast::contract {

[[nodiscard]] inline resp::reply converted(test::raw_reply const& raw) {
  resp::reply reply{.integer = raw.integer, .text = raw.text, .elements = {}};
  switch (raw.type) {
    case test::raw_reply::kind::nil:
      reply.type = resp::kind::nil;
      break;
    case test::raw_reply::kind::integer:
      reply.type = resp::kind::integer;
      break;
    case test::raw_reply::kind::text:
      reply.type = resp::kind::text;
      break;
    case test::raw_reply::kind::error:
      reply.type = resp::kind::error;
      break;
    case test::raw_reply::kind::array:
      reply.type = resp::kind::array;
      break;
  }
  for (auto const& each : raw.elements) reply.elements.push_back(converted(each));
  return reply;
}

}  // namespace holdfast::contract
