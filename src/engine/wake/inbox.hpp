/// The inbox: how a waiter of this client is told that it's its turn.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/recipe.hpp"
#include "engine/servers.hpp"

namespace holdfast::engine {

/// One channel per client. A message names the waiter or holder and the lock: "woken <number> <name>" (ask
/// again), "granted <number> <token> <tokens> <name>" (it is yours, for a short while), or
/// "asked <number> <name>" (somebody releases it by force: stop, and give it back). All under the client's
/// lock.
class inbox final : net::subscriber::listener {
 public:
  struct events {
    std::function<void(std::uint64_t number, std::string_view name)> woken;
    std::function<void(std::uint64_t number, engine::granted const& what, std::string_view name)> granted;
    std::function<void(std::uint64_t number)> asked_to_stop;
    std::function<void()> open;  ///< messages arrive from now on; what came before is lost
    std::function<void(std::string const& words)> refused;
  };

  inbox(servers& whom, std::string const& uuid, events tell);

  void open() {
    if (!refused_) whom_.listen(channel_, topology::channel_of::client, *this);
  }
  [[nodiscard]] bool refused() const noexcept { return refused_; }

  /// Does what a message says, whichever way it came.
  void read(std::string_view message) const;

 private:
  void on_subscribed() override { tell_.open(); }
  void on_message(std::string_view message) override { read(message); }
  void on_refused(std::string const& words) override;

  events tell_;
  servers& whom_;
  std::string channel_;
  bool refused_ = false;
};

}  // namespace holdfast::engine
