#include "topology/failover_watch.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <utility>

#include "resp/command.hpp"
#include "topology/slot_map.hpp"

namespace holdfast::topology {

failover_watch::failover_watch(reactor::loop& loop, events handlers)
    : loop_{loop}, events_{std::move(handlers)}, next_{[this] { ask_again(); }} {}

void failover_watch::stop() noexcept {
  stopped_ = true;
  doubts_.clear();
  next_.disarm();
}

void failover_watch::ask_again() {
  auto const now = boot_clock::now();
  confirm_if([now](doubted const& doubt) { return doubt.until <= now; });
  auto const worth_it = events_.at_stake && events_.at_stake();
  if (!worth_it && doubts_.empty()) return;
  begin();
  if (now < changing_until_) {
    events_.look();
    return;
  }
  auto nodes = events_.masters();
  // Those that are connected tell at once; but a single one may be the one that is replaced.
  if (std::ranges::count_if(nodes, &cluster_node::up) > 1)
    std::erase_if(nodes, std::not_fn(&cluster_node::up));
  std::erase_if(
      nodes, [this](auto const* node) { return std::ranges::find(unanswered_, node) != unanswered_.end(); });
  if (!nodes.empty()) ask(*nodes[turn_++ % nodes.size()]);
}

/// Whatever fails, the next tick asks another node.
void failover_watch::ask(cluster_node& node) {
  unanswered_.push_back(&node);
  try {
    send(node, [this, &node](net::response&& response) {
      std::erase(unanswered_, &node);
      if (!response.failure && events_.is_new(read_health(response.reply).epoch)) on_changed();
    });
  } catch (std::exception const&) {
    std::erase(unanswered_, &node);
    throw;
  }
}

void failover_watch::send(cluster_node& node, callback<void(net::response&&)> done) {
  net::request question;
  resp::append_command(question.bytes, {"CLUSTER", "INFO"});
  question.never_resend = true;
  question.stays = true;
  question.beside = true;  // masters that are all doubted at once would wait for each other
  question.done = std::move(done);
  node.over(net::connection_role::usual).send(std::move(question));
}

void failover_watch::on_changed() noexcept {
  if (stopped_) return;
  changing_until_ = boot_clock::now() + election;
  events_.look();
}

void failover_watch::doubt(cluster_node& late) {
  forget(late);  // who was asked before may have answered before
  auto const number = ++last_number_;
  auto nodes = events_.masters();
  std::erase(nodes, &late);
  std::ranges::partition(nodes, &cluster_node::up);
  if (nodes.size() > most_witnesses) nodes.resize(most_witnesses);
  doubts_.push_back({.node = &late, .number = number, .until = boot_clock::now() + longest_doubt});
  begin();
  try {
    for (auto* const node : nodes) {
      send(*node, [this, number](net::response&& response) { on_witness(number, response); });
      ++doubts_.back().open;
    }
  } catch (std::exception const&) {
    if (doubts_.back().open == 0) {
      doubts_.pop_back();
      throw;
    }
  }
  confirm_if([](doubted const& doubt) { return doubt.open == 0; });
}

void failover_watch::on_witness(std::uint64_t number, net::response const& response) noexcept {
  auto const doubt = std::ranges::find(doubts_, number, &doubted::number);
  if (doubt == doubts_.end()) return;
  --doubt->open;
  auto const epoch = response.failure ? 0 : read_health(response.reply).epoch;
  if (events_.is_new(epoch)) {
    doubt->epoch = std::max(doubt->epoch, epoch);
    on_changed();
  } else if (doubt->epoch == 0 && doubt->open == 0) {
    // All of them: another may have been suspended together with the one that is doubted.
    confirm_if([number](doubted const& each) { return each.number == number; });
  }
}

void failover_watch::forget(cluster_node const& node) noexcept {
  std::erase_if(doubts_, [&](doubted const& doubt) { return doubt.node == &node; });
}

void failover_watch::on_found() noexcept {
  confirm_if([this](doubted const& doubt) { return doubt.epoch != 0 && !events_.is_new(doubt.epoch); });
}

/// `events_.confirmed` may lead to further doubts.
template <class Over>
void failover_watch::confirm_if(Over over) noexcept {
  for (;;) {
    auto const next = std::ranges::find_if(doubts_, over);
    if (next == doubts_.end()) return;
    auto& node = *next->node;
    doubts_.erase(next);
    events_.confirmed(node);
  }
}

}  // namespace holdfast::topology
