/// Requests of a pipeline, and replies to them.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "net/pipeline.hpp"

namespace pipelining {

using namespace std::chrono_literals;
using holdfast::time_point;
using holdfast::net::pipeline;
using holdfast::net::request;
using holdfast::resp::kind;
using holdfast::resp::reply;

inline constexpr time_point opened_at{1h};

inline void add(pipeline& requests, std::string bytes, time_point now = opened_at) {
  requests.add({.bytes = std::move(bytes), .done = {}}, now);
}

inline std::string send_all(pipeline& requests, time_point now = opened_at) {
  std::string bytes;
  (void)requests.send_to(bytes, now);
  return bytes;
}

inline reply reply_of(std::string text) {
  return {.type = kind::text, .text = std::move(text), .elements = {}};
}

inline pipeline::entry matched(pipeline& requests, std::string text) {
  pipeline::batch result;
  EXPECT_TRUE(requests.match(reply_of(std::move(text)), result));
  return std::move(result.front());
}

}  // namespace pipelining
