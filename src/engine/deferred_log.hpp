/// The log hook of a client, for code that holds the client's lock.
#pragma once

#include <holdfast/options.hpp>
#include <new>
#include <string>

#include "reactor/reactor.hpp"

namespace holdfast::engine {

/// Calls the hook later, without the lock. All under the lock.
class deferred_log {
 public:
  /// `hook` may be empty, and must outlive this object.
  deferred_log(reactor::loop& loop, log_hook const& hook) noexcept : loop_{loop}, hook_{hook} {}

  /// `make_message` returns the message; it is called if there is a hook. Without memory nothing is logged.
  template <class MakeMessage>
  void operator()(log_level level, MakeMessage make_message) noexcept {
    if (!hook_) return;
    try {
      loop_.deferred().add(
          [hook = hook_, level, message = std::string{make_message()}] { hook(level, message); });
    } catch (std::bad_alloc const&) {
      return;
    }
  }

 private:
  reactor::loop& loop_;
  log_hook const& hook_;
};

}  // namespace holdfast::engine
