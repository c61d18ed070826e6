#include "engine/quorum/ears.hpp"

#include <utility>

#include "engine/quorum/ballot.hpp"

namespace holdfast::engine {

class quorum_ears::ear final : public net::subscriber::listener {
 public:
  explicit ear(quorum_ears& home) : home_{home} {}

  void on_subscribed() override { home_.on_subscribed(*this); }
  void on_message(std::string_view message) override { home_.who_.on_message(message); }
  void on_refused(std::string const& words) override {
    refused = true;
    home_.on_refused(words);
  }

  bool open = false;
  bool refused = false;

 private:
  quorum_ears& home_;
};

quorum_ears::quorum_ears(quorum_nodes& whom, std::string const& channel, topology::channel_of whose,
                         net::subscriber::listener& who)
    : whom_{whom}, channel_{channel}, whose_{whose}, who_{who} {
  ears_.reserve(whom_.size());
  for (std::size_t i = 0; i != whom_.size(); ++i) ears_.push_back(std::make_unique<ear>(*this));
  listen();
}

void quorum_ears::listen() {
  for (std::size_t i = 0; i != whom_.size(); ++i) {
    if (!ears_[i]->refused) whom_[i]->server().listen(channel_, whose_, *ears_[i]);
  }
}

quorum_ears::~quorum_ears() {
  for (auto const& one : whom_) one->server().forget(channel_);
}

/// Those behind the majority bring no news, unless one comes back: what it said meanwhile is lost.
void quorum_ears::on_subscribed(ear& one) {
  auto const again = std::exchange(one.open, true);
  if (!again) ++open_;
  if (open_ == majority_of(whom_.size()) || (again && open_ > majority_of(whom_.size())))
    who_.on_subscribed();
}

void quorum_ears::on_refused(std::string const& words) {
  ++refused_;
  if (refused_ == whom_.size() - majority_of(whom_.size()) + 1) who_.on_refused(words);
}

}  // namespace holdfast::engine
