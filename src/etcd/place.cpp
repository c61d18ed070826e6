#include "etcd/place.hpp"

#include <utility>

namespace holdfast::etcd {

void place::enqueue(callback<void()> step) {
  if (std::exchange(busy_, true)) {
    next_.push_back(std::move(step));
  } else {
    step();
  }
}

void place::end_step() {
  if (next_.empty()) {
    busy_ = false;
    return;
  }
  auto const step = std::make_shared<callback<void()>>(std::move(next_.front()));
  next_.pop_front();
  (*step)();
}

}  // namespace holdfast::etcd
