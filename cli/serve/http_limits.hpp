/// What the connections of `holdfast serve` may take, and what they have taken.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace holdfast::cli {

/// What a client may take of this process.
struct http_limits {
  std::size_t connections = 2'000;  ///< a further one closes the one that has been without a request longest
  std::size_t streams = 256;        ///< connections that get events; a further one is refused
  std::size_t header_bytes = 16'384;
  std::size_t body_bytes = 8'192;
  std::size_t unread_bytes = 1'048'576;   ///< events that a client hasn't read, before it is cut off
  std::size_t linger_bytes = 1'048'576;   ///< what is read of a request that was refused before its end
  std::size_t answer_bytes = 33'554'432;  ///< of all long answers that clients haven't taken; then 503
  std::size_t held_back = 100;            ///< answers that wait for their time (http_response::after)
  std::chrono::seconds request{10};       ///< from the connection to the end of its first request
  std::chrono::seconds idle{60};          ///< from an answer to the end of the next request
  std::chrono::seconds response{20};      ///< for taking an answer, or an event
  std::chrono::seconds linger{2};         ///< for the rest of a request that was refused before its end
  std::chrono::seconds heartbeat{15};     ///< between lines that keep a stream of events alive
};

struct http_facts {
  std::size_t connections = 0;
  std::size_t streams = 0;
  std::uint64_t requests = 0;
  std::uint64_t cut_off = 0;            ///< connections that were closed for a limit or a time-out
  std::uint64_t failed_handshakes = 0;  ///< of TLS, also those without a certificate that was asked for
};

}  // namespace holdfast::cli
