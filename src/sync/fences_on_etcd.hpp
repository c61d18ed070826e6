/// Checked writes on etcd, which has no commands of Redis and no scripts.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/core.hpp"
#include "etcd/fence_viewer.hpp"

namespace holdfast::sync::on_etcd {

using fence_writer = std::shared_ptr<etcd::fence_writer>;

/// Throws std::errc::invalid_argument for a resource that can't be one there.
[[nodiscard]] fence_writer make_fence_writer(engine::core const& core, std::string const& resource,
                                             std::chrono::milliseconds remember);

/// What such a command of Redis is there. Throws std::errc::not_supported if it is nothing, and
/// std::errc::invalid_argument for a key that would be in the way of locks.
[[nodiscard]] etcd::fence_deed deed_of(engine::core const& core, etcd::fence_writer const& by,
                                       std::string_view command, std::string_view key,
                                       std::span<std::string_view const> arguments);

/// Throw as the operations of a fence do.
[[nodiscard]] etcd::fence_answer carry_out(engine::core& core, fence_writer const& by,
                                           etcd::fence_deed wanted);
/// `done` is called when the answer is there.
void async_carry_out(engine::core& core, fence_writer const& by, etcd::fence_deed wanted,
                     std::shared_ptr<etcd::fence_answer> const& answer,
                     engine::async_server_calls::handler done);

}  // namespace holdfast::sync::on_etcd
