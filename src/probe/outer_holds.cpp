#include "probe/outer_holds.hpp"

#include "engine/access.hpp"
#include "engine/core.hpp"
#include "script/names.hpp"

namespace holdfast::probe {

std::string reader_id(std::string_view const owner) {
  return std::string{owner}.append(names::reader_suffix);
}

void count_as_held(client& redis, std::vector<std::pair<std::string, std::string>> names_and_owners) {
  engine::access::core_of(redis)->locks().count_as_held(std::move(names_and_owners));
}

}  // namespace holdfast::probe
