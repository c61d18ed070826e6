#include "topology/topology_refresh.hpp"

#include <algorithm>
#include <exception>
#include <string_view>
#include <utility>

#include "base/ids.hpp"
#include "resp/command.hpp"

namespace holdfast::topology {
namespace {

/// How many nodes are asked at once, and after what time without a usable reply as many more.
constexpr std::size_t width = 3;
constexpr std::chrono::milliseconds widen_after{200};

/// A round in which a node told that the cluster is down goes on for so long for those that owe an answer:
/// one that is dead owes it for connect_timeout, and meanwhile another takes its place.
constexpr std::chrono::milliseconds longest_wait{500};

/// The pause between rounds, as long as anything is amiss.
constexpr std::chrono::milliseconds first_pause{50};
constexpr std::chrono::milliseconds longest_pause{500};

net::request command(std::initializer_list<std::string_view> words, callback<void(net::response&&)> done) {
  net::request result;
  resp::append_command(result.bytes, words);
  result.done = std::move(done);
  result.stays = true;
  return result;
}

/// Why a node didn't tell, and what to do.
std::shared_ptr<error const> explain(resp::reply const& refusal, net::endpoint const& node) {
  auto const has = [&refusal](std::string_view text) { return refusal.text.find(text) != std::string::npos; };
  if (has("cluster support disabled") || has("unknown command")) {
    return std::make_shared<error const>(
        errc::refused, node.display + " is not a node of a cluster (it says: " + refusal.text +
                           "); use the URL " + node.display);
  }
  if (refusal.is_error("NOPERM")) {
    return std::make_shared<error const>(
        errc::unauthorized, node.display + " doesn't let this user ask for the slots of the cluster: " +
                                refusal.text + "; grant +cluster|slots and +cluster|info");
  }
  return std::make_shared<error const>(
      errc::refused, node.display + " doesn't tell the slots of the cluster: " +
                         (refusal.is_error() ? refusal.text : "that is not an answer to CLUSTER SLOTS"));
}

/// Takes its code from the first failure other than a missing reply.
std::shared_ptr<error const> summary(std::vector<std::shared_ptr<error const>> const& failures) {
  auto const telling = std::ranges::find_if(failures, [](std::shared_ptr<error const> const& failure) {
    return failure->code() != errc::unreachable;
  });
  auto const& main = telling != failures.end() ? *telling : failures.front();
  auto text = std::string{main->what()};
  for (auto const& failure : failures) {
    if (failure != main) text += std::string{"; "} + failure->what();
  }
  return std::make_shared<error const>(static_cast<errc>(main->code().value()), text);
}

}  // namespace

topology_refresh::topology_refresh(reactor::loop& loop, events handlers)
    : loop_{loop},
      events_{std::move(handlers)},
      pause_{first_pause, longest_pause},
      random_{static_cast<std::minstd_rand::result_type>(random_seed())},
      next_{[this] { try_or_restart([this] { begin(); }); }},
      widen_{[this] { try_or_restart([this] { go_on(); }); }} {}

/// Without memory for the step: another round begins after a pause.
template <class Step>
void topology_refresh::try_or_restart(Step step) noexcept {
  try {
    step();
  } catch (std::exception const&) {
    finish();
    look();
  }
}

void topology_refresh::stop() noexcept {
  stopped_ = true;
  next_.disarm();
  finish();
}

void topology_refresh::look() noexcept {
  if (stopped_) return;
  if (running_) {
    again_ = true;
  } else if (!next_.armed()) {
    // Before the first round `ended_` is the clock's epoch: the round begins at once.
    loop_.arm(next_, std::max(boot_clock::now(), ended_ + pause_.next(random_)));
  }
}

void topology_refresh::look_at(cluster_node& first) noexcept {
  first_ = &first;
  look();
}

bool topology_refresh::needs(cluster_node const& node) const {
  return first_ == &node || std::ranges::find(to_ask_, &node) != to_ask_.end() ||
         std::ranges::find(unanswered_, &node) != unanswered_.end();
}

void topology_refresh::begin() {
  running_ = true;
  again_ = false;
  heard_ = false;
  ++round_;
  open_ = 0;
  second_best_.reset();
  failures_.clear();
  to_ask_ = events_.candidates();
  std::ranges::reverse(to_ask_);
  if (auto* const first = std::exchange(first_, nullptr)) {
    std::erase(to_ask_, first);
    to_ask_.push_back(first);
  }
  ask_some();
}

/// The nodes that were asked are slow.
void topology_refresh::go_on() {
  if (to_ask_.empty()) {
    end_round();
  } else {
    ask_some();
  }
}

void topology_refresh::ask_some() {
  for (std::size_t i = 0; i != width && !to_ask_.empty(); ++i) {
    auto& next = *to_ask_.back();
    to_ask_.pop_back();
    auto const owes = std::ranges::find(unanswered_, &next) != unanswered_.end();
    if (!owes) ask(next);
  }
  if (!to_ask_.empty()) {
    loop_.arm(widen_, boot_clock::now() + widen_after);
  } else {
    finish_if_over();
  }
}

void topology_refresh::ask(cluster_node& node) {
  auto const pending = std::make_shared<inquiry>(inquiry{.node = &node, .round = round_, .result = {}});
  auto& connection = node.over(net::connection_role::usual);
  unanswered_.reserve(unanswered_.size() + 1);
  // CLUSTER SLOTS comes last: its reply ends the inquiry.
  connection.send(command({"CLUSTER", "INFO"}, [pending](net::response&& response) {
    pending->result.health = read_health(response.reply);
  }));
  connection.send(command({"PUBSUB", "SHARDNUMSUB"}, [pending](net::response&& response) {
    if (!response.failure)
      pending->result.sharded = response.reply.is_array() || response.reply.is_error("NOPERM");
  }));
  auto last = command({"CLUSTER", "SLOTS"}, [this, pending](net::response&& response) {
    try_or_restart([&] { on_answer(*pending, std::move(response)); });
  });
  ++open_;
  unanswered_.push_back(&node);
  try {
    connection.send(std::move(last));
  } catch (std::exception const&) {
    --open_;
    std::erase(unanswered_, &node);
    throw;
  }
}

void topology_refresh::on_answer(inquiry& source, net::response&& response) {
  std::erase(unanswered_, source.node);
  auto const in_time = running_ && source.round == round_;
  if (in_time) --open_;
  auto slots = response.failure ? std::nullopt : read_slots(response.reply, source.node->endpoint().host);
  if (!slots) {
    if (in_time) on_refused(source, response);
    return;
  }
  source.result.slots = *std::move(slots);
  heard_ = heard_ || in_time;
  auto const& health = source.result.health;
  if (health.epoch < epoch_) {  // behind; used when no other node replies
    if (!in_time) return;
    if (!second_best_ || second_best_->result.health.epoch < health.epoch) {
      second_best_ = std::make_unique<inquiry>(std::move(source));
    }
    finish_if_over();
    return;
  }
  if (!in_time && health.epoch == epoch_) return;  // nothing new
  epoch_ = health.epoch;
  second_best_.reset();
  auto const ends = in_time && health.ok;
  if (ends) finish();
  events_.found(*source.node, source.result);
  if (in_time && !ends) finish_if_over();
}

void topology_refresh::on_refused(inquiry const& source, net::response const& response) {
  failures_.push_back(response.failure ? response.failure : explain(response.reply, source.node->endpoint()));
  if (open_ == 0 && !to_ask_.empty()) {
    ask_some();
  } else {
    finish_if_over();
  }
}

/// Ends the round when no node is left to ask or to reply, or soon if one has told.
void topology_refresh::finish_if_over() {
  if (!running_ || !to_ask_.empty()) return;
  if (open_ == 0) {
    end_round();
  } else if (heard_ && !widen_.armed()) {
    loop_.arm(widen_, boot_clock::now() + longest_wait);
  }
}

void topology_refresh::end_round() {
  auto const second = std::exchange(second_best_, nullptr);
  auto const reason = failures_.empty() ? nullptr : summary(failures_);
  finish();
  if (second) {
    epoch_ = second->result.health.epoch;
    events_.found(*second->node, second->result);
  } else {
    events_.failed(reason);
  }
}

void topology_refresh::finish() noexcept {
  running_ = false;
  to_ask_.clear();
  widen_.disarm();
  failures_.clear();
  ended_ = boot_clock::now();
  if (std::exchange(again_, false)) look();
}

}  // namespace holdfast::topology
