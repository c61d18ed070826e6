/// Connects a socket to an endpoint.
#pragma once

#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
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

/// Resolves the host and tries its addresses one after the other. For one use. All calls are thread-safe.
class dial : public std::enable_shared_from_this<dial> {
 public:
  /// A connected socket, or the failure: "connect to 127.0.0.1:1: Connection refused".
  using handler = std::function<void(std::string const& failure, stream_socket socket)>;

  dial(boost::asio::io_context& io, endpoint to);

  /// `done` is called once, by the loop, also after cancel(). It isn't called if an allocation fails: then
  /// start() throws, or an exception comes out of the loop, or after cancel() nothing follows.
  void start(handler done);
  void cancel() noexcept;

  /// The address that is being tried, or is connected; before there is one, the address in the URL.
  [[nodiscard]] std::string peer() const;

 private:
  void resolved(std::string const& failure, std::vector<resolved_address> found);
  void try_next();
  void connected(boost::system::error_code failure);
  void finish(std::string const& failure);
  void post_cancelled(handler& done, std::string const& doing);

  boost::asio::io_context& io_;
  endpoint const to_;
  std::string const name_;  ///< "redis.example:6379", "/run/redis.sock"

  mutable std::mutex mutex_;  ///< guards the members below; never held while `done_` runs
  handler done_;
  stream_socket socket_;
  std::vector<resolved_address> addresses_;
  std::size_t next_ = 0;
  std::string failures_;
  std::shared_ptr<resolution> resolution_;
  bool cancelled_ = false;
};

}  // namespace holdfast::net
