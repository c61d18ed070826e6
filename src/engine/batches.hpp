/// Leases that are due together, in as few commands as can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/lease_state.hpp"

namespace holdfast::engine {

/// A command renews leases of one kind of lock and one ttl, whose names are in one hash slot.
class batches {
 public:
  using leases = std::vector<lease_state_ptr>;

  /// `slot`: of its name; 0 where there are none.
  void add(lease_state& one, std::uint16_t slot);

  /// None of them is empty.
  [[nodiscard]] std::vector<leases> take() noexcept {
    std::erase_if(all_, [](leases const& one) { return one.empty(); });  // one that couldn't be filled
    return std::move(all_);
  }

 private:
  struct kind {
    recipe const* how;
    milliseconds ttl;
    std::uint16_t slot;
    friend bool operator==(kind const&, kind const&) = default;
  };
  struct hash {
    std::size_t operator()(kind const& one) const noexcept;
  };
  /// The batch of a kind that isn't full yet.
  struct open_batch {
    std::size_t place;
    std::size_t keys;
  };

  std::vector<leases> all_;
  std::unordered_map<kind, open_batch, hash> open_;
  // The one that was added to last: where there are no slots most leases are of its kind.
  kind last_kind_{};
  open_batch* last_ = nullptr;
};

}  // namespace holdfast::engine
