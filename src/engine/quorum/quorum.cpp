#include "engine/quorum/quorum.hpp"

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>

#include "engine/quorum/acquire_round.hpp"
#include "engine/quorum/ballot.hpp"
#include "engine/quorum/broadcast_command.hpp"
#include "engine/quorum/vote_count.hpp"
#include "engine/replies.hpp"
#include "script/runner.hpp"

namespace holdfast::engine {
namespace {

/// How long a request that gives back a vote, or a place in a queue, stays worth sending.
constexpr std::chrono::minutes returned_vote_lifetime{1};

net::settings settings_for(net::endpoint const& endpoint, net::settings config) {
  config.server = endpoint;
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

quorum::quorum(reactor::loop& loop, std::vector<net::endpoint> const& endpoints, net::settings const& config,
               client_stats& counts, topology::events handlers, std::shared_ptr<error const> out_of_memory,
               topology::deployment_maker const& make_master)
    : lock_backend{std::move(out_of_memory)}, loop_{loop}, config_{config}, events_{std::move(handlers)} {
  nodes_.reserve(endpoints.size());
  for (auto const& endpoint : endpoints) {
    nodes_.push_back(std::make_unique<quorum_node>(
        loop, settings_for(endpoint, config), counts,
        quorum_node::events{.back = [this] { on_back(); }, .known = [this] { on_known(); }}, make_master));
  }
  if (nodes_.size() % 2 == 0 || nodes_.size() < 3)
    events_.warning(count_warning(config_.server.display, nodes_.size()));
}

quorum::~quorum() = default;

std::size_t quorum::majority() const noexcept { return majority_of(nodes_.size()); }

std::uint64_t quorum::number_of(std::string_view owner) noexcept {
  std::uint64_t number = 0;
  auto const digits = owner.substr(std::min(owner.rfind(':') + 1, owner.size()));
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

/// Asks for the run ids before everything else, so each is known by the time its master votes.
void quorum::introduce() {
  if (std::exchange(introduced_, true)) return;
  for (auto const& node : nodes_) node->probe();
}

void quorum::on_known() {
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

time_point quorum::end_of_pause(time_point begun, scripting::send_options const& options) const {
  if (options.while_down == net::retry_policy::endless) return options.give_up;
  // Masters that can't be reached at the first try are no outage: most likely the URL is wrong.
  auto const hopeful = std::ranges::count_if(
      nodes_, [](auto const& node) { return node->ever_heard() || !node->server().down_because(); });
  return std::cmp_less(hopeful, majority()) ? begun : begun + config_.connect_timeout;
}

std::size_t quorum::present() {
  return static_cast<std::size_t>(
      std::ranges::count_if(nodes_, [](auto const& node) { return node->present(); }));
}

void quorum::on_back() {
  if (resting_.empty() || present() < majority()) return;
  for (auto const& round : std::exchange(resting_, {})) round->wake();
}

void quorum::acquire(recipe const& lock_recipe, std::string_view name, acquire_request const& request,
                     handler<verdict> done, scripting::send_options send) {
  introduce();
  std::make_shared<acquire_round>(*this, lock_recipe, name, request, std::move(done), send)->begin();
}

std::shared_ptr<error const> quorum::unconfirmed(std::string_view refusal) const noexcept {
  try {
    if (refusal.empty()) return too_few();
    return std::make_shared<error const>(errc::refused, config_.server.display + ": " + std::string{refusal});
  } catch (std::bad_alloc const&) {
    return no_memory;
  }
}

answer<ownership> quorum::joint_answer(joint_result const& result) const noexcept {
  auto const found = result.leases.front();
  if (found != ownership::unknown) return {.content = found, .sent_at = result.sent_at};
  return {.content = failed{.reason = unconfirmed(result.refusal), .sent = true}, .sent_at = result.sent_at};
}

/// From here on no vote of this owner counts any more.
void quorum::note_over(std::string_view owner) {
  auto const number = number_of(owner);
  renewing_.erase(number);
  if (auto const known = asking_.find(number); known != asking_.end())
    known->second.owner.over_since = boot_clock::now();
}

quorum::fate quorum::note_answer(std::uint64_t owner) noexcept {
  auto const known = asking_.find(owner);
  auto const result = known->second.owner;
  if (--known->second.owed == 0) asking_.erase(known);
  return result;
}

std::uint64_t quorum::number_to(std::size_t master, std::uint64_t owner) {
  return nodes_[master]->may_know(owner) ? ++last_request_ : 0;
}

void quorum::give_back(std::size_t master, recipe const& lock_recipe, owned lease, std::string_view ticket) {
  returning_.give_back(master, number_of(lease.owner),
                       lock_recipe.votes->yield(lease, ticket, ++last_request_),
                       boot_clock::now() + returned_vote_lifetime);
}

void quorum::leave_queue(std::size_t master, recipe const& lock_recipe, owned lease) {
  if (lock_recipe.votes->leave == nullptr) return;
  scripting::send_options const send{.while_down = net::retry_policy::endless,
                                     .give_up = boot_clock::now() + returned_vote_lifetime};
  auto const request =
      std::make_shared<vote_count>(*this, 1, vote_count::finality::last, lock_recipe.votes->leave(lease),
                                   send, vote_reader{}, vote_count::events{});
  request->ask_all([master](std::size_t other) { return other == master; });
}

void quorum::send_last(owned lease, call script, vote_reader read, handler<ownership> done,
                       scripting::send_options send) {
  note_over(lease.owner);
  vote_count::events handlers;
  if (done) {
    handlers.done = [this, done = std::move(done)](joint_result&& result) mutable {
      done(joint_answer(result));
    };
  }
  auto const votes = std::make_shared<vote_count>(*this, 1, vote_count::finality::last, std::move(script),
                                                  send, std::move(read), std::move(handlers));
  // Also behind a vote that is still to come from a master that is absent.
  votes->ask_all([this, number = number_of(lease.owner)](std::size_t master) {
    return nodes_[master]->may_know(number);
  });
}

void quorum::release(recipe const& lock_recipe, owned lease, release_policy policy, handler<ownership> done,
                     scripting::send_options send) {
  auto read = [](net::response&& response) {
    auto const vote = replies::read_release(std::move(response));
    return vote.outcome() != nullptr ? std::vector{*vote.outcome()} : std::vector<ownership>{};
  };
  send_last(lease, lock_recipe.release(lease, policy), std::move(read), std::move(done), send);
}

void quorum::abandon(recipe const& lock_recipe, owned lease, release_policy policy, handler<abandoned>,
                     scripting::send_options send) {
  send_last(lease, lock_recipe.abandon(lease, policy), {}, {}, send);
}

}  // namespace holdfast::engine
