/// What the layers above have to know of a deployment, in place of its kind.
#pragma once

#include "net/deployment_url.hpp"

namespace holdfast::topology {

struct traits {
  bool slots = false;  ///< the keys are spread over several servers by hash slot
  /// Messages come from the master alone: no replica takes over, and sends those of its former master.
  bool messages_trusted = false;
  bool votes = false;  ///< several masters, which vote
  bool etcd = false;   ///< no Redis: see docs/etcd.md
};

constexpr traits traits_of(net::deployment_url::kind deployment) noexcept {
  using kind = net::deployment_url::kind;
  return {.slots = deployment == kind::cluster,
          .messages_trusted = deployment == kind::single,
          .votes = deployment == kind::quorum,
          .etcd = deployment == kind::etcd};
}

}  // namespace holdfast::topology
