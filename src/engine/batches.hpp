/// Groups leases that are due together into as few commands as possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/lease_state.hpp"

namespace holdfast::engine {

/// A batch is one command: leases of one kind of lock and one ttl, whose names are in one hash slot.
class batches {
 public:
  using leases = std::vector<lease_state_ptr>;

  /// `slot` is the hash slot of its name, or 0 where there are no slots.
  void add(lease_state& lease, std::uint16_t slot);

  /// Returns no empty batch.
  [[nodiscard]] std::vector<leases> take() noexcept {
    std::erase_if(all_, [](leases const& batch) { return batch.empty(); });  // it couldn't be filled
    return std::move(all_);
  }

 private:
  struct kind {
    recipe const* lock_recipe;
    milliseconds ttl;
    std::uint16_t slot;
    friend bool operator==(kind const&, kind const&) = default;
  };
  struct hash {
    std::size_t operator()(kind const& key) const noexcept;
  };
  /// The batch of a kind that still has room.
  struct open_batch {
    std::size_t index;
    std::size_t keys;
  };

  std::vector<leases> all_;
  std::unordered_map<kind, open_batch, hash> open_;
  // The batch that got the last lease. Where there are no slots most leases are of its kind.
  kind last_kind_{};
  open_batch* last_ = nullptr;
};

}  // namespace holdfast::engine
