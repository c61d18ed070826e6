/// Runs scripts by their SHA-1, and recovers when the server has forgotten them.
#pragma once

#include "base/callback.hpp"
#include "net/pipeline.hpp"
#include "script/call.hpp"

namespace holdfast::scripting {

struct send_options {
  net::retry_policy while_down = net::retry_policy::little;
  time_point give_up = time_point::max();
  bool divisible = false;  ///< see net::request
  net::connection_role role = net::connection_role::usual;
};

/// An EVALSHA request. When the server answers NOSCRIPT (restarted, failed over, flushed) the same call is
/// sent once more as EVAL, which loads the script again. Such calls keep their order, unless
/// another client teaches the server the script in between. One round trip, two after NOSCRIPT.
[[nodiscard]] net::request to_run(call script, callback<void(net::response&&)> done, send_options send = {});

/// The request of a transaction, which gets one response: what EXEC replies, or the first error. It isn't
/// sent again when the connection breaks, or another server has the key: the caller has a script for that.
[[nodiscard]] net::request to_run(transaction commands, callback<void(net::response&&)> done,
                                  send_options send = {});

}  // namespace holdfast::scripting
