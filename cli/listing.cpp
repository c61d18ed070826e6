#include "listing.hpp"

#include "duration.hpp"
#include "output.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace holdfast::cli::listing {
namespace {

using namespace std::chrono;
using json = nlohmann::ordered_json;
using output::one_line;

constexpr std::size_t shown_of_foreign = 24;

json text_or_null(std::string const& text) { return text.empty() ? json{} : json(text); }
json number_or_null(std::int64_t number) { return number == 0 ? json{} : json(number); }

std::optional<microseconds> in_micros(std::optional<milliseconds> time) {
  return time ? std::optional<microseconds>{*time} : std::nullopt;
}

/// How many places it takes: a character of UTF-8 is one byte that doesn't continue another.
std::size_t places(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string shortened(std::string const& text) {
  return text.size() <= shown_of_foreign ? text : text.substr(0, shown_of_foreign) + "...";
}

std::string number_or_dash(std::int64_t number) { return number == 0 ? "-" : std::to_string(number); }

std::string field(std::string_view name, std::string_view value) {
  return fmt::format("{:<10}{}", name, one_line(value));
}

}  // namespace

json to_json(process_info const& who) {
  if (who.owner.empty()) return {};
  return {{"owner", who.owner},
          {"host", text_or_null(who.host)},
          {"pid", number_or_null(who.pid)},
          {"program", text_or_null(who.program)},
          {"label", text_or_null(who.label)}};
}

json to_json(std::optional<microseconds> const time) {
  return time ? json(duration_cast<milliseconds>(*time).count()) : json{};
}

json to_json(lock_state const& state) {
  return {{"name", state.name},
          {"kind", to_string(state.kind)},
          {"type", state.type},
          {"holder", to_json(state.holder)},
          {"held_ms", to_json(state.held_for)},
          {"ttl_ms", to_json(in_micros(state.ttl_left))},
          {"token", number_or_null(state.token)},
          {"waiting", state.waiting}};
}

json to_json_with_queue(lock_state const& state) {
  auto all = to_json(state);
  auto queue = json::array();
  for (auto const& waiter : state.queue) {
    auto entry = to_json(waiter.who);
    entry["waited_ms"] = to_json(std::optional{waiter.waited});
    queue.push_back(std::move(entry));
  }
  all["queue"] = std::move(queue);
  return all;
}

std::string one_line_of(json const& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string cell(std::optional<microseconds> const time) {
  return time ? to_string(duration_cast<milliseconds>(*time)) : "-";
}

std::string holder_cell(lock_state const& state) {
  auto const& who = state.holder;
  if (state.kind == lock_kind::foreign) return fmt::format("\"{}\"", shortened(who.owner));
  if (who.owner.empty()) return "-";
  if (who.host.empty() && who.pid == 0) return "unknown";
  return fmt::format("{}:{}", who.host.empty() ? "?" : who.host,
                     who.pid == 0 ? "?" : std::to_string(who.pid));
}

std::string table::header() {
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (auto const& one : columns_) titles.emplace_back(one.title);
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
                {"KIND", 9},
                {"HOLDER", 16},
                {"LABEL", 12},
                {"HELD", 8, right},
                {"TTL", 8, right},
                {"TOKEN", 16, right},
                {"WAITING", 7, right}}};
}

std::vector<std::string> cells_of(lock_state const& state) {
  return {state.name,
          std::string{to_string(state.kind)},
          holder_cell(state),
          state.holder.label.empty() ? "-" : state.holder.label,
          cell(state.held_for),
          cell(in_micros(state.ttl_left)),
          number_or_dash(state.token),
          std::to_string(state.waiting)};
}

std::string holding(lock_state const& state) {
  return one_line(busy_info{.holder = state.holder, .held_for = state.held_for}.to_string());
}

std::string described(lock_state const& state) {
  switch (state.kind) {
    case lock_kind::free:
      return "free: nobody holds it";
    case lock_kind::exclusive:
      return "exclusive: held by a client of Holdfast";
    case lock_kind::foreign:
      return "foreign: a string that Holdfast did not write; another lock library's (redsync, redis-py, "
             "...), or no "
             "lock";
    case lock_kind::other:
      return fmt::format("other: a {}, which is no lock", one_line(state.type));
  }
  return "unknown";
}

std::vector<std::string> page(lock_state const& state) {
  std::vector<std::string> lines{field("name", state.name), field("kind", described(state))};
  if (!state.holder.owner.empty()) {
    bool const ours = state.kind == lock_kind::exclusive;
    if (ours) {
      lines.push_back(
          field("holder", process_info{.host = state.holder.host, .pid = state.holder.pid}.to_string()));
      if (!state.holder.label.empty()) lines.push_back(field("label", state.holder.label));
      if (!state.holder.program.empty()) lines.push_back(field("program", state.holder.program));
    }
    lines.push_back(field(ours ? "owner" : "value", state.holder.owner));
    if (ours) lines.push_back(field("held for", state.held_for ? cell(state.held_for) : "unknown"));
  }
  if (state.kind != lock_kind::free)
    lines.push_back(
        field("ttl left", state.ttl_left ? cell(in_micros(state.ttl_left)) : "for ever: it has no ttl"));
  lines.push_back(field("token", state.token == 0 ? "none given yet" : std::to_string(state.token)));
  lines.push_back(field("waiting", std::to_string(state.waiting)));
  std::size_t place = 0;
  for (auto const& waiter : state.queue) {
    lines.push_back(fmt::format("  {:>3}. waits {:<8} {}", ++place, cell(waiter.waited),
                                one_line(waiter.who.to_string())));
  }
  if (auto const more = state.waiting - static_cast<std::int64_t>(place); more > 0)
    lines.push_back(fmt::format("       and {} more", more));
  return lines;
}

}  // namespace holdfast::cli::listing
