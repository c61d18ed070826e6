/// The way from a public client to its engine, for the synchronizers and nobody else.
#pragma once

#include <holdfast/client.hpp>
#include <memory>

namespace holdfast::engine {

struct access {
  static std::shared_ptr<core> const& core_of(client const& redis) noexcept { return redis.core_; }
};

}  // namespace holdfast::engine
