#include "script/names_redisson.hpp"
#include "scripts.hpp"
#include "sync/redisson.hpp"
#include "sync/replies.hpp"

namespace holdfast::sync::redisson {
namespace {

using namespace engine;

call look(std::string_view name, ask const&) { return scripts::redisson_latch::look{.counter = {name}}(); }

std::vector<std::string> channels(std::string_view name, std::string_view) {
  return {names::redisson::latch_channel(name)};
}

}  // namespace

constinit engine::recipe const latch{.sharing = sharing::gate,
                                     .leased = false,
                                     .queues = false,
                                     .acquire = look,
                                     .read_acquire = replies::read_acquire,
                                     .channels = channels};

}  // namespace holdfast::sync::redisson
