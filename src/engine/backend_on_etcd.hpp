/// The third backend: etcd. It is optional, and lies above the engine (src/etcd).
#pragma once

#include <memory>

#include "engine/client_constants.hpp"
#include "engine/lock_backend.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

/// Defined in src/etcd: by factory.cpp where the component is a part of this build, else by absent.cpp, which
/// throws errc::bad_url that says what is missing. `counts`: its requests.
[[nodiscard]] std::unique_ptr<lock_backend> make_backend_on_etcd(reactor::loop& loop,
                                                                 net::deployment_url const& url,
                                                                 client_constants const& client,
                                                                 client_stats& counts,
                                                                 topology::events handlers);

}  // namespace holdfast::engine
