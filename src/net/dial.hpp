/// Connects a socket to an endpoint.
#pragma once

#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "net/resolve.hpp"
#include "net/url.hpp"

namespace holdfast::net {

using stream_socket = boost::asio::generic::stream_protocol::socket;

/// The error to report for a socket that we closed ourselves: an operation under way fails with
/// operation_aborted, but a later one with bad_descriptor.
[[nodiscard]] inline boost::system::error_code as_aborted(boost::system::error_code failure) noexcept {
  return failure == boost::asio::error::bad_descriptor ? boost::asio::error::operation_aborted : failure;
}

/// Makes closing discard the bytes that the peer hasn't received, and send the peer a TCP reset. A unix
/// socket has no bytes on their way.
inline void throw_away_unsent(stream_socket& socket) noexcept {
  boost::system::error_code ignored;
  socket.set_option(boost::asio::socket_base::linger{true, 0}, ignored);
  // A forked child may have a copy of the descriptor: then close() ends nothing, but this disconnects.
  sockaddr const nowhere{.sa_family = AF_UNSPEC, .sa_data = {}};
  [[maybe_unused]] auto const done = ::connect(socket.native_handle(), &nowhere, sizeof nowhere);
}

/// Resolves the host and tries its addresses: the next one when one has failed, or has not answered for a
/// while; the first that connects is taken ("Happy Eyeballs", RFC 8305, section 5). So an address that
/// swallows what is sent to it doesn't keep the others from being tried. For one use. All calls are
/// thread-safe.
class dial : public std::enable_shared_from_this<dial> {
 public:
  /// How long an address has to answer before the next one is tried as well: what RFC 8305 recommends.
  static constexpr std::chrono::milliseconds attempt_delay{250};

  /// A connected socket, or the failure: "connect to 127.0.0.1:1: Connection refused".
  using handler = std::function<void(std::string const& failure, stream_socket socket)>;

  dial(boost::asio::io_context& io, endpoint to);

  /// `done` is called once, by the loop, also after cancel(). It isn't called if an allocation fails: then
  /// start() throws, or an exception comes out of the loop, or after cancel() nothing follows.
  void start(handler done);
  void cancel() noexcept;

  /// The address that is connected, or has been tried for longest; before there is one, the address in the
  /// URL.
  [[nodiscard]] std::string peer() const;

 private:
  void resolved(std::string const& failure, std::vector<resolved_address> found);
  void try_next();
  void try_next_in_a_while();
  void connected(std::size_t which, boost::system::error_code failure);
  void note(std::size_t which, boost::system::error_code failure);
  void finish(std::unique_lock<std::mutex> hold, std::string const& failure);
  void end_attempts() noexcept;
  void post_cancelled(handler& done, std::string const& doing);

  static constexpr auto none = static_cast<std::size_t>(-1);

  boost::asio::io_context& io_;
  endpoint const to_;
  std::string const name_;  ///< "redis.example:6379", "/run/redis.sock"

  mutable std::mutex mutex_;  ///< guards the members below; never held while `done_` runs
  handler done_;
  std::vector<resolved_address> addresses_;
  std::vector<stream_socket> attempts_;  ///< at the first of the addresses; closed: it has failed
  std::size_t connected_ = none;         ///< the address
  std::optional<boost::asio::steady_timer> next_is_due_;
  std::string failures_;
  std::shared_ptr<resolution> resolution_;
  bool cancelled_ = false;
};

}  // namespace holdfast::net
