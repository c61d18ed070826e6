/// Where a session connects to, when that isn't fixed.
#pragma once

#include "net/url.hpp"

namespace holdfast::net {

class session;

/// Knows which of several servers is the master. A session asks before each connection; that the one which it
/// finds there is a master, too, the handshake makes sure of. All under the client's lock.
class locator {
 public:
  locator() = default;
  locator(locator const&) = delete;
  locator& operator=(locator const&) = delete;
  virtual ~locator() = default;

  /// Answers with session::found or session::not_found, at once or later.
  virtual void locate(session& who) = 0;
  /// The handshake is done.
  virtual void on_reached(session& who) = 0;
  /// It is no more.
  virtual void forget(session& who) noexcept = 0;
};

}  // namespace holdfast::net
