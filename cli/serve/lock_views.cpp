#include "serve/lock_views.hpp"

#include "common/boot_time.hpp"
#include "common/utc_text.hpp"
#include "show/lock_json.hpp"
#include "show/lock_search.hpp"

#include <holdfast/inspect.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

constexpr std::size_t most_changes = 200;
constexpr std::size_t most_waited_for = 50;  ///< locks whose queues are asked for
constexpr std::size_t most_waiters = 20;     ///< of one queue that become edges
constexpr std::size_t most_blockers = 20;    ///< of one lock that are named
constexpr std::size_t most_processes = 200;
constexpr std::size_t most_names_of_one = 20;  ///< of one process
constexpr std::size_t uuid_size = 36;

json changes_json(deployment const& of, std::string_view const id) {
  auto list = json::list();
  of.with_store([&](lock_store const& store) {
    for (auto const* const each : store.changes_of(id, most_changes)) list.add(to_json(*each));
  });
  return list;
}

json summary_json(lock_times::summary const& of) {
  json object;
  object.set("count", of.count).set("median_ms", of.median.count());
  object.set("high_ms", of.high.count()).set("longest_ms", of.longest.count());
  return object;
}

json minute_json(lock_times::in_minute const& of) {
  json object;
  object.set("at", utc_text(of.begins));
  object.set("holds", summary_json(of.holds)).set("waits", summary_json(of.waits));
  return object;
}

json times_json(deployment const& of, std::string_view const id, lock_store::day_time const now) {
  auto list = json::list();
  of.with_store([&](lock_store const& store) {
    for (auto const& each : store.times().of(id, now)) list.add(minute_json(each));
  });
  return list;
}

/// What this process has seen of a lock, until now.
void add_history(json& to, deployment const& of, std::string_view const id) {
  auto const now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  to.set("at", utc_text(now)).set("changes", changes_json(of, id)).set("times", times_json(of, id, now));
}

/// A visitor may ask about any name, and needn't have the right to read keys: what is in one that is no lock,
/// as far as anybody knows, stays there.
void hide_value(deployment const& of, lock_on_wires& found) {
  if (of.with_store([&](lock_store const& store) { return store.knows(found.plain.name); })) return;
  if (found.plain.kind == lock_kind::foreign) found.plain.holder = {};
  // Any text of digits is the same as a semaphore or latch of Redisson's.
  auto& other = found.redisson;
  if (other.kind == lock_kind::counter && other.waiting == 0) other.available.reset();
}

json described(deployment const& of, lock_state const& lock) {
  auto const id = lock_id(of.url(), lock.wire, lock.name);
  json object;
  object.set("id", id).set("deployment", of.id()).set_all(with_queue(lock));
  return object;
}

std::string known_json(deployment const& of, std::string const& name, std::string_view const problem) {
  json object;
  std::string id;
  of.with_store([&](lock_store const& store) {
    auto const* found = store.find(name, wire::plain);
    if (found == nullptr) found = store.find(name, wire::redisson);
    if (found == nullptr) return;
    id = found->id;
    object = to_json(*found, of.id(), boot_time());
  });
  if (id.empty()) object.set("name", name);
  object.set("error", problem);
  add_history(object, of, id);
  return object.line();
}

/// The queue of one lock, as edges.
void add_edges(deployment const& of, lock_state const& lock, json& to) {
  auto const id = lock_id(of.url(), lock.wire, lock.name);
  auto const count = std::min(lock.queue.size(), most_waiters);
  for (std::size_t i = 0; i != count; ++i) {
    auto const& waiter = lock.queue[i];
    json edge;
    edge.set("id", id).set("name", beginning_of(lock.name)).set("waiter", to_json(waiter.process));
    edge.set("holder", to_json(lock.holder)).set("side", to_string(waiter.side));
    edge.set("preferred", waiter.preferred);
    if (waiter.waited) {
      edge.set("waited_ms", std::chrono::duration_cast<std::chrono::milliseconds>(*waiter.waited).count());
    } else {
      edge.set("waited_ms", json{});
    }
    to.add(std::move(edge));
  }
}

/// Who holds a lock that is waited for: several readers, or those that have permits.
json blockers_json(deployment const& of, lock_state const& lock) {
  auto holders = json::list();
  std::size_t count = 0;
  for (auto const& hold : lock.holders) {
    if (hold.process.owner.empty() || count == most_blockers) continue;
    holders.add(to_json(hold.process));
    ++count;
  }
  if (lock.holders.empty() && !lock.holder.owner.empty())
    holders.add(to_json(lock.holder));  // of another library
  json object;
  object.set("id", lock_id(of.url(), lock.wire, lock.name)).set("kind", to_string(lock.kind));
  object.set("holding", lock.holding).set("holders", std::move(holders));
  return object;
}

/// One process that holds locks; of another library's, whatever it wrote into the key.
struct holding_process {
  process_info process{};
  std::size_t holds = 0;
  std::vector<std::pair<std::string, std::string>> locks{};  ///< id and name of some
};

}  // namespace

std::string list_json(deployment const& of, lock_filter const& filter, std::size_t const skipped,
                      std::size_t const at_most) {
  auto locks = json::list();
  std::size_t count = 0;
  of.with_store([&](lock_store const& store) {
    auto const now = boot_time();
    auto const [some, all] = chosen_locks(store, filter, skipped, at_most);
    count = all;
    for (auto const* const each : some) locks.add(to_json(*each, of.id(), now));
  });
  return json{}.set("deployment", of.id()).set("count", count).set("locks", std::move(locks)).line();
}

std::string lock_json(deployment const& of, client& redis, std::string const& name) {
  try {
    auto found = inspect_on_wires(redis, name);
    hide_value(of, found);
    auto const shown = shown_of(found, "all");
    auto object = described(of, *shown[0]);
    object.set("other_wire", shown.size() > 1 ? described(of, *shown[1]) : json{});
    object.set_unless_empty("warning", shown.size() > 1 ? on_both_wires(name) : std::string{});
    add_history(object, of, lock_id(of.url(), shown[0]->wire, shown[0]->name));
    return object.line();
  } catch (error const& problem) {
    return known_json(of, name, problem.what());
  }
}

std::string blocking_json(deployment const& of, client& redis) {
  std::vector<std::string> names;
  std::size_t count = 0;
  of.with_store([&](lock_store const& store) {
    auto const [some, all] = chosen_locks(store, {.waited_for = true}, 0, most_waited_for);
    count = all;
    names.reserve(some.size());
    for (auto const* const each : some) names.push_back(each->state.name);
  });
  auto edges = json::list();
  auto locks = json::list();
  for (auto const& name : names) {
    auto const found = inspect_on_wires(redis, name);
    for (auto const* const lock : shown_of(found, "all")) {
      add_edges(of, *lock, edges);
      locks.add(blockers_json(of, *lock));
    }
  }
  json object;
  object.set("deployment", of.id()).set("waited_for", count).set("asked", names.size());
  return object.set("edges", std::move(edges)).set("locks", std::move(locks)).line();
}

std::string processes_json(deployment const& of) {
  std::map<std::string, holding_process, std::less<>> all;
  of.with_store([&](lock_store const& store) {
    for (auto const& [id, each] : store.all()) {
      for (auto const& hold : each.state.holders) {
        if (hold.process.owner.empty()) continue;  // whatever somebody wrote into the key
        auto& seen = all[hold.process.owner.substr(0, uuid_size)];
        if (seen.process.owner.empty() || seen.process.host.empty()) seen.process = hold.process;
        ++seen.holds;
        if (seen.locks.size() < most_names_of_one)
          seen.locks.emplace_back(each.id, beginning_of(each.state.name));
      }
    }
  });
  std::vector<holding_process const*> sorted;
  sorted.reserve(all.size());
  for (auto const& [client, seen] : all) sorted.push_back(&seen);
  std::ranges::sort(sorted, [](auto const* a, auto const* b) {
    return std::pair{b->holds, a->process.owner} < std::pair{a->holds, b->process.owner};
  });
  auto list = json::list();
  for (std::size_t i = 0; i != std::min(sorted.size(), most_processes); ++i) {
    auto locks = json::list();
    for (auto const& [id, name] : sorted[i]->locks)
      locks.add(std::move(json{}.set("id", id).set("name", name)));
    json object;
    object.set("process", to_json(sorted[i]->process)).set("holds", sorted[i]->holds);
    list.add(std::move(object.set("locks", std::move(locks))));
  }
  return json{}
      .set("deployment", of.id())
      .set("count", sorted.size())
      .set("processes", std::move(list))
      .line();
}

}  // namespace holdfast::cli
