/// Hearing one channel at several masters.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/quorum/fan_out.hpp"

namespace holdfast::engine {

/// The same channel at each master. It counts as heard once a majority has confirmed it, since whoever
/// releases tells a majority; a master that won't have it is left out. And what one master says is passed on
/// when a majority has said it, or after a moment: whoever asks at the first word finds the others not there
/// yet. All under the client's lock.
class quorum_subscriptions {
 public:
  quorum_subscriptions(reactor::loop& on, quorum_nodes& whom, std::string const& channel,
                       topology::channel_of whose, net::subscriber::listener& who);
  ~quorum_subscriptions();
  quorum_subscriptions(quorum_subscriptions const&) = delete;
  quorum_subscriptions& operator=(quorum_subscriptions const&) = delete;

  /// Where there is no connection any more, and none is being made, one is.
  void listen();

 private:
  class subscription;

  /// Something that was said not long ago.
  struct pending_message {
    std::string words;
    time_point over;  ///< by then all that say it have done so
    std::size_t heard = 1;
    bool told = false;
  };

  void forget() noexcept;
  void on_subscribed(subscription& one);
  void on_message(std::string_view message);
  void on_silence();
  [[nodiscard]] std::chrono::nanoseconds moment() const noexcept;
  void on_refused(std::string const& words);

  reactor::loop& on_;
  quorum_nodes& nodes_;
  std::string const channel_;
  topology::channel_of const whose_;
  net::subscriber::listener& who_;
  std::vector<std::unique_ptr<subscription>> subscriptions_;
  std::size_t open_ = 0;                 ///< have confirmed it at least once
  std::size_t refused_ = 0;              ///< won't ever
  std::deque<pending_message> pending_;  ///< the oldest first
  reactor::timer silence_;
};

}  // namespace holdfast::engine
