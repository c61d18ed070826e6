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

held::audience& held::told() {
  auto& mine = more();
  if (!mine.who) {
    auto who = std::make_shared<audience>();
    mine.tell.emplace_back([who] {
      if (who->stop.stop_possible()) who->stop.request_stop();
      for (auto& listener : who->listeners) listener(who->cause);
    });
    mine.who = std::move(who);
  }
  return *mine.who;
}

std::stop_token held::stop_token() {
  auto& stop = told().stop;
  if (!stop.stop_possible()) {
    stop = std::stop_source{};
    if (now() == state::lost) stop.request_stop();
  }
  return stop.get_token();
}

reactor::loop::calls held::lose(loss_cause cause) noexcept {
  cause_.store(cause, std::memory_order_release);
  state_.store(state::lost, std::memory_order_release);
  if (!extras_ || !extras_->who) return {};
  extras_->who->cause = cause;
  return std::exchange(extras_->tell, {});
}

held_ptr held::latest() {
  held_ptr result{this};
  while (result->extras_ && result->extras_->heir) result = result->extras_->heir;
  return result;
}

}  // namespace holdfast::engine
