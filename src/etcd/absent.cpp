// In place of the backend on etcd, in a build without it.

#include <holdfast/error.hpp>

#include "engine/backend_on_etcd.hpp"

namespace holdfast::engine {

std::unique_ptr<lock_backend> make_backend_on_etcd(reactor::loop& /*loop*/, net::deployment_url const& url,
                                                   client_constants const& /*client*/,
                                                   client_stats& /*counts*/, topology::events /*handlers*/) {
  throw error{errc::bad_url, url.server.display +
                                 ": this Holdfast was built without etcd; build it with -DHOLDFAST_ETCD=ON "
                                 "(docs/etcd.md), or give the URL of a Redis"};
}

}  // namespace holdfast::engine
