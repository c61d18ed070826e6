/// Names of several clients or hash slots, taken together: those of one slot are a group, taken in one step.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/core.hpp"

namespace holdfast::sync {

/// One client's part, or of a cluster's client a slot's. A line of one name is that of a mutex, so the two
/// share what this process holds.
class group {
 public:
  group(std::shared_ptr<engine::core> core, std::span<std::string const> sorted, lock_options const& options);
  group(group&&) noexcept = default;
  group& operator=(group&&) = delete;
  ~group() {
    if (core_) core_->unpin(place_);
  }

  [[nodiscard]] engine::core& core() const noexcept { return *core_; }
  [[nodiscard]] engine::line_ptr const& place() const noexcept { return place_; }
  [[nodiscard]] engine::terms_ptr const& how() const noexcept { return how_; }

 private:
  std::shared_ptr<engine::core> core_;
  engine::terms_ptr how_;
  engine::line_ptr place_;
};

/// Constant after construction. Acquisitions under way keep it.
using groups = std::shared_ptr<std::vector<group> const>;

/// A lease of each group, in their order; none when one stayed busy. Throws as engine::core::acquire.
[[nodiscard]] std::vector<lease> take_together(groups const& all, engine::patience_time wait,
                                               std::stop_token const& stop);

using taken_handler = callback<void(std::vector<lease>, std::exception_ptr)>;

void async_take_together(groups all, engine::patience_time wait, std::stop_token stop, taken_handler done);

}  // namespace holdfast::sync
