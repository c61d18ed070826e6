#include "wire/plain/latch.hpp"

#include "script/names.hpp"
#include "scripts/latch.hpp"

namespace holdfast::recipes::plain {
namespace {

using namespace engine;

namespace latch_calls {

call look(std::string_view name, acquire_request const&) { return scripts::latch::look{.latch = {name}}(); }

std::vector<std::string> channels(std::string_view name, std::string_view) {
  return {names::inbox_of_all(name)};
}

}  // namespace latch_calls
}  // namespace

constinit engine::recipe const latch{.kind = history::kind::latch,
                                     .sharing = sharing::open_to_all,
                                     .leased = false,
                                     .queues = false,
                                     .acquire = latch_calls::look,
                                     .channels = latch_calls::channels};

}  // namespace holdfast::recipes::plain
