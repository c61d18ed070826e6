#include "topology/known_master.hpp"

#include <algorithm>

namespace holdfast::topology {

bool known_master::hear(sentinel_view const& word) {
  if (!where_ || !word.master) return false;
  if (*word.master == *where_) {
    epoch_ = std::max(epoch_, word.epoch);
    return false;
  }
  if (word.epoch <= epoch_) return false;
  know(*word.master, word.epoch);
  return true;
}

bool known_master::weigh(sentinel_verdict const& all, time_point now) {
  if (where_ && all.epoch < epoch_) {
    if (all.master == *where_) {
      doubted_since_ = {};
      return true;
    }
    // The few may be cut off from the others, together with a master that was replaced.
    if (!all.settled) return false;
    if (doubted_since_ == time_point{}) doubted_since_ = now;
    if (now < doubted_until()) return false;
  }
  know(all.master, all.epoch);
  return true;
}

void known_master::know(address const& master, std::int64_t epoch) {
  where_ = master;
  epoch_ = epoch;
  doubted_since_ = {};
}

}  // namespace holdfast::topology
