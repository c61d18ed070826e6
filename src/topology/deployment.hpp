/// The servers of one client: a single server, or several that share the keys or replace each other. A
/// deployment picks the connection for each request; the layers above don't know which.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/connection.hpp"
#include "net/deployment_url.hpp"
#include "net/subscriber.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::topology {

/// What a channel belongs to. Decides where it is published and subscribed.
enum class channel_of {
  client,  ///< a client; a message published on any server reaches all of them
  lock,    ///< a lock, in its hash slot; only the server of that slot publishes and delivers messages
  object,  ///< an object, as `lock`; software other than Holdfast may also publish to all servers
};

/// Events of a deployment, under the client's lock. An exception from a handler, or a lack of memory to call
/// it, is noted (reactor::loop::note_out_of_memory).
struct events {
  /// Another server now serves all keys, or in a cluster those of a node that was master. It may lack
  /// acknowledged writes: all leases and all queued requests have to be checked.
  std::function<void(std::string const& now)> moved;
  /// A connection for requests has broken. The server may come back without acknowledged writes: all leases
  /// have to be checked.
  std::function<void()> broken;
  /// In a cluster: some keys are another node's from now on, perhaps as a failover has left them. `moved`
  /// follows if there was one.
  std::function<void()> rerouted{};
  /// The only server says that it is a replica. Behind its name there may be another one by now, whose
  /// messages a replica sends, too.
  std::function<void()> replica{};
  /// A message for the log.
  std::function<void(std::string message)> warning;
  /// Whether the client holds or awaits a lock, or remembers releases: it has to hear of another server.
  std::function<bool()> at_stake{};
};

/// All under the client's lock.
class deployment {
 public:
  deployment() = default;
  deployment(deployment const&) = delete;
  deployment& operator=(deployment const&) = delete;
  virtual ~deployment() = default;

  // send, send_to and listen may throw std::bad_alloc, and then have no effect.

  /// Sends the request, as soon as possible, to the server of its key. `done` is called once, unless the
  /// deployment is destroyed. Requests about one key with one connection_role keep their order, except for
  /// requests that a cluster holds back for another try (see redirect_queue).
  virtual void send(net::request&& request) = 0;

  /// The servers that each hold a part of the keys, as names for send_to. Empty until the first request was
  /// answered.
  [[nodiscard]] virtual std::vector<std::string> masters() const { return {std::string{}}; }
  /// Sends the request to one of masters(), whatever its key is. Fails it if that server is no longer one.
  virtual void send_to(std::string const& /*master*/, net::request request) { send(std::move(request)); }

  /// No request is waiting or unanswered.
  [[nodiscard]] virtual bool idle() const noexcept = 0;
  /// There is a connection that can carry requests.
  [[nodiscard]] virtual bool up() const noexcept = 0;
  /// Why no connection can carry requests; null when one can, or none was needed yet.
  [[nodiscard]] virtual std::shared_ptr<error const> down_because() const noexcept = 0;

  /// Fails all waiting and all later requests; delivers no more messages.
  virtual void shut(std::shared_ptr<error const> const& reason) noexcept = 0;

  /// Subscribes the channel for its one listener, unless that is done or under way.
  virtual void listen(std::string const& channel, channel_of scope, net::subscriber::listener& listener) = 0;
  /// Removes the channel's listener.
  virtual void forget(std::string_view channel) noexcept = 0;

  /// Keys with different numbers can't be in one request.
  [[nodiscard]] virtual std::uint16_t slot_of(std::string_view /*key*/) const noexcept { return 0; }
  /// Messages about a lock use channels of its slot (SPUBLISH, SSUBSCRIBE).
  [[nodiscard]] virtual bool sharded() const noexcept { return false; }
};

/// Makes the deployment that a URL names: make_deployment, or what a simulation has in its place. `config`
/// must outlive it.
using deployment_maker = std::function<std::unique_ptr<deployment>(
    reactor::loop&, net::deployment_url const&, net::settings const&, client_stats&, events)>;

}  // namespace holdfast::topology
