#include "engine/held.hpp"

#include "base/fork.hpp"
#include "engine/core.hpp"

namespace holdfast::engine {

bool held::valid() const noexcept { return remaining().count() > 0; }

std::chrono::nanoseconds held::remaining() const noexcept {
  if (now() != state::held || place_->home().forked()) return {};
  auto const end = time_point{boot_clock::duration{deadline_.load(std::memory_order_acquire)}};
  return std::max(end - boot_clock::now(), std::chrono::nanoseconds{0});
}

std::stop_token held::stop_token() {
  auto& stop = more().stop;
  if (!stop.stop_possible()) {
    stop = std::stop_source{};
    if (now() == state::lost) stop.request_stop();
  }
  return stop.get_token();
}

std::function<void()> held::lose(loss_cause cause) {
  cause_.store(cause, std::memory_order_release);
  state_.store(state::lost, std::memory_order_release);
  if (!extras_ || (!extras_->stop.stop_possible() && extras_->listeners.empty())) return {};
  return [stop = extras_->stop, listeners = std::move(extras_->listeners), cause]() mutable {
    if (stop.stop_possible()) stop.request_stop();
    for (auto& listener : listeners) listener(cause);
  };
}

held_ptr held::latest() {
  held_ptr result{this};
  while (result->extras_ && result->extras_->heir) result = result->extras_->heir;
  return result;
}

}  // namespace holdfast::engine
