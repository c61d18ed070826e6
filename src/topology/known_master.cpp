#include "topology/known_master.hpp"

#include <algorithm>

namespace holdfast::topology {

bool known_master::hear(sentinel_view const& view) {
  if (!master_ || !view.master) return false;
  if (*view.master == *master_) {
    age_ = std::max(age_, view.age());
    return false;
  }
  if (view.age() <= age_) return false;
  know(*view.master, view.age());
  return true;
}

bool known_master::weigh(sentinel_verdict const& verdict, time_point now) {
  if (master_ && verdict.age < age_) {
    if (verdict.master == *master_) {
      doubted_since_ = {};
      return true;
    }
    // A minority may be cut off from the other sentinels, together with a replaced master.
    if (!verdict.settled) return false;
    if (doubted_since_ == time_point{}) doubted_since_ = now;
    if (now < doubted_until()) return false;
  }
  know(verdict.master, verdict.age);
  return true;
}

void known_master::know(net::server_address const& master, word_age age) {
  master_ = master;
  age_ = age;
  doubted_since_ = {};
}

}  // namespace holdfast::topology
