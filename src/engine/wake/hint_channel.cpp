#include "engine/wake/hint_channel.hpp"

#include <utility>

#include "engine/wake/messages.hpp"
#include "script/names.hpp"

namespace holdfast::engine {

hint_channel::hint_channel(lock_backend& backend, std::string const& uuid, events handlers)
    : events_{std::move(handlers)}, backend_{backend}, channel_{names::hints(uuid)} {}

void hint_channel::on_refused(std::string const& text) {
  refused_ = true;
  events_.refused(text);
}

void hint_channel::on_message(std::string_view message) {
  if (auto const lease = read_hint(message)) events_.asked(*lease);
}

}  // namespace holdfast::engine
