// How the masters stand, and what goes to all of them.

#include <algorithm>
#include <utility>

#include "engine/quorum/acquire_round.hpp"
#include "engine/quorum/broadcast_command.hpp"
#include "engine/quorum/quorum.hpp"

namespace holdfast::engine {

void quorum::send(net::request what) {
  introduce();
  std::make_shared<broadcast_command>(*this, std::move(what))->run();
}

/// Those that aren't there would have it never end.
bool quorum::idle() const noexcept {
  return std::ranges::all_of(nodes_, [](auto const& one) { return one->absent() || one->server().idle(); });
}

bool quorum::up() const noexcept {
  auto const there =
      std::ranges::count_if(nodes_, [](auto const& one) { return !one->absent() && one->server().up(); });
  return std::cmp_greater_equal(there, majority());
}

std::shared_ptr<error const> quorum::down_because() const noexcept {
  auto const away = std::ranges::count_if(nodes_, [](auto const& one) { return one->absent(); });
  return nodes_.size() - static_cast<std::size_t>(away) < majority() ? why_unknown({}) : nullptr;
}

std::shared_ptr<error const> quorum::too_few() const {
  std::string reasons;
  std::size_t away = 0;
  for (auto const& one : nodes_) {
    if (!one->absent()) continue;
    ++away;
    reasons += "; " + one->why_absent();
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

void quorum::shut(std::shared_ptr<error const> const& why) {
  shut_why_ = why;
  subscriptions_.clear();
  for (auto const& one : nodes_) one->server().shut(why);
  while (!resting_.empty()) {
    auto const one = *resting_.begin();
    one->fail(why);
  }
}

void quorum::listen(std::string const& channel, topology::channel_of whose, net::subscriber::listener& who) {
  auto const known = subscriptions_.find(channel);
  if (known == subscriptions_.end()) {
    subscriptions_.try_emplace(channel, on_, nodes_, channel, whose, who);
  } else {
    known->second.listen();
  }
}

void quorum::forget(std::string_view channel) {
  if (auto const known = subscriptions_.find(channel); known != subscriptions_.end())
    subscriptions_.erase(known);
}

}  // namespace holdfast::engine
