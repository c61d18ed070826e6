/// HTTP/1.1 for `holdfast serve`. Boost.Beast is included by http_server.cpp only, since it dominates the
/// compile time of a file.
#pragma once

#include "serve/http_message.hpp"
#include "serve/tls_context.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace holdfast::cli {

/// What a client may take of this process.
struct http_limits {
  std::size_t connections = 2'000;  ///< a further one closes the one that has been without a request longest
  std::size_t streams = 256;        ///< connections that get events; a further one is refused
  std::size_t header_bytes = 16'384;
  std::size_t body_bytes = 8'192;
  std::size_t unread_bytes = 1'048'576;  ///< events that a client hasn't read, before it is cut off
  std::size_t linger_bytes = 1'048'576;  ///< what is read of a request that was refused before its end
  std::size_t held_back = 100;           ///< answers that wait for their time (http_response::after)
  std::chrono::seconds request{10};      ///< from the connection to the end of its first request
  std::chrono::seconds idle{60};         ///< from an answer to the end of the next request
  std::chrono::seconds response{20};     ///< for taking an answer, or an event
  std::chrono::seconds linger{2};        ///< for the rest of a request that was refused before its end
  std::chrono::seconds heartbeat{15};    ///< between lines that keep a stream of events alive
};

struct http_facts {
  std::size_t connections = 0;
  std::size_t streams = 0;
  std::uint64_t requests = 0;
  std::uint64_t cut_off = 0;            ///< connections that were closed for a limit or a time-out
  std::uint64_t failed_handshakes = 0;  ///< of TLS, also those without a certificate that was asked for
};

/// Serves in the thread that calls run(). A connection is an object of some kilobytes, not a thread.
class http_server {
 public:
  /// `listening`: a socket that listens; it belongs to this object. `tls`: nullptr for HTTP without it.
  http_server(int listening, http_limits const& limits, tls_context tls, http_handler handler);
  ~http_server();
  http_server(http_server const&) = delete;
  http_server& operator=(http_server const&) = delete;

  /// Returns after SIGTERM, SIGINT or SIGHUP, without connections.
  void run();
  /// Sends an event to all streams that haven't got one with this number, or a later one. Thread-safe.
  void publish(std::uint64_t number, shared_text text);
  /// Ends the streams of clients that may not have them any more (http_response::allowed), which each
  /// heartbeat does, too. From the thread of run().
  void end_streams();
  /// From the thread of run().
  [[nodiscard]] http_facts facts() const;

  struct impl;  ///< for http_server.cpp

 private:
  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::cli
