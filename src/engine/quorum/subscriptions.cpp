#include "engine/quorum/subscriptions.hpp"

#include <algorithm>
#include <utility>

#include "engine/quorum/ballot.hpp"

namespace holdfast::engine {
namespace {

/// How long a message from a minority is held back for further copies: a multiple of the usual answer time.
constexpr int times_usual = 2;
constexpr std::chrono::milliseconds shortest_moment{1};
constexpr std::chrono::milliseconds longest_moment{20};

}  // namespace

class quorum_subscriptions::subscription final : public net::subscriber::listener {
 public:
  explicit subscription(quorum_subscriptions& parent) : parent_{parent} {}

  void on_subscribed() override { parent_.on_subscribed(*this); }
  void on_closed() noexcept override { parent_.on_closed(*this); }
  void on_message(std::string_view message) override { parent_.on_message(message); }
  void on_refused(std::string const& text) override {
    refused = true;
    parent_.on_refused(text);
  }

  bool open = false;
  bool refused = false;

 private:
  quorum_subscriptions& parent_;
};

quorum_subscriptions::quorum_subscriptions(reactor::loop& loop, quorum_nodes& nodes,
                                           std::string const& channel, topology::channel_of scope,
                                           net::subscriber::listener& listener)
    : loop_{loop}, nodes_{nodes}, channel_{channel}, scope_{scope}, listener_{listener}, silence_{[this] {
        on_silence();
      }} {
  subscriptions_.reserve(nodes_.size());
  for (std::size_t i = 0; i != nodes_.size(); ++i)
    subscriptions_.push_back(std::make_unique<subscription>(*this));
  try {
    listen();
  } catch (...) {
    forget();
    throw;
  }
}

void quorum_subscriptions::listen() {
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    if (!subscriptions_[i]->refused) nodes_[i]->server().listen(channel_, scope_, *subscriptions_[i]);
  }
}

quorum_subscriptions::~quorum_subscriptions() { forget(); }

void quorum_subscriptions::forget() noexcept {
  for (auto const& node : nodes_) node->server().forget(channel_);
}

/// Confirmations beyond the majority bring no news, unless one was closed since the last news: messages sent
/// meanwhile may be lost.
void quorum_subscriptions::on_subscribed(subscription& source) {
  auto const again = std::exchange(source.open, true);
  if (!again) ++open_;
  if (open_ < majority_of(nodes_.size())) return;
  auto const missed = std::exchange(missed_, false);
  if (again || missed || open_ == majority_of(nodes_.size())) listener_.on_subscribed();
}

void quorum_subscriptions::on_closed(subscription& source) noexcept {
  if (!std::exchange(source.open, false)) return;
  missed_ = true;
  if (open_-- == majority_of(nodes_.size())) listener_.on_closed();
}

/// A copy beyond the majority may be a new message, and is passed on at once.
void quorum_subscriptions::on_message(std::string_view message) {
  auto known = std::ranges::find(pending_, message, &pending_message::text);
  if (known == pending_.end()) {
    // Keeps the order when the usual time has become shorter.
    auto const before = pending_.empty() ? time_point{} : pending_.back().over;
    pending_.push_back(
        {.text = std::string{message}, .over = std::max(before, boot_clock::now() + moment())});
    known = std::prev(pending_.end());
    if (!silence_.armed()) loop_.arm(silence_, known->over);
  } else {
    ++known->copies;
  }
  if (!known->passed_on && known->copies < majority_of(nodes_.size())) return;
  known->passed_on = true;
  listener_.on_message(message);  // which may destroy this object
}

/// The time of the oldest message is up. If only a minority sent it, the queues don't agree, or masters are
/// absent.
void quorum_subscriptions::on_silence() {
  auto const oldest = std::move(pending_.front());
  pending_.pop_front();
  if (!pending_.empty()) loop_.arm(silence_, pending_.front().over);
  if (!oldest.passed_on) listener_.on_message(oldest.text);  // which may destroy this object
}

std::chrono::nanoseconds quorum_subscriptions::moment() const noexcept {
  std::chrono::nanoseconds usual{};
  for (auto const& node : nodes_) usual = std::max(usual, node->usual());
  return std::clamp<std::chrono::nanoseconds>(times_usual * usual, shortest_moment, longest_moment);
}

void quorum_subscriptions::on_refused(std::string const& text) {
  ++refused_;
  if (refused_ == nodes_.size() - majority_of(nodes_.size()) + 1) listener_.on_refused(text);
}

}  // namespace holdfast::engine
