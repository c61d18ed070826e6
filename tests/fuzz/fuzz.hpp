/// What the fuzzers share. Each is one file with the function that libFuzzer calls with one input after
/// another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "resp/parser.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

namespace holdfast::fuzzing {

/// Ends the program otherwise, and libFuzzer keeps the input.
inline void require(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "it doesn't hold that %s\n", what);
  std::abort();
}

inline std::string_view text_of(std::uint8_t const* data, std::size_t size) {
  return {reinterpret_cast<char const*>(data), size};
}

/// Takes the text up to the next `end` off the front.
inline std::string_view take(std::string_view& rest, char end = '\n') {
  auto const size = std::min(rest.find(end), rest.size());
  auto const result = rest.substr(0, size);
  rest.remove_prefix(std::min(size + 1, rest.size()));
  return result;
}

/// Like those of a connection, but for small inputs.
inline constexpr resp::limits small{.max_bytes = 64U << 10U, .max_depth = 8};

/// The replies that a server would have sent with these bytes.
inline std::vector<resp::reply> replies_in(std::string_view bytes) {
  resp::parser parser{small};
  auto const room = parser.prepare(bytes.size() + 1);
  std::ranges::copy(bytes, room.begin());
  parser.commit(bytes.size());
  std::vector<resp::reply> all;
  for (resp::reply next; parser.next(next) == resp::parser::outcome::reply;) all.push_back(next);
  return all;
}

}  // namespace holdfast::fuzzing
