/// The channels on which the contenders of one client hear of their turn.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/lock_backend.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

/// Each channel is subscribed once, for all contenders that listen to it. Usually the text of a message
/// doesn't matter: a contender that hears it asks again. All under the client's lock; `now` is the time of
/// the event.
class contender_channels {
 public:
  struct events {
    std::function<void(std::uint64_t contender, time_point now)> woken;
    /// Reads the messages, in place of waking all contenders; empty: all are woken.
    std::function<void(std::string const& channel, std::string_view message, time_point now)> on_message;
    /// All its channels are subscribed; look again.
    std::function<void(std::uint64_t contender, time_point now)> open;
    std::function<void(std::string const& channel, std::string const& text)> refused;
  };

  /// What becomes of a channel after its last contender has left.
  enum class afterwards {
    linger,  ///< kept for a while: usually the next wait for the same name comes soon
    forget,  ///< unsubscribed: it was one contender's own
  };

  /// `scope`: of all channels.
  contender_channels(reactor::loop& loop, lock_backend& backend, topology::channel_of scope, events handlers);
  ~contender_channels();

  /// Subscribes the contender to the channels. True: all are open already. When it throws, the contender
  /// listens to none.
  bool listen(std::uint64_t contender, std::vector<std::string> const& channels, time_point now);
  /// The same, but only if all are open already.
  bool listen_if_open(std::uint64_t contender, std::vector<std::string> const& channels, time_point now);
  void leave(std::uint64_t contender, afterwards fate, time_point now) noexcept;

  /// Whether the contender listens, and all its channels are open now.
  [[nodiscard]] bool hears(std::uint64_t contender) const noexcept;

  [[nodiscard]] bool idle() const noexcept { return channels_.empty(); }
  [[nodiscard]] bool refused() const noexcept { return refused_; }

 private:
  class channel;

  void on_subscribed(channel const& entry, time_point now);
  void on_message(channel const& entry, std::string_view message, time_point now);
  void on_refused(std::string name, std::string const& text);
  [[nodiscard]] channel& open(std::string const& name, time_point now);
  void linger(channel& entry, time_point now) noexcept;
  void drop(std::unordered_map<std::string, std::unique_ptr<channel>>::iterator position) noexcept;
  void sweep();

  reactor::loop& loop_;
  lock_backend& backend_;
  topology::channel_of const scope_;
  events events_;
  std::unordered_map<std::string, std::unique_ptr<channel>> channels_;
  std::list<channel*> idle_;  ///< channels without a contender, in the order in which they became idle
  std::unordered_map<std::uint64_t, std::vector<channel*>> contenders_;
  reactor::timer timer_;
  bool refused_ = false;
};

}  // namespace holdfast::engine
