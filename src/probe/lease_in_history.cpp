#include "probe/lease_in_history.hpp"

#include <algorithm>
#include <cstdint>
#include <system_error>

#include "base/clock.hpp"
#include "base/whole_number.hpp"
#include "engine/core.hpp"
#include "history/file.hpp"
#include "history/lines.hpp"

namespace holdfast::probe {

std::optional<lease_in_history> find_in_history(lease const& held) {
  auto const* const state = engine::lease_state::behind(held);
  if (state == nullptr) return std::nullopt;
  auto const found = state->queue().engine().leases().recorded(*state);
  if (!found) return std::nullopt;
  return lease_in_history{.text = std::to_string(found->number) + ' ' + state->queue().client().uuid,
                          .history = found->file};
}

void tell_released(std::string_view const text, int const history) {
  auto const blank = std::min(text.find(' '), text.size());
  auto const number = whole_number<std::int64_t>(text.substr(0, blank));
  if (!number || blank == text.size()) return;
  history::lines line;
  line.begin(history::event::released, boot_clock::now());
  line.add("c", text.substr(blank + 1)).add("l", *number).end();
  try {
    [[maybe_unused]] auto const failed =
        history::file{"/proc/self/fd/" + std::to_string(history)}.write(line.text());
  } catch (std::system_error const&) {
    return;  // the lock is to be given back all the same
  }
}

}  // namespace holdfast::probe
