/// TLS over TCP, with OpenSSL. OpenSSL isn't initialized before the first of these is made.
/// The files that a URL names are read for each connection, so that renewed files are used; the system's
/// authorities are read once in a process.
#pragma once

#include <memory>

#include "net/transport.hpp"

namespace holdfast::net {

[[nodiscard]] std::shared_ptr<transport> make_tls_transport(boost::asio::io_context& io, endpoint const& to);

}  // namespace holdfast::net
