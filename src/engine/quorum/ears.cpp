#include "engine/quorum/ears.hpp"

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

class quorum_ears::ear final : public net::subscriber::listener {
 public:
  explicit ear(quorum_ears& home) : home_{home} {}

  void on_subscribed() override { home_.on_subscribed(*this); }
  void on_message(std::string_view message) override { home_.on_message(message); }
  void on_refused(std::string const& words) override {
    refused = true;
    home_.on_refused(words);
  }

  bool open = false;
  bool refused = false;

 private:
  quorum_ears& home_;
};

quorum_ears::quorum_ears(reactor::loop& on, quorum_nodes& whom, std::string const& channel,
                         topology::channel_of whose, net::subscriber::listener& who)
    : on_{on}, whom_{whom}, channel_{channel}, whose_{whose}, who_{who}, silence_{[this] { on_silence(); }} {
  ears_.reserve(whom_.size());
  for (std::size_t i = 0; i != whom_.size(); ++i) ears_.push_back(std::make_unique<ear>(*this));
  try {
    listen();
  } catch (...) {
    forget();
    throw;
  }
}

void quorum_ears::listen() {
  for (std::size_t i = 0; i != whom_.size(); ++i) {
    if (!ears_[i]->refused) whom_[i]->server().listen(channel_, whose_, *ears_[i]);
  }
}

quorum_ears::~quorum_ears() { forget(); }

void quorum_ears::forget() noexcept {
  for (auto const& one : whom_) one->server().forget(channel_);
}

/// Those behind the majority bring no news, unless one comes back: what it said meanwhile is lost.
void quorum_ears::on_subscribed(ear& one) {
  auto const again = std::exchange(one.open, true);
  if (!again) ++open_;
  if (open_ == majority_of(whom_.size()) || (again && open_ > majority_of(whom_.size())))
    who_.on_subscribed();
}

/// What is said behind the majority may be news again, and is passed on at once.
void quorum_ears::on_message(std::string_view message) {
  auto known = std::ranges::find(rumours_, message, &rumour::words);
  if (known == rumours_.end()) {
    // In order, should the usual time have become shorter.
    auto const before = rumours_.empty() ? time_point{} : rumours_.back().over;
    rumours_.push_back(
        {.words = std::string{message}, .over = std::max(before, boot_clock::now() + moment())});
    known = std::prev(rumours_.end());
    if (!silence_.armed()) on_.arm(silence_, known->over);
  } else {
    ++known->heard;
  }
  if (!known->told && known->heard < majority_of(whom_.size())) return;
  known->told = true;
  who_.on_message(message);  // which may end this
}

/// A minority said it, and no more came: queues don't agree, or masters are away.
void quorum_ears::on_silence() {
  auto const oldest = std::move(rumours_.front());
  rumours_.pop_front();
  if (!rumours_.empty()) on_.arm(silence_, rumours_.front().over);
  if (!oldest.told) who_.on_message(oldest.words);  // which may end this
}

std::chrono::nanoseconds quorum_ears::moment() const noexcept {
  std::chrono::nanoseconds usual{};
  for (auto const& one : whom_) usual = std::max(usual, one->usual());
  return std::clamp<std::chrono::nanoseconds>(times_usual * usual, shortest_moment, longest_moment);
}

void quorum_ears::on_refused(std::string const& words) {
  ++refused_;
  if (refused_ == whom_.size() - majority_of(whom_.size()) + 1) who_.on_refused(words);
}

}  // namespace holdfast::engine
