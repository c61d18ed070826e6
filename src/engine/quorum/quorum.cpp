#include "engine/quorum/quorum.hpp"

#include <algorithm>
#include <utility>

#include "engine/quorum/acquire_round.hpp"
#include "engine/quorum/broadcast_command.hpp"
#include "engine/replies.hpp"

namespace holdfast::engine {

quorum::quorum(reactor::loop& loop, std::vector<net::endpoint> const& endpoints, net::settings const& config,
               client_stats& counts, topology::events handlers, std::shared_ptr<error const> out_of_memory,
               topology::deployment_maker const& make_master)
    : lock_backend{out_of_memory},
      masters_{loop, endpoints, config, counts, std::move(handlers), std::move(out_of_memory), make_master} {}

void quorum::acquire(recipe const& lock_recipe, std::string_view name, acquire_request const& request,
                     handler<verdict> done, scripting::send_options send) {
  masters_.introduce();
  std::make_shared<acquire_round>(masters_, lock_recipe, name, request, std::move(done), send)->begin();
}

void quorum::send(net::request&& request) {
  masters_.introduce();
  std::make_shared<broadcast_command>(masters_, std::move(request))->run();
}

/// Absent masters would keep it from ever being idle.
bool quorum::idle() const noexcept {
  return std::ranges::all_of(masters_.nodes(),
                             [](auto const& node) { return node->absent() || node->server().idle(); }) &&
         !masters_.any_ahead();
}

bool quorum::up() const noexcept {
  auto const there = std::ranges::count_if(
      masters_.nodes(), [](auto const& node) { return !node->absent() && node->server().up(); });
  return std::cmp_greater_equal(there, masters_.majority());
}

std::shared_ptr<error const> quorum::down_because() const noexcept {
  auto const there =
      std::ranges::count_if(masters_.nodes(), [](auto const& node) { return !node->absent(); });
  return std::cmp_less(there, masters_.majority()) ? masters_.unconfirmed({}) : nullptr;
}

void quorum::shut(std::shared_ptr<error const> const& reason) {
  subscriptions_.clear();
  masters_.shut(reason);
}

void quorum::listen(std::string const& channel, topology::channel_of scope,
                    net::subscriber::listener& listener) {
  auto const known = subscriptions_.find(channel);
  if (known == subscriptions_.end()) {
    subscriptions_.try_emplace(channel, masters_.loop(), masters_.nodes(), channel, scope, listener);
  } else {
    known->second.listen();
  }
}

void quorum::forget(std::string_view channel) {
  if (auto const known = subscriptions_.find(channel); known != subscriptions_.end())
    subscriptions_.erase(known);
}

answer<ownership> quorum::joint_answer(joint_result const& result) const noexcept {
  auto const found = result.leases.front();
  if (found != ownership::unknown) return {.content = found, .sent_at = result.sent_at};
  return {.content = failed{.reason = masters_.unconfirmed(result.refusal), .sent = true},
          .sent_at = result.sent_at};
}

void quorum::send_last(owned lease, call script, vote_reader read, handler<ownership> done,
                       scripting::send_options send) {
  masters_.owners().note_over(quorum_owners::number_of(lease.owner), boot_clock::now());
  vote_count::events handlers;
  if (done) {
    handlers.done = [this, done = std::move(done)](joint_result&& result) mutable {
      done(joint_answer(result));
    };
  }
  auto const votes = std::make_shared<vote_count>(masters_, 1, vote_count::finality::last, std::move(script),
                                                  send, std::move(read), std::move(handlers));
  // Also behind a vote that is still to come from a master that is absent.
  votes->ask_all([this, number = quorum_owners::number_of(lease.owner)](std::size_t master) {
    return masters_.nodes()[master]->may_know(number);
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
