/// HTTP/1.1 for `holdfast serve`. Boost.Beast is included by http_server.cpp only, since it dominates the
/// compile time of a file.
#pragma once

#include "serve/http_limits.hpp"
#include "serve/http_message.hpp"
#include "serve/tls_context.hpp"

#include <cstdint>
#include <memory>

namespace holdfast::cli {

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
