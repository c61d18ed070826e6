/// Finds the server that a session connects to, when it isn't fixed.
#pragma once

#include "net/url.hpp"

namespace holdfast::net {

class session;

/// Knows which of several servers is the master. A session calls locate() before each connection; the
/// handshake checks that the server is a master. All under the client's lock.
class locator {
 public:
  locator() = default;
  locator(locator const&) = delete;
  locator& operator=(locator const&) = delete;
  virtual ~locator() = default;

  /// Calls session::found or session::not_found, at once or later.
  virtual void locate(session& session) = 0;
  /// The handshake is done.
  virtual void on_reached(session& session) = 0;
  /// The session is being destroyed.
  virtual void forget(session& session) noexcept = 0;
};

}  // namespace holdfast::net
