// Messages to one client: those of its inboxes, and hints.

#include <string>

#include "engine/wake/messages.hpp"
#include "fuzz/fuzz.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::fuzzing;

std::string written(engine::turn_message const& turn) {
  auto const number = std::to_string(turn.number) + " ";
  auto const name = std::string{turn.name};
  if (turn.grant)
    return "granted " + number + std::to_string(turn.grant->token) + " " + std::to_string(turn.grant->count) +
           " " + name;
  return (turn.for_it_alone ? "ready " : "woken ") + number + name;
}

void check(std::string_view message) {
  if (auto const read = engine::read_turn_message(message)) {
    require(message.ends_with(read->name), "the name is the rest");
    auto const text = written(*read);
    auto const again = engine::read_turn_message(text);
    require(again && again->number == read->number && again->name == read->name &&
                again->for_it_alone == read->for_it_alone &&
                again->grant.has_value() == read->grant.has_value(),
            "what is written is read again");
    require(!read->grant ||
                (again->grant->token == read->grant->token && again->grant->count == read->grant->count),
            "so is a grant");
    require(!engine::read_hint(message), "a message to an inbox is no hint");
  }
  if (auto const lease = engine::read_hint(message))
    require(engine::read_hint("asked " + std::to_string(*lease)) == lease,
            "a hint that is written is read again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto rest = text_of(data, size);
  while (!rest.empty()) check(take(rest));
  return 0;
}
