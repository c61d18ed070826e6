/// Resolves host names to addresses.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/url.hpp"

namespace holdfast::net {

struct resolved_address {
  boost::asio::generic::stream_protocol::endpoint socket_address;
  std::string text;  ///< "127.0.0.1:6379", "[::1]:6379", "/run/redis.sock"
};

/// The addresses of hosts that need no name server: numeric hosts, localhost, sockets. Empty for other names.
[[nodiscard]] std::vector<resolved_address> known_addresses(endpoint const& to);

/// A pending query to the name service.
class resolution {
 public:
  using handler = std::function<void(std::string const& failure, std::vector<resolved_address> found)>;

  resolution() = default;
  resolution(resolution const&) = delete;
  resolution& operator=(resolution const&) = delete;
  virtual ~resolution() = default;

  /// From now on the handler isn't called, and the io_context isn't used. Thread-safe.
  virtual void cancel() noexcept = 0;
};

/// Resolves in a thread, which is never joined: getaddrinfo can't be interrupted and may take half a minute.
/// Those who ask for the same host meanwhile share its answer; after two seconds without one the next who
/// asks asks anew beside it. Asio's own resolver would block the io_context's destructor, hence exit(), for
/// as long.
[[nodiscard]] std::shared_ptr<resolution> resolve(boost::asio::io_context& io, endpoint const& to,
                                                  resolution::handler done);

}  // namespace holdfast::net
