/// One server.
#pragma once

#include <memory>
#include <utility>

#include "topology/deployment.hpp"
#include "topology/server_connections.hpp"

namespace holdfast::topology {

/// A connection for requests, one for those behind which WAIT holds up all that follows, one for messages;
/// each made when it is first needed.
class single : public deployment {
 public:
  single(reactor::loop& on, net::settings const& how, client_stats& counts,
         server_connections::events tell = {})
      : requests_{on, how, counts, std::move(tell)}, messages_{on, how, counts} {}

  void send(net::request what) override { requests_.over(what.role).send(std::move(what)); }
  [[nodiscard]] bool idle() const noexcept override { return requests_.idle(); }
  [[nodiscard]] bool up() const noexcept override { return requests_.up(); }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override {
    return requests_.down_because();
  }
  void shut(std::shared_ptr<error const> const& why) noexcept override {
    messages_.close();
    requests_.shut(why);
  }
  void listen(std::string const& channel, channel_of /*whose*/, net::subscriber::listener& who) override {
    messages_.listen(channel, who);
  }
  void forget(std::string_view channel) noexcept override { messages_.forget(channel); }

  [[nodiscard]] net::connection& over(net::connection_role which) { return requests_.over(which); }

 private:
  server_connections requests_;
  net::subscriber messages_;
};

}  // namespace holdfast::topology
