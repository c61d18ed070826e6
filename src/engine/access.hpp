/// Gives the synchronizers, and no other code, the engine of a public client.
#pragma once

#include <holdfast/client.hpp>
#include <memory>

namespace holdfast::engine {

struct access {
  static std::shared_ptr<core> const& core_of(client const& redis) noexcept { return redis.core_; }
};

}  // namespace holdfast::engine
