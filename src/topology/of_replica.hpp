/// What a refusal says about the server that sent it.
#pragma once

#include <string>

#include "resp/reply.hpp"

namespace holdfast::topology {

// Errors of our scripts quote what others wrote, such as names. They never begin with ERR.

/// The server is a replica: it hasn't carried out the request.
[[nodiscard]] inline bool is_of_replica(resp::reply const& refusal) noexcept {
  auto const code = refusal.error_code();
  if (code == "READONLY" || code == "MASTERDOWN") return true;
  // Redis before 7 embeds the error of a script's command in an error of its own.
  return refusal.text.starts_with("ERR Error running script") &&
         refusal.text.find("-READONLY ") != std::string::npos;
}

/// The server has become a replica while WAIT or WAITAOF was waiting, or before.
[[nodiscard]] inline bool is_wait_at_replica(resp::reply const& refusal) noexcept {
  return refusal.text.starts_with("ERR WAIT cannot be used with replica") ||
         refusal.text.starts_with("ERR WAITAOF cannot be used with replica");
}

}  // namespace holdfast::topology
