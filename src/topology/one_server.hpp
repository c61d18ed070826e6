/// A deployment of one server.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "topology/deployment.hpp"
#include "topology/of_replica.hpp"
#include "topology/server_connections.hpp"

namespace holdfast::topology {

/// The server of the settings, or the one that their locator names. Has one connection for requests, one for
/// requests followed by WAIT, which blocks its connection, and one for messages. Each is made when it is
/// first needed. Where nobody else looks at refusals, the name may belong to another server one day: a server
/// that says that it is a replica is left, and messages are heard from where requests go, so that connection
/// doesn't outlive those for requests.
class one_server : public deployment {
 public:
  one_server(reactor::loop& loop, net::settings const& config, client_stats& counts,
             server_connections::events handlers = {}, std::function<void()> replica = {})
      : requests_{loop, config, counts, following_the_name(std::move(handlers))},
        messages_{loop, config, counts},
        replica_{std::move(replica)} {}

  void send(net::request&& request) override { requests_.over(request.role).send(std::move(request)); }
  [[nodiscard]] bool idle() const noexcept override { return requests_.idle(); }
  [[nodiscard]] bool up() const noexcept override { return requests_.up(); }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override {
    return requests_.down_because();
  }
  void shut(std::shared_ptr<error const> const& reason) noexcept override {
    messages_.shut();
    requests_.shut(reason);
  }
  void listen(std::string const& channel, channel_of /*scope*/,
              net::subscriber::listener& listener) override {
    messages_.listen(channel, listener);
  }
  void forget(std::string_view channel) noexcept override { messages_.forget(channel); }

  [[nodiscard]] net::connection& over(net::connection_role role) { return requests_.over(role); }
  void doubt() noexcept { requests_.doubt(); }
  void believe() noexcept { requests_.believe(); }

 private:
  [[nodiscard]] server_connections::events following_the_name(server_connections::events handlers) {
    if (handlers.refused) return handlers;
    handlers.refused = [this](net::connection_role role, net::pipeline::batch const& requests) {
      auto const& refusal = requests.front().response.reply;
      if (is_of_replica(refusal)) leave(role, "this is a replica: " + refusal.text);
      return false;
    };
    handlers.broken = [this, broken = std::move(handlers.broken)] {
      heard_by_ = messages_.connection_id();
      if (broken) broken();
    };
    handlers.restored = [this] {
      if (messages_.connection_id() == heard_by_) messages_.replace("requests have a new connection");
    };
    return handlers;
  }

  void leave(net::connection_role role, std::string const& reason) {
    if (replica_) replica_();
    if (requests_.over(role).replace_when_answered(reason)) messages_.replace(reason);
  }

  server_connections requests_;
  net::subscriber messages_;
  std::function<void()> const replica_;
  std::uint64_t heard_by_ = 0;  ///< the connection for messages when one for requests broke
};

}  // namespace holdfast::topology
