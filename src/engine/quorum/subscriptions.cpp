#include "engine/quorum/subscriptions.hpp"

#include <algorithm>
#include <utility>

#include "engine/quorum/ballot.hpp"

namespace holdfast::engine {
namespace {

/// How long the word of a minority is kept for others to say the same: a few times what an answer takes.
constexpr int times_usual = 2;
constexpr std::chrono::milliseconds shortest_moment{1};
constexpr std::chrono::milliseconds longest_moment{20};

}  // namespace

class quorum_subscriptions::subscription final : public net::subscriber::listener {
 public:
  explicit subscription(quorum_subscriptions& home) : home_{home} {}

  void on_subscribed() override { home_.on_subscribed(*this); }
  void on_message(std::string_view message) override { home_.on_message(message); }
  void on_refused(std::string const& words) override {
    refused = true;
    home_.on_refused(words);
  }

  bool open = false;
  bool refused = false;

 private:
  quorum_subscriptions& home_;
};

quorum_subscriptions::quorum_subscriptions(reactor::loop& on, quorum_nodes& whom, std::string const& channel,
                                           topology::channel_of whose, net::subscriber::listener& who)
    : on_{on}, nodes_{whom}, channel_{channel}, whose_{whose}, who_{who}, silence_{[this] { on_silence(); }} {
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
    if (!subscriptions_[i]->refused) nodes_[i]->server().listen(channel_, whose_, *subscriptions_[i]);
  }
}

quorum_subscriptions::~quorum_subscriptions() { forget(); }

void quorum_subscriptions::forget() noexcept {
  for (auto const& one : nodes_) one->server().forget(channel_);
}

/// Those behind the majority bring no news, unless one comes back: what it said meanwhile is lost.
void quorum_subscriptions::on_subscribed(subscription& one) {
  auto const again = std::exchange(one.open, true);
  if (!again) ++open_;
  if (open_ == majority_of(nodes_.size()) || (again && open_ > majority_of(nodes_.size())))
    who_.on_subscribed();
}

/// What is said behind the majority may be news again, and is passed on at once.
void quorum_subscriptions::on_message(std::string_view message) {
  auto known = std::ranges::find(pending_, message, &pending_message::words);
  if (known == pending_.end()) {
    // In order, should the usual time have become shorter.
    auto const before = pending_.empty() ? time_point{} : pending_.back().over;
    pending_.push_back(
        {.words = std::string{message}, .over = std::max(before, boot_clock::now() + moment())});
    known = std::prev(pending_.end());
    if (!silence_.armed()) on_.arm(silence_, known->over);
  } else {
    ++known->heard;
  }
  if (!known->told && known->heard < majority_of(nodes_.size())) return;
  known->told = true;
  who_.on_message(message);  // which may end this
}

/// A minority said it, and no more came: queues don't agree, or masters are away.
void quorum_subscriptions::on_silence() {
  auto const oldest = std::move(pending_.front());
  pending_.pop_front();
  if (!pending_.empty()) on_.arm(silence_, pending_.front().over);
  if (!oldest.told) who_.on_message(oldest.words);  // which may end this
}

std::chrono::nanoseconds quorum_subscriptions::moment() const noexcept {
  std::chrono::nanoseconds usual{};
  for (auto const& one : nodes_) usual = std::max(usual, one->usual());
  return std::clamp<std::chrono::nanoseconds>(times_usual * usual, shortest_moment, longest_moment);
}

void quorum_subscriptions::on_refused(std::string const& words) {
  ++refused_;
  if (refused_ == nodes_.size() - majority_of(nodes_.size()) + 1) who_.on_refused(words);
}

}  // namespace holdfast::engine
