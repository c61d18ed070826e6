#include <holdfast/inspect.hpp>

#include "engine/access.hpp"
#include "inspect/search.hpp"

namespace holdfast {

void for_each_lock(client& redis, std::string_view pattern, std::function<bool(lock_state const&)> const& f,
                   wire of) {
  auto const server = engine::access::core_of(redis);
  server->check_kind(engine::votes::none);
  inspection::search what{*server, pattern, f};
  if ((of == wire::automatic ? server->wire() : of) == wire::redisson) {
    inspection::find_redisson(what);
  } else {
    inspection::find_plain(what);
  }
}

}  // namespace holdfast
