/// The inbox: how a waiter of this client is told that it's its turn.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/recipe.hpp"
#include "net/subscriber.hpp"

namespace holdfast::engine {

/// One channel per client. A message names the waiter or holder and the lock: "woken <number> <name>" (ask
/// again), "granted <number> <token> <tokens> <name>" (it is yours, for a short while), or
/// "asked <number> <name>" (somebody releases it by force: stop, and give it back). All under the client's
/// lock.
class inbox {
 public:
  struct events {
    std::function<void(std::uint64_t number)> woken;
    std::function<void(std::uint64_t number, engine::granted const& what)> granted;
    std::function<void(std::uint64_t number)> asked_to_stop;
    std::function<void()> open;  ///< messages arrive from now on; what came before is lost
    std::function<void(std::string const& words)> refused;
  };

  inbox(reactor::loop& on, net::settings const& how, client_stats& counts, std::string const& uuid,
        events tell);

  void open() { subscriber_.listen(); }
  void close() { subscriber_.close(); }
  [[nodiscard]] bool is_open() const noexcept { return subscriber_.listening(); }
  [[nodiscard]] bool refused() const noexcept { return subscriber_.refused(); }

 private:
  void read(std::string_view message);

  events tell_;
  net::subscriber subscriber_;
};

}  // namespace holdfast::engine
