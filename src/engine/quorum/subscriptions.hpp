/// Hears one channel at several masters.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/quorum/fan_out.hpp"

namespace holdfast::engine {

/// The same channel at each master. It counts as open once a majority has confirmed it, since a release is
/// published by a majority; a master that refuses it is left out. A message is passed on when a majority has
/// sent it, or after a moment: at the first copy the other masters might not be released yet. All under the
/// client's lock.
class quorum_subscriptions {
 public:
  quorum_subscriptions(reactor::loop& loop, quorum_nodes& nodes, std::string const& channel,
                       topology::channel_of scope, net::subscriber::listener& listener);
  ~quorum_subscriptions();
  quorum_subscriptions(quorum_subscriptions const&) = delete;
  quorum_subscriptions& operator=(quorum_subscriptions const&) = delete;

  /// Makes a connection to each master that has none, unless one is being made.
  void listen();

 private:
  class subscription;

  /// A message that came not long ago.
  struct pending_message {
    std::string text;
    time_point over;  ///< all copies are expected to have come by then
    std::size_t copies = 1;
    bool passed_on = false;
  };

  void forget() noexcept;
  void on_subscribed(subscription& source);
  void on_closed(subscription& source) noexcept;
  void on_message(std::string_view message);
  void on_silence();
  [[nodiscard]] std::chrono::nanoseconds moment() const noexcept;
  void on_refused(std::string const& text);

  reactor::loop& loop_;
  quorum_nodes& nodes_;
  std::string const channel_;
  topology::channel_of const scope_;
  net::subscriber::listener& listener_;
  std::vector<std::unique_ptr<subscription>> subscriptions_;
  std::size_t open_ = 0;                 ///< masters where it is subscribed
  bool missed_ = false;                  ///< one has closed since the listener was told to ask
  std::size_t refused_ = 0;              ///< masters that refuse it
  std::deque<pending_message> pending_;  ///< the oldest first
  reactor::timer silence_;
};

}  // namespace holdfast::engine
