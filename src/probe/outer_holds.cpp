#include "probe/outer_holds.hpp"

#include "engine/access.hpp"
#include "engine/core.hpp"

namespace holdfast::probe {

void count_as_held(client& redis, std::vector<std::pair<std::string, std::string>> names_and_owners) {
  engine::access::core_of(redis)->locks().count_as_held(std::move(names_and_owners));
}

}  // namespace holdfast::probe
