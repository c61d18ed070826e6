/// What a refusal says about the server that sent it.
#pragma once

#include <string_view>

#include "resp/reply.hpp"

namespace holdfast::topology {

/// The server is a replica: it hasn't carried out the request.
[[nodiscard]] inline bool is_of_replica(resp::reply const& refusal) noexcept {
  auto const code = refusal.error_code();
  // Redis before 7 embeds the error of a script's command in an error of its own.
  return code == "READONLY" || code == "MASTERDOWN" ||
         refusal.text.find("-READONLY ") != std::string_view::npos;
}

}  // namespace holdfast::topology
