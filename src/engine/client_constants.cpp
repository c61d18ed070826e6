#include "engine/client_constants.hpp"

#include <utility>

#include "base/ids.hpp"

namespace holdfast::engine {

client_constants make_client_constants(client_options options, net::deployment_url const& url) {
  auto const& display = url.server.display;
  auto no_memory = std::make_shared<error const>(
      std::errc::not_enough_memory,
      display + ": there is not enough memory; what was under way is taken back, so try again");
  auto shut_down = std::make_shared<error const>(errc::closed, display + ": the client has been shut down");
  return {.uuid = make_uuid(),
          .options = std::move(options),
          .deployment = topology::traits_of(url.deployment),
          .url = display,
          .no_memory = std::move(no_memory),
          .shut_down = std::move(shut_down),
          .generation = fork_generation()};
}

}  // namespace holdfast::engine
