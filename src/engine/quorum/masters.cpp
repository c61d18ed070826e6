#include "engine/quorum/masters.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <utility>

#include "engine/quorum/ballot.hpp"

namespace holdfast::engine {
namespace {

/// How long a request that gives back a vote, or a place in a queue, stays worth sending.
constexpr std::chrono::minutes returned_vote_lifetime{1};

net::settings settings_for(net::endpoint const& endpoint, net::settings config) {
  config.server = endpoint;
  config.unheard = nullptr;  // one of them alone means nothing
  return config;
}

std::string count_warning(std::string const& url, std::size_t masters) {
  auto const reason =
      masters == 1   ? "1 server is not a quorum: use redis:// for it, which has all kinds of lock"
      : masters == 2 ? "of 2 servers both are needed, so a lock fails as soon as one is down"
                     : "of an even number of servers one more must be up than of one server less, "
                       "and no more may fail";
  return url + ": " + reason + "; use 3 or 5";
}

}  // namespace

quorum_masters::quorum_masters(reactor::loop& loop, std::vector<net::endpoint> const& endpoints,
                               net::settings const& config, client_stats& counts, topology::events handlers,
                               std::shared_ptr<error const> out_of_memory,
                               topology::deployment_maker const& make_master)
    : loop_{loop}, config_{config}, events_{std::move(handlers)}, no_memory_{std::move(out_of_memory)} {
  nodes_.reserve(endpoints.size());
  for (auto const& endpoint : endpoints) {
    nodes_.push_back(std::make_unique<quorum_node>(
        loop, settings_for(endpoint, config), counts,
        quorum_node::events{.back = [this] { on_back(); }, .known = [this] { on_known(); }}, make_master));
  }
  if (nodes_.size() % 2 == 0 || nodes_.size() < 3)
    events_.warning(count_warning(config_.server.display, nodes_.size()));
}

void quorum_masters::introduce() {
  if (std::exchange(introduced_, true)) return;
  for (auto const& node : nodes_) node->probe();
}

void quorum_masters::on_known() {
  if (unfit_) return;
  for (auto node = nodes_.begin(); node != nodes_.end(); ++node) {
    auto const& id = (*node)->run_id();
    if (id.empty()) continue;
    auto const twin =
        std::find_if(node + 1, nodes_.end(), [&id](auto const& other) { return other->run_id() == id; });
    if (twin == nodes_.end()) continue;
    unfit_ = std::make_shared<error const>(
        errc::bad_url, config_.server.display + ": " + (*node)->title() + " and " + (*twin)->title() +
                           " are one server, and would have two votes; name different servers");
    return;
  }
}

void quorum_masters::on_back() {
  if (resting_.empty() || present() < majority()) return;
  for (auto const& round : std::exchange(resting_, {})) round->wake();
}

void quorum_masters::shut(std::shared_ptr<error const> const& reason) {
  shut_reason_ = reason;
  for (auto const& node : nodes_) node->server().shut(reason);
  while (!resting_.empty()) {
    auto const round = *resting_.begin();
    round->fail(reason);
  }
  delayed_.run_all();
}

std::size_t quorum_masters::majority() const noexcept { return majority_of(nodes_.size()); }

std::size_t quorum_masters::present() {
  return static_cast<std::size_t>(
      std::ranges::count_if(nodes_, [](auto const& node) { return node->present(); }));
}

std::shared_ptr<error const> quorum_masters::too_few() const {
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

std::shared_ptr<error const> quorum_masters::unconfirmed(std::string_view refusal) const noexcept {
  try {
    if (refusal.empty()) return too_few();
    return std::make_shared<error const>(errc::refused, config_.server.display + ": " + std::string{refusal});
  } catch (std::bad_alloc const&) {
    return no_memory_;
  }
}

time_point quorum_masters::end_of_pause(time_point begun, scripting::send_options const& options) const {
  if (options.while_down == net::retry_policy::endless) return options.give_up;
  // Masters that can't be reached at the first try are no outage: most likely the URL is wrong.
  auto const hopeful = std::ranges::count_if(
      nodes_, [](auto const& node) { return node->ever_heard() || !node->server().down_because(); });
  return std::cmp_less(hopeful, majority()) ? begun : begun + config_.connect_timeout;
}

std::uint64_t quorum_masters::number_to(std::size_t master, std::uint64_t owner) {
  return nodes_[master]->may_know(owner) ? ++last_request_ : 0;
}

time_point quorum_masters::end_of_returning() noexcept { return boot_clock::now() + returned_vote_lifetime; }

void quorum_masters::give_back(std::size_t master, recipe const& lock_recipe, owned lease,
                               std::string_view ticket) {
  returned_.give_back(master, quorum_owners::number_of(lease.owner),
                      lock_recipe.votes->yield(lease, ticket, ++last_request_), end_of_returning());
}

bool quorum_masters::any_ahead() const noexcept {
  return std::ranges::any_of(resting_, [](auto const& round) { return round->is_ahead(); });
}

}  // namespace holdfast::engine
