#include "judge/state.hpp"

#include <algorithm>

#include "base/printable.hpp"

namespace holdfast::judging {

std::string state::name_text(std::uint32_t name) const { return '"' + printable(known.names[name]) + '"'; }

bool state::trouble_within(instant from, instant to) const noexcept {
  auto const first = std::ranges::lower_bound(troubles, from - uncertainty);
  return first != troubles.end() && *first <= to + uncertainty;
}

instant state::well_since(std::uint32_t client, instant now) const noexcept {
  auto const& of = clients[client];
  if (now - of.last > longest_silence) return now;
  return std::max(of.silent_until, of.trouble);
}

void state::tell(finding& to, std::uint32_t client, place const& at, std::string text) {
  if (at.line == 0) return;
  to.excerpt.push_back(
      {.t = at.t, .client = client, .text = std::move(text), .file = at.file, .line = at.line});
}

void state::tell(finding& to, hold_state const& hold) const {
  auto const& of = parts_of(hold.lock);
  auto const word = std::string{history::word_of(of.of)};
  tell(to, hold.client, hold.asked, "asked (" + word + ")");
  auto text = "granted (" + word + ")";
  if (hold.token != 0) text += ", token " + std::to_string(hold.token);
  if (hold.amount != 1) text += ", " + std::to_string(hold.amount) + " permits";
  auto const renewed = hold.confirmed.line != hold.granted.line;
  if (!renewed) text += ", valid for " + time_text(hold.until - hold.granted.t);
  tell(to, hold.client, hold.granted, std::move(text));
  if (renewed)
    tell(to, hold.client, hold.confirmed, "renewed, valid for " + time_text(hold.until - hold.confirmed.t));
}

}  // namespace holdfast::judging
