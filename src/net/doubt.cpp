#include "net/doubt.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace holdfast::net {

doubt::doubt(std::chrono::milliseconds limit, std::function<void()> ask)
    : limit_{limit}, ask_{std::move(ask)} {}

bool doubt::is_late(covered const& over, time_point sent_at, time_point now) const noexcept {
  if (is_long(now - sent_at)) return true;
  return std::ranges::any_of(all_, [&](covered const* other) {
    if (other == &over) return false;
    auto const since = other->silent_since();
    return since != time_point::max() && is_long(now - std::max(since, believed_));
  });
}

void doubt::raise(time_point seen) noexcept {
  if (!asked_)
    raised_ = true;
  else if (seen > asked_at_)
    again_ = true;
}

void doubt::announce() noexcept {
  announced_ = true;
  if (asked_) again_ = true;
}

void doubt::pursue() noexcept {
  if (asked_ || believing_) return;
  asked_ = true;
  raised_ = false;
  asked_at_ = boot_clock::now();
  try {
    ask_();
  } catch (std::exception const&) {
    believe();  // without memory to ask
  }
}

/// By index: what is delivered may lead to another connection.
void doubt::believe() noexcept {
  if (believing_) return;
  believing_ = true;
  announced_ = false;
  if (std::exchange(asked_, false)) {
    believed_ = asked_at_;
    raised_ = std::exchange(again_, false);
  }
  for (std::size_t i = 0; i != all_.size(); ++i) all_[i]->believe_first();
  believing_ = false;
  if (any_held_back()) pursue();
}

void doubt::abandon() noexcept {
  auto const was_open = open();
  forget();
  raised_ = was_open;
}

void doubt::reach(std::string const& host, unsigned port) {
  if (host == host_ && port == port_) return;
  auto const first = host_.empty();
  host_ = host;
  port_ = port;
  if (!first && !any_held_back()) forget();
}

void doubt::forget() noexcept {
  raised_ = false;
  announced_ = false;
  asked_ = false;
  again_ = false;
}

bool doubt::any_held_back() const noexcept { return std::ranges::any_of(all_, &covered::holds_back); }

}  // namespace holdfast::net
