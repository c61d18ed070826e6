/// The one place that knows all transports.
#pragma once

#include <atomic>
#include <memory>

#include "net/transport.hpp"

namespace holdfast::net {

/// Makes the transport for a memory:// URL; null: this program isn't linked with the component `testing`, or
/// has no deployment in memory yet.
using transport_maker = std::shared_ptr<transport> (*)(boost::asio::io_context& io, endpoint const& to);
inline constinit std::atomic<transport_maker> transport_in_memory{nullptr};

/// Makes the transport for `to`. Throws error{errc::bad_url} for unreadable certificate or key files.
[[nodiscard]] std::shared_ptr<transport> make_transport(boost::asio::io_context& io, endpoint const& to);

}  // namespace holdfast::net
