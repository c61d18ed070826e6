/// Broadcast: channels on which every process that waits for a name is told.
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

/// The channels that the bids of one client listen to: each subscribed once, however many bids. As a rule
/// what a message says doesn't matter: whoever hears it asks again. All under the client's lock.
class broadcast {
 public:
  struct events {
    std::function<void(std::uint64_t bid)> woken;
    /// Reads the messages, in place of waking all bids; empty: they are all woken.
    std::function<void(std::string const& channel, std::string_view message)> said;
    std::function<void(std::uint64_t bid)> open;  ///< all its channels are heard from now on; look again
    std::function<void(std::string const& channel, std::string const& words)> refused;
  };

  /// What becomes of a channel that nobody listens to any more.
  enum class afterwards {
    linger,  ///< kept for a while: the next wait for the same name comes soon, as a rule
    forget,  ///< it was one bid's own
  };

  /// `whose`: all the channels that it will be given.
  broadcast(reactor::loop& on, lock_backend& whom, topology::channel_of whose, events tell);
  ~broadcast();

  /// Has the bid told of what these channels say. True: they are all open already. When it throws the bid
  /// listens to none.
  bool listen(std::uint64_t bid, std::vector<std::string> const& channels);
  /// The same, but only if they are all open already.
  bool join(std::uint64_t bid, std::vector<std::string> const& channels);
  void leave(std::uint64_t bid, afterwards how) noexcept;

  [[nodiscard]] bool idle() const noexcept { return channels_.empty(); }
  [[nodiscard]] bool refused() const noexcept { return refused_; }

 private:
  class channel;

  [[nodiscard]] bool hears(std::uint64_t bid) const;
  void on_subscribed(channel const& which);
  void on_message(channel const& which, std::string_view message);
  void on_refused(std::string name, std::string const& words);
  [[nodiscard]] channel& open(std::string const& name);
  void rest(channel& one) noexcept;
  void drop(std::unordered_map<std::string, std::unique_ptr<channel>>::iterator which) noexcept;
  void sweep();

  reactor::loop& on_;
  lock_backend& whom_;
  topology::channel_of const whose_;
  events tell_;
  std::unordered_map<std::string, std::unique_ptr<channel>> channels_;
  std::list<channel*> idle_;  ///< nobody listens to these; the one for longest first
  std::unordered_map<std::uint64_t, std::vector<channel*>> bids_;
  reactor::timer timer_;
  bool refused_ = false;
};

}  // namespace holdfast::engine
