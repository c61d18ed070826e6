#include "net/make_transport.hpp"

#include <holdfast/error.hpp>

#include "net/plain_transport.hpp"
#include "net/tls_transport.hpp"

namespace holdfast::net {

std::shared_ptr<transport> make_transport(boost::asio::io_context& io, endpoint const& to) {
  if (to.transport == endpoint::scheme::tls) return make_tls_transport(io, to);
  if (to.transport == endpoint::scheme::memory) {
    if (auto const make = transport_in_memory.load()) return make(io, to);
    throw error{errc::bad_url, to.display +
                                   ": this program has no deployment in memory; make a holdfast::memory::"
                                   "deployment first (holdfast/testing.hpp)"};
  }
  return make_plain_transport(io, to);
}

}  // namespace holdfast::net
