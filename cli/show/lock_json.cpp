#include "show/lock_json.hpp"

#include "common/utc_text.hpp"
#include "show/listing.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace holdfast::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

/// null: unknown.
void set_number(json& object, std::string_view const name, std::optional<std::int64_t> const number) {
  if (number) {
    object.set(name, *number);
  } else {
    object.set(name, json{});
  }
}

/// Whole milliseconds; null: unknown.
template <class Duration>
void set_time(json& object, std::string_view const name, std::optional<Duration> const time) {
  set_number(object, name,
             time ? std::optional{std::int64_t{std::chrono::duration_cast<milliseconds>(*time).count()}}
                  : std::nullopt);
}

/// Also of an owner that has no id, whatever put it into a key.
json owner_json(process_info const& process) {
  json object;
  object.set("owner", process.owner)
      .set_unless_empty("host", process.host)
      .set_unless_zero("pid", process.pid)
      .set_unless_empty("program", process.program)
      .set_unless_empty("label", process.label);
  if (!process.trace.empty()) object.set("trace", process.trace);
  return object;
}

/// null: there is none.
json run_json(run_info const& run, lock_state const& of) {
  auto object = to_json(run.process);
  bool const held = of.holder.owner == run.process.owner;
  object.set_unless_zero("token", run.token);
  object.set("state", run.finished() ? "finished" : (held ? "running" : "died"));
  object.set("began", utc_text(run.began));
  set_time(object, "took_ms", run.took);
  set_number(object, "exit", run.exit_code ? std::optional<std::int64_t>{*run.exit_code} : std::nullopt);
  object.set_unless_empty("counts_until", run.counts_until ? utc_text(*run.counts_until) : std::string{});
  return object;
}

}  // namespace

json to_json(process_info const& process) { return process.owner.empty() ? json{} : owner_json(process); }

json to_json(hold_info const& hold) {
  auto object = owner_json(hold.process);
  object.set("side", to_string(hold.side)).set("count", hold.count);
  set_time(object, "ttl_ms", hold.ttl_left);
  if (!hold.lease.empty()) object.set("lease", hold.lease).set("token", hold.token);
  return object;
}

json to_json(lock_state const& state) {
  auto holders = json::list();
  for (auto const& hold : state.holders) holders.add(to_json(hold));
  json object;
  object.set("name", state.name).set("kind", to_string(state.kind)).set("type", state.type);
  object.set("holder", to_json(state.holder));
  set_time(object, "held_ms", state.held_for);
  set_time(object, "ttl_ms", state.ttl_left);
  object.set_unless_zero("token", state.token).set("waiting", state.waiting);
  object.set("wire", listing::wire_word(state)).set("holding", state.holding);
  object.set("holders", std::move(holders)).set("fair", state.fair);
  set_number(object, "available", state.available);
  set_number(object, "permits", state.permits);
  set_number(object, "generation", state.generation);
  object.set_unless_empty(
      "counts", state.counts == counter_use::unknown ? std::string_view{} : to_string(state.counts));
  object.set_unless_empty("misfit", state.misfit);
  json leads;
  if (state.leads) leads.set("value", state.leads->value).set("term", state.leads->term);
  object.set("leads", std::move(leads));
  return object;
}

json with_queue(lock_state const& state) {
  auto queue = json::list();
  for (auto const& waiter : state.queue) {
    auto entry = owner_json(waiter.process);
    entry.set("side", to_string(waiter.side)).set("preferred", waiter.preferred);
    set_time(entry, "waited_ms", waiter.waited);
    set_time(entry, "credit_ms", waiter.credit_left);
    if (waiter.side == hold_side::permit) entry.set("count", waiter.count);
    if (!waiter.lease.empty()) entry.set("lease", waiter.lease).set("token", waiter.token);
    queue.add(std::move(entry));
  }
  auto object = to_json(state);
  object.set("queue", std::move(queue)).set("waiting_for_condition", state.waiting_for_condition);
  object.set("last_run", state.last_run ? run_json(*state.last_run, state) : json{});
  return object;
}

std::string_view json_word(force_result const result) noexcept {
  switch (result) {
    case force_result::not_held:
      return "not_held";
    case force_result::released_by_holder:
      return "released_by_holder";
    case force_result::deleted:
      return "deleted";
    case force_result::changed:
      return "changed";
    case force_result::refused_foreign:
      return "refused_foreign";
    case force_result::refused_other:
      return "refused_other";
    case force_result::refused_counter:
      return "refused_counter";
    case force_result::expired:
      return "expired";
    case force_result::run_was_over:
      return "run_was_over";
  }
  return "unknown";
}

}  // namespace holdfast::cli
