/// A lock queue of a client that an object uses as long as it lives.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "engine/core.hpp"

namespace holdfast::sync {

/// Let go under the client's lock, and never in a forked child.
class pinned_queue {
 public:
  pinned_queue(std::shared_ptr<engine::core> core, engine::recipe const& kind, std::string_view name)
      : core_{std::move(core)}, queue_{core_->pin(kind, name)} {}
  pinned_queue(pinned_queue&&) noexcept = default;
  pinned_queue& operator=(pinned_queue&&) = delete;
  ~pinned_queue() {
    if (core_) core_->unpin(queue_);
  }

  [[nodiscard]] std::shared_ptr<engine::core> const& core() const noexcept { return core_; }
  [[nodiscard]] engine::lock_queue_ptr const& queue() const noexcept { return queue_; }

 private:
  std::shared_ptr<engine::core> core_;  ///< null: moved from
  engine::lock_queue_ptr queue_;
};

}  // namespace holdfast::sync
