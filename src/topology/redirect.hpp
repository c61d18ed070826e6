/// What an error of a cluster's node means for the request that met it. No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::topology {

enum class refusal_kind : std::uint8_t {
  other,     ///< it is for whoever asked
  moved,     ///< another node serves the slot
  ask,       ///< the slot is on its way to another node, and the key there already, or new
  unserved,  ///< no node that this one knows of serves the slot at this moment
  not_yet,   ///< the node will: some of the keys are on their way, or it is loading its data
};

struct refusal {
  using kind = refusal_kind;

  kind what = kind::other;
  /// A script was stopped at a key that it had deleted itself, while its slot is on its way: what it did
  /// before is done, so it is as if the answer had been lost.
  bool halfway = false;
  std::uint16_t slot = 0;
  std::string host{};  ///< where to, of moved and ask; empty: the host that says so
  std::uint16_t port = 0;
};

[[nodiscard]] refusal read_refusal(std::string_view words);

}  // namespace holdfast::topology
