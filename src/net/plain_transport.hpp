/// TCP and unix sockets.
#pragma once

#include <memory>

#include "net/transport.hpp"

namespace holdfast::net {

[[nodiscard]] std::shared_ptr<transport> make_plain_transport(boost::asio::io_context& io,
                                                              endpoint const& to);

}  // namespace holdfast::net
