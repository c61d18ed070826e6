/// Classifies an error reply of a cluster's node. No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::topology {

enum class refusal_kind : std::uint8_t {
  other,     ///< the error belongs to the caller
  moved,     ///< another node serves the slot
  ask,       ///< the slot is migrating to another node; the key is there already, or new
  unserved,  ///< this node knows of no node that serves the slot now
  halved,    ///< some keys are at the node that the slot is migrating to
  not_yet,   ///< the node will serve the request later: it is loading its data
};

struct refusal {
  using kind = refusal_kind;

  kind type = kind::other;
  /// A script was stopped at a key that it had itself deleted from a migrating slot. Its earlier writes are
  /// done, so the request counts as sent and unanswered.
  bool halfway = false;
  std::uint16_t slot = 0;
  std::string host{};  ///< target of moved and ask; empty: the host that replied
  std::uint16_t port = 0;
};

[[nodiscard]] refusal read_refusal(std::string_view text);

}  // namespace holdfast::topology
