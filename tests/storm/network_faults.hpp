/// What a network does to servers in it, for a while.
#pragma once

#include "arena.hpp"

#include "support/private_network.hpp"

#include <utility>

namespace holdfast::storm {

/// The network drops nothing again after a second to `longest`.
inline fault network_fault(test::private_network& network, std::string name,
                           std::chrono::milliseconds longest, std::function<void(dice&)> begin) {
  return {std::move(name), "network", [&network, longest, begin = std::move(begin)](dice& by) {
            begin(by);
            return ending{by.between(std::chrono::milliseconds{1'000}, longest),
                          [&network] { network.drop_nothing(); }};
          }};
}

/// Packets to a server are dropped, packets from it, or some to it. `port`: of the one that is meant.
inline void add_packet_faults(std::vector<fault>& all, test::private_network& network,
                              std::string const& server, std::chrono::milliseconds longest,
                              std::function<std::uint16_t(dice&)> const& port) {
  all.push_back(network_fault(network, "packets to " + server + " dropped", longest,
                              [&network, port](dice& by) { network.lose(100, port(by)); }));
  all.push_back(network_fault(network, "packets from " + server + " dropped", longest,
                              [&network, port](dice& by) { network.lose_from(100, port(by)); }));
  all.push_back(network_fault(
      network, "some packets of " + server + " dropped", longest,
      [&network, port](dice& by) { network.lose(static_cast<int>(by.between(10, 60)), port(by)); }));
}

}  // namespace holdfast::storm
