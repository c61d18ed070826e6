#include "script/names_redisson.hpp"
#include "scripts/redisson_latch.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::recipes::redisson {
namespace {

using namespace engine;

namespace latch_calls {

call look(std::string_view name, acquire_request const&) {
  return scripts::redisson_latch::look{.counter = {name}}();
}

std::vector<std::string> channels(std::string_view name, std::string_view) {
  return {names::redisson::latch_channel(name)};
}

}  // namespace latch_calls
}  // namespace

constinit engine::recipe const latch{.kind = history::kind::latch,
                                     .sharing = sharing::open_to_all,
                                     .leased = false,
                                     .queues = false,
                                     .acquire = latch_calls::look,
                                     .channels = latch_calls::channels};

}  // namespace holdfast::recipes::redisson
