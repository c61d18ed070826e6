// The state of the masters, and what goes to all of them.

#include <algorithm>
#include <utility>

#include "engine/quorum/acquire_round.hpp"
#include "engine/quorum/broadcast_command.hpp"
#include "engine/quorum/quorum.hpp"

namespace holdfast::engine {

void quorum::send(net::request&& request) {
  introduce();
  std::make_shared<broadcast_command>(*this, std::move(request))->run();
}

/// Absent masters would keep it from ever being idle.
bool quorum::idle() const noexcept {
  return std::ranges::all_of(nodes_,
                             [](auto const& node) { return node->absent() || node->server().idle(); }) &&
         std::ranges::none_of(resting_, [](auto const& round) { return round->is_ahead(); });
}

bool quorum::up() const noexcept {
  auto const there =
      std::ranges::count_if(nodes_, [](auto const& node) { return !node->absent() && node->server().up(); });
  return std::cmp_greater_equal(there, majority());
}

std::shared_ptr<error const> quorum::down_because() const noexcept {
  auto const away = std::ranges::count_if(nodes_, [](auto const& node) { return node->absent(); });
  return nodes_.size() - static_cast<std::size_t>(away) < majority() ? unconfirmed({}) : nullptr;
}

std::shared_ptr<error const> quorum::too_few() const {
  std::string reasons;
  std::size_t away = 0;
  for (auto const& node : nodes_) {
    if (!node->absent()) continue;
    ++away;
    reasons += "; " + node->absence_reason();
  }
  if (nodes_.size() - away >= majority()) {
    return std::make_shared<error const>(
        errc::unreachable, config_.server.display + ": fewer than " + std::to_string(majority()) + " of " +
                               std::to_string(nodes_.size()) + " servers answered in time" + reasons);
  }
  return std::make_shared<error const>(
      errc::unreachable, config_.server.display + ": " + std::to_string(nodes_.size() - away) + " of " +
                             std::to_string(nodes_.size()) + " servers can be asked, and " +
                             std::to_string(majority()) + " are needed" + reasons);
}

void quorum::shut(std::shared_ptr<error const> const& reason) {
  shut_reason_ = reason;
  subscriptions_.clear();
  for (auto const& node : nodes_) node->server().shut(reason);
  while (!resting_.empty()) {
    auto const round = *resting_.begin();
    round->fail(reason);
  }
  delayed_.run_all();
}

void quorum::listen(std::string const& channel, topology::channel_of scope,
                    net::subscriber::listener& listener) {
  auto const known = subscriptions_.find(channel);
  if (known == subscriptions_.end()) {
    subscriptions_.try_emplace(channel, loop_, nodes_, channel, scope, listener);
  } else {
    known->second.listen();
  }
}

void quorum::forget(std::string_view channel) {
  if (auto const known = subscriptions_.find(channel); known != subscriptions_.end())
    subscriptions_.erase(known);
}

}  // namespace holdfast::engine
