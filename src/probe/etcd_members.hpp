/// What the members of a cluster of etcd say of themselves, and what this client may do there.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/error.hpp>

#include "etcd/messages.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::probe {

struct etcd_members {
  etcd::cluster_view cluster{};
  std::shared_ptr<error const> refusal{};  ///< why it may not use the keys; null: it may, or that isn't known
  std::shared_ptr<error const> failure{};  ///< why that isn't known
  /// How long it took to find out, which a majority has to write down.
  std::optional<std::chrono::microseconds> took{};
};

/// `start`: what the keys begin with, behind the prefix of the URL. Nothing is changed. Blocks for some
/// seconds at most.
[[nodiscard]] etcd_members examine_members(client& etcd, std::string const& start);

}  // namespace holdfast::probe
