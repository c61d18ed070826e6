/// What gRPC's codes and etcd's words mean. No I/O.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "etcd/messages.hpp"

namespace holdfast::etcd {

[[nodiscard]] status read(::grpc::Status const& ended, std::string const& endpoint);

/// The token has expired, the members have forgotten it, it is from before a change of users or roles (JWT),
/// or there was none, since the cluster had no users then.
[[nodiscard]] bool needs_new_token(::grpc::Status const& ended);

}  // namespace holdfast::etcd
