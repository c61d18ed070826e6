/// What serves a client: one server, or several that share the keys or stand in for each other. Which
/// connection a request goes over is decided here, and nothing above knows.
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

/// Whose a channel is.
enum class channel_of {
  client,  ///< one of the client's own: whichever server publishes, all hear it
  lock,  ///< of one lock, in its hash slot: told by the server that serves the lock, and heard from it alone
  object,  ///< the same; but others than Holdfast may tell it so that all hear it
};

/// What a deployment says of itself, under the client's lock. What these throw, and that there was no memory
/// to call one, is noted (reactor::loop::torn).
struct events {
  /// Another server than before serves all the keys, or some: what it knows may be older than what was
  /// acknowledged, so all that is held or waited for is to be asked about.
  std::function<void(std::string const& now)> moved;
  /// A connection for requests has broken: the server may come back without what it acknowledged, so all that
  /// is held is to be asked about.
  std::function<void()> broken;
  /// Worth a line in the log.
  std::function<void(std::string message)> warning;
};

/// All under the client's lock.
class deployment {
 public:
  deployment() = default;
  deployment(deployment const&) = delete;
  deployment& operator=(deployment const&) = delete;
  virtual ~deployment() = default;

  // send, send_to and listen may throw std::bad_alloc, and then it's as if they hadn't been called.

  /// Sends it, as soon as it can be, to the server that has its key. `done` is called once, unless the
  /// deployment is destroyed. Requests about one key that go over one lane keep their order, but for those
  /// that a cluster keeps for another try (see detours).
  virtual void send(net::request what) = 0;

  /// Those that each hold a part of the keys, as send_to takes them. None are known before a request was
  /// answered.
  [[nodiscard]] virtual std::vector<std::string> masters() const { return {std::string{}}; }
  /// Sends it to one of these, whatever its key is, or fails it when that isn't one of them any more.
  virtual void send_to(std::string const& /*master*/, net::request what) { send(std::move(what)); }

  /// Nothing sent, nothing to send.
  [[nodiscard]] virtual bool idle() const noexcept = 0;
  /// There is a connection that requests could go over.
  [[nodiscard]] virtual bool up() const noexcept = 0;
  /// Why there is none that requests can go over; null when there is, or none was needed yet.
  [[nodiscard]] virtual std::shared_ptr<error const> down_because() const noexcept = 0;

  /// Fails everything that waits, and whatever comes later; nothing is heard any more.
  virtual void shut(std::shared_ptr<error const> const& why) noexcept = 0;

  /// Subscribes the channel for its one listener, unless that is done or under way.
  virtual void listen(std::string const& channel, channel_of whose, net::subscriber::listener& who) = 0;
  /// Nobody listens to it any more.
  virtual void forget(std::string_view channel) noexcept = 0;

  /// Keys with different numbers can't be in one request.
  [[nodiscard]] virtual std::uint16_t slot_of(std::string_view /*key*/) const noexcept { return 0; }
  /// Messages about a lock go over channels of its slot (SPUBLISH, SSUBSCRIBE).
  [[nodiscard]] virtual bool sharded() const noexcept { return false; }
};

/// The deployment that a URL names. `how` stays.
[[nodiscard]] std::unique_ptr<deployment> make_deployment(reactor::loop& on, net::deployment_url const& where,
                                                          net::settings const& how, client_stats& counts,
                                                          events tell);

}  // namespace holdfast::topology
