#include "topology/known_master.hpp"

#include <algorithm>

namespace holdfast::topology {

bool known_master::hear(sentinel_view const& view) {
  if (!master_ || !view.master) return false;
  if (*view.master == *master_) {
    epoch_ = std::max(epoch_, view.epoch);
    return false;
  }
  if (view.epoch <= epoch_) return false;
  know(*view.master, view.epoch);
  return true;
}

bool known_master::weigh(sentinel_verdict const& verdict, time_point now) {
  if (master_ && verdict.epoch < epoch_) {
    if (verdict.master == *master_) {
      doubted_since_ = {};
      return true;
    }
    // A minority may be cut off from the other sentinels, together with a replaced master.
    if (!verdict.settled) return false;
    if (doubted_since_ == time_point{}) doubted_since_ = now;
    if (now < doubted_until()) return false;
  }
  know(verdict.master, verdict.epoch);
  return true;
}

void known_master::know(net::server_address const& master, std::int64_t epoch) {
  master_ = master;
  epoch_ = epoch;
  doubted_since_ = {};
}

}  // namespace holdfast::topology
