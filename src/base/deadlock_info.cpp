#include <holdfast/deadlock.hpp>

#include "base/printable.hpp"

namespace holdfast {
namespace {

/// The client's part of an owner id.
std::string_view client_of(process_info const& process) {
  return std::string_view{process.owner}.substr(0, process.owner.find(':'));
}

}  // namespace

std::string deadlock_info::to_string() const {
  std::string text;
  for (std::size_t i = 0; i != circle.size(); ++i) {
    auto const& waiting = circle[i];
    auto const& next = circle[(i + 1) % circle.size()].process;
    if (i == 0) text = waiting.process.to_string() + " waits";
    text += " for \"" + printable(waiting.name) + "\", held by " + waiting.holder.to_string();
    if (client_of(waiting.holder) != client_of(next))
      text += ", in whose command " + next.to_string() + " runs";
    if (i + 1 != circle.size()) text += ", which waits";
  }
  return text;
}

}  // namespace holdfast
