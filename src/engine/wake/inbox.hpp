/// What a client is told by messages, on channels of its own: that it's its turn for a lock, or that somebody
/// wants one back that it holds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "engine/lock_backend.hpp"
#include "engine/recipe.hpp"

namespace holdfast::engine {

/// In the inbox that a client has for one lock: "woken <number> <name>" (waiter, ask again), or "granted
/// <number> <token> <tokens> <name>" (it is yours, for a short while).
struct turn {
  std::uint64_t number = 0;
  std::optional<granted> grant{};
  std::string_view name{};  ///< of the lock; in the message
};
/// Nullopt: nothing to us. A newer Holdfast may send more kinds.
[[nodiscard]] std::optional<turn> read_turn(std::string_view message);

/// The channel on which a client is asked for what it holds: "asked <number>" (somebody releases it by force:
/// look at the key beside the lock that says so). All under the client's lock.
class inbox final : net::subscriber::listener {
 public:
  struct events {
    std::function<void(std::uint64_t number)> asked;
    std::function<void(std::string const& words)> refused;
  };

  inbox(lock_backend& whom, std::string const& uuid, events tell);

  void open() {
    if (!refused_) whom_.listen(channel_, topology::channel_of::client, *this);
  }

 private:
  void on_subscribed() override {}
  void on_message(std::string_view message) override;
  void on_refused(std::string const& words) override;

  events tell_;
  lock_backend& whom_;
  std::string channel_;
  bool refused_ = false;
};

}  // namespace holdfast::engine
