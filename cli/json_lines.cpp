#include "json_lines.hpp"

#include "doctor_checks.hpp"
#include "listing.hpp"
#include "top_model.hpp"
#include "watch_events.hpp"

#include "base/printable.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::cli::json_line {
namespace {

using json = nlohmann::ordered_json;
using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Serializes a value. Characters that affect a terminal become \uNNNN, which means the same, so that the
/// line is safe to display.
std::string line_of(json const& value) {
  auto const all = value.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string line;
  line.reserve(all.size());
  for (std::string_view rest{all}; !rest.empty();) {
    auto const [size, code] = detail::first_of(rest);
    auto const bytes = std::max<std::size_t>(size, 1);
    if (size != 0 && detail::has_effects(code)) {
      line += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
    } else {
      line += rest.substr(0, bytes);
    }
    rest.remove_prefix(bytes);
  }
  return line;
}

json text_or_null(std::string const& text) { return text.empty() ? json{} : json(text); }
json number_or_null(std::int64_t number) { return number == 0 ? json{} : json(number); }

json number_or_null(std::optional<std::int64_t> number) { return number ? json(*number) : json{}; }

json to_json(std::optional<milliseconds> const time) {
  return number_or_null(time ? std::optional{time->count()} : std::nullopt);
}

/// Whole milliseconds; null: unknown.
json to_json(std::optional<microseconds> const time) {
  return time ? json(std::chrono::duration_cast<milliseconds>(*time).count()) : json{};
}

/// null: no process
json to_json(process_info const& process) {
  if (process.owner.empty()) return {};
  return {{"owner", process.owner},
          {"host", text_or_null(process.host)},
          {"pid", number_or_null(process.pid)},
          {"program", text_or_null(process.program)},
          {"label", text_or_null(process.label)}};
}

json to_json(hold_info const& hold) {
  auto object = to_json(hold.who);
  object["side"] = to_string(hold.side);
  object["count"] = hold.count;
  object["ttl_ms"] = to_json(hold.ttl_left);
  return object;
}

json to_json(lock_state const& state) {
  auto holders = json::array();
  for (auto const& hold : state.holders) holders.push_back(to_json(hold));
  return {{"name", state.name},
          {"kind", to_string(state.kind)},
          {"type", state.type},
          {"holder", to_json(state.holder)},
          {"held_ms", to_json(state.held_for)},
          {"ttl_ms", to_json(state.ttl_left)},
          {"token", number_or_null(state.token)},
          {"waiting", state.waiting},
          {"wire", listing::wire_word(state)},
          {"holding", state.holding},
          {"holders", std::move(holders)},
          {"fair", state.fair},
          {"available", number_or_null(state.available)},
          {"permits", number_or_null(state.permits)},
          {"counts", state.counts == counter_use::unknown ? json{} : json(to_string(state.counts))},
          {"misfit", text_or_null(state.misfit)}};
}

json with_queue(lock_state const& state) {
  auto all = to_json(state);
  auto queue = json::array();
  for (auto const& waiter : state.queue) {
    auto entry = to_json(waiter.who);
    entry["waited_ms"] = to_json(waiter.waited);
    entry["credit_ms"] = to_json(waiter.credit_left);
    queue.push_back(std::move(entry));
  }
  all["queue"] = std::move(queue);
  return all;
}

json to_json(finding const& found) {
  return {{"check", found.check},   {"severity", to_string(found.level)},
          {"found", found.found},   {"why", found.why},
          {"advice", found.advice}, {"servers", found.servers}};
}

}  // namespace

std::string of_lock(lock_state const& state) { return line_of(to_json(state)); }

std::string of_lock_and_queue(lock_state const& state, lock_state const* const other,
                              std::string_view const warning) {
  auto all = with_queue(state);
  all["other_wire"] = other == nullptr ? json{} : with_queue(*other);
  all["warning"] = text_or_null(std::string{warning});
  return line_of(all);
}

std::string of_top(std::string_view const server, std::vector<top_row> const& rows) {
  auto locks = json::array();
  for (auto const& row : rows) {
    auto lock = to_json(row.lock);
    lock["acquired_per_s"] = row.rate;
    locks.push_back(std::move(lock));
  }
  return line_of({{"server", server}, {"locks", std::move(locks)}});
}

std::string of_event(event const& happened, std::string_view const timestamp, lock_state const& now) {
  json all{{"event", to_string(happened.kind)}, {"at", timestamp}};
  all.update(to_json(now));
  all["before"] = to_json(happened.before);
  all["who"] = to_json(happened.hold.who);
  return line_of(all);
}

std::string of_unreachable(std::string_view const timestamp, std::string_view const name,
                           std::string_view const error) {
  return line_of({{"event", "unreachable"}, {"at", timestamp}, {"name", name}, {"error", error}});
}

std::string of_release(lock_state const& seen, std::string_view const result) {
  return line_of({{"name", seen.name}, {"result", result}, {"holder", to_json(seen.holder)}});
}

std::string of_findings(std::string_view const server, severity_counts const& counts,
                        std::vector<finding> const& findings) {
  json by_severity;
  for (auto const& [level, count] : counts) by_severity[to_string(level)] = count;
  auto list = json::array();
  for (auto const& found : findings) list.push_back(to_json(found));
  return line_of({{"server", server}, {"counts", by_severity}, {"findings", list}});
}

}  // namespace holdfast::cli::json_line
