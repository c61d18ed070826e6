#include "show/listing.hpp"

#include "common/duration.hpp"
#include "common/output.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::cli::listing {
namespace {

using namespace std::chrono;
using output::one_line;

constexpr std::size_t shown_of_foreign = 24;

/// The width of a text in characters: each byte of UTF-8 that is no continuation byte counts.
std::size_t places(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string shortened(std::string const& text) {
  return text.size() <= shown_of_foreign ? text : text.substr(0, shown_of_foreign) + "...";
}

std::string number_or_dash(std::int64_t number) { return number == 0 ? "-" : std::to_string(number); }

}  // namespace

std::string cell(std::optional<microseconds> const time) {
  return time ? to_string(duration_cast<milliseconds>(*time)) : "-";
}

std::string numbers(lock_state const& state) {
  auto const remaining = state.available.value_or(0);
  if (state.kind == lock_kind::permits)
    return fmt::format("{} of {} out", state.permits.value_or(0) - remaining, state.permits.value_or(0));
  if (state.kind == lock_kind::latch || state.kind == lock_kind::barrier)
    return fmt::format("{} of {} to go", remaining, state.permits.value_or(0));
  switch (state.counts) {
    case counter_use::permits:
      return fmt::format("{} left", remaining);
    case counter_use::latch:
      return fmt::format("{} to go", remaining);
    case counter_use::unknown:
      break;
  }
  return std::to_string(remaining);
}

std::string holder_cell(lock_state const& state) {
  auto const& holder = state.holder;
  if (state.kind == lock_kind::foreign) return fmt::format("\"{}\"", shortened(holder.owner));
  if (state.kind == lock_kind::permits || state.kind == lock_kind::counter ||
      state.kind == lock_kind::latch || state.kind == lock_kind::barrier)
    return numbers(state);
  if (holder.owner.empty()) return "-";
  std::string const more = state.holding > 1 ? fmt::format(" +{}", state.holding - 1) : "";
  if (holder.host.empty() && holder.pid == 0) return "unknown" + more;
  return fmt::format("{}:{}{}", holder.host.empty() ? "?" : holder.host,
                     holder.pid == 0 ? "?" : std::to_string(holder.pid), more);
}

bool lasts(lock_state const& state) {
  return state.kind == lock_kind::permits && state.wire == wire::plain && !state.on_etcd && !state.ttl_left;
}

std::string ttl_cell(lock_state const& state) { return lasts(state) ? "for ever" : cell(state.ttl_left); }

std::string table::header() {
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (auto const& column : columns_) titles.emplace_back(column.title);
  return row(titles);
}

std::string table::row(std::span<std::string const> cells) {
  std::string line;
  for (std::size_t i = 0; i != columns_.size(); ++i) {
    auto& [title, width, aligned] = columns_[i];
    auto const text = one_line(cells[i]);
    auto const size = places(text);
    width = std::max(width, size);
    std::string const padding(width - size, ' ');
    if (i != 0) line += "  ";
    line += aligned == column::side::right ? padding + text : text + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

table table_of_locks() {
  constexpr auto right = column::side::right;
  return table{{{"NAME", 24},
                {"KIND", 10},
                {"HOLDER", 16},
                {"LABEL", 12},
                {"HELD", 8, right},
                {"TTL", 8, right},
                {"TOKEN", 16, right},
                {"WAITING", 7, right},
                {"WIRE", 8}}};
}

std::string_view kind_word(lock_state const& state) {
  return state.leads ? std::string_view{"election"} : to_string(state.kind);
}

std::string_view wire_word(lock_state const& state) {
  if (state.on_etcd) return "etcd";
  return state.wire == wire::redisson ? "redisson" : "plain";
}

std::vector<std::string> cells_of(lock_state const& state) {
  return {state.name,
          std::string{kind_word(state)},
          holder_cell(state),
          state.holder.label.empty() ? "-" : state.holder.label,
          cell(state.held_for),
          ttl_cell(state),
          number_or_dash(state.token),
          std::to_string(state.waiting),
          std::string{wire_word(state)}};
}

}  // namespace holdfast::cli::listing
