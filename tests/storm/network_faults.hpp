/// What a network does to servers in it, for a while.
#pragma once

#include "arena.hpp"

#include "support/private_network.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace holdfast::storm {

/// The network drops nothing again after a second to `longest`: by a thread of its own, since other faults
/// ask servers that may be out of reach until then.
inline fault network_fault(test::private_network& network, std::string name,
                           std::chrono::milliseconds longest, std::function<void(dice&)> begin,
                           std::string group = "network") {
  return {std::move(name), std::move(group), [&network, longest, begin = std::move(begin)](dice& by) {
            begin(by);
            auto const time = by.between(std::chrono::milliseconds{1'000}, longest);
            auto const ends_in_time =
                std::make_shared<std::jthread>([&network, time](std::stop_token const& stop) {
                  std::mutex guard;
                  std::unique_lock hold{guard};
                  (void)std::condition_variable_any{}.wait_for(hold, stop, time, [] { return false; });
                  try {
                    network.drop_nothing();
                  } catch (std::exception const&) {
                    return;  // it is tried again
                  }
                });
            return ending{time, [&network, ends_in_time] {
                            *ends_in_time = {};
                            network.drop_nothing();
                          }};
          }};
}

/// Packets to a server are dropped, packets from it, or some to it. `port`: of the one that is meant.
inline void add_packet_faults(std::vector<fault>& all, test::private_network& network,
                              std::string const& server, std::chrono::milliseconds longest,
                              std::function<std::uint16_t(dice&)> const& port,
                              std::string const& group = "network") {
  all.push_back(network_fault(
      network, "packets to " + server + " dropped", longest,
      [&network, port](dice& by) { network.lose(100, port(by)); }, group));
  all.push_back(network_fault(
      network, "packets from " + server + " dropped", longest,
      [&network, port](dice& by) { network.lose_from(100, port(by)); }, group));
  all.push_back(network_fault(
      network, "some packets of " + server + " dropped", longest,
      [&network, port](dice& by) { network.lose(static_cast<int>(by.between(10, 60)), port(by)); }, group));
}

}  // namespace holdfast::storm
