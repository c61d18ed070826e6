#include "engine/client_constants.hpp"

#include <utility>

#include "base/ids.hpp"

namespace holdfast::engine {

client_constants make_client_constants(client_options options, std::string url) {
  auto no_memory = std::make_shared<error const>(
      std::errc::not_enough_memory,
      url + ": there is not enough memory; what was under way is taken back, so try again");
  auto shut_down = std::make_shared<error const>(errc::closed, url + ": the client has been shut down");
  return {.uuid = make_uuid(),
          .options = std::move(options),
          .url = std::move(url),
          .no_memory = std::move(no_memory),
          .shut_down = std::move(shut_down)};
}

}  // namespace holdfast::engine
