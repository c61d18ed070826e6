// A lock in words: the page about one lock, and the sentences of messages.
#include "common/duration.hpp"
#include "common/output.hpp"
#include "show/listing.hpp"
#include "show/run_text.hpp"

#include <fmt/format.h>

namespace holdfast::cli::listing {
namespace {

using output::one_line;
using lines = std::vector<std::string>;

std::string field(std::string_view name, std::string_view value) {
  return fmt::format("{:<9} {}", name, one_line(value));
}

bool is_known(process_info const& process) { return !process.host.empty() || process.pid != 0; }

/// The holder without its owner id, which has its own field.
std::string holder_of(lock_state const& state) {
  if (is_known(state.holder))
    return process_info{.host = state.holder.host, .pid = state.holder.pid}.to_string();
  return state.wire == wire::redisson ? "unknown: Java, or a client of Holdfast without a record" : "unknown";
}

std::string times(std::int64_t count) {
  return fmt::format(
      "{} times: after so many unlocks it is free; `holdfast release --force` frees it at once", count);
}

void add_only_holder(lock_state const& state, lines& to) {
  if (state.holder.owner.empty()) return;
  if (state.kind == lock_kind::foreign && !state.on_etcd) {
    to.push_back(field("value", state.holder.owner));
    return;
  }
  to.push_back(field("holder", holder_of(state)));
  if (!state.holder.label.empty()) to.push_back(field("label", state.holder.label));
  if (!state.holder.program.empty()) to.push_back(field("program", state.holder.program));
  to.push_back(field("owner", state.holder.owner));
  if (!state.holders.empty() && !state.holders.front().lease.empty())
    to.push_back(field("lease", state.holders.front().lease));
  if (state.leads) {
    to.push_back(field("leads as", state.leads->value));
    to.push_back(field("term", std::to_string(state.leads->term)));
  }
  if (state.wire == wire::plain && !state.on_etcd)
    to.push_back(field("held for", state.held_for ? cell(state.held_for) : "unknown"));
  if (auto const count = state.holders.empty() ? 1 : state.holders.front().count; count > 1)
    to.push_back(field("held", times(count)));
}

std::string_view doing(hold_side side) {
  switch (side) {
    case hold_side::read:
      return "reads";
    case hold_side::write:
      return "writes";
    case hold_side::upgrade:
      return "upgrade";
    case hold_side::permit:
      return "permit";
    case hold_side::arrived:
      return "there";
    case hold_side::exclusive:
      break;
  }
  return "holds";
}

/// On etcd nobody knows since when it waits.
std::string place_on_etcd(waiter_info const& waiter) {
  return fmt::format("token {}, lease {}{}", waiter.token, waiter.lease,
                     waiter.credit_left ? ", dead in " + cell(waiter.credit_left) : std::string{});
}

/// What a waiter waits for, if that isn't the whole lock, and whether it goes first.
std::string wish_of(waiter_info const& waiter) {
  switch (waiter.side) {
    case hold_side::read:
      return waiter.preferred ? ", to read, first by its policy" : ", to read";
    case hold_side::upgrade:
      return ", for the upgrade lease";
    case hold_side::write:
      return ", to upgrade its lease";
    case hold_side::permit:
      return waiter.count > 1 ? fmt::format(", for {} permits", waiter.count) : std::string{};
    case hold_side::exclusive:
      return waiter.preferred ? ", first by its policy" : std::string{};
    case hold_side::arrived:
      break;
  }
  return {};
}

void add_more(std::int64_t more, lines& to) {
  if (more > 0) to.push_back(fmt::format("       and {} more", more));
}

bool has_members(lock_state const& state) {
  return state.kind == lock_kind::latch || state.kind == lock_kind::barrier;
}

/// The participants that have counted a latch down, or arrived at a barrier, and for how long that counts.
void add_members(lock_state const& state, lines& to) {
  bool const latch = state.kind == lock_kind::latch;
  to.push_back(field(latch ? "counted" : "arrived", std::to_string(state.holding)));
  std::size_t place = 0;
  for (auto const& hold : state.holders) {
    auto const& process = hold.process;
    to.push_back(fmt::format("  {:>3}. {}{}", ++place,
                             one_line(latch && process.host.empty() ? process.owner : process.to_string()),
                             hold.ttl_left ? ", for " + cell(hold.ttl_left) : ""));
  }
  add_more(state.holding - static_cast<std::int64_t>(place), to);
}

void add_holders(lock_state const& state, lines& to) {
  to.push_back(field("holders", std::to_string(state.holding)));
  std::size_t place = 0;
  for (auto const& hold : state.holders) {
    bool const has_permits = hold.side == hold_side::permit;
    auto const holder =
        has_permits && state.wire == wire::redisson ? hold.process.owner : hold.process.to_string();
    auto const count =
        has_permits ? fmt::format(", {} permits", hold.count) : fmt::format(", held {} times", hold.count);
    to.push_back(fmt::format("  {:>3}. {}, {:<8} {}{}", ++place, doing(hold.side),
                             hold.ttl_left ? cell(hold.ttl_left) : "for ever", one_line(holder),
                             hold.count > 1 ? count : ""));
  }
  add_more(state.holding - static_cast<std::int64_t>(place), to);
}

void add_queue(lock_state const& state, lines& to) {
  to.push_back(field("waiting", std::to_string(state.waiting)));
  if (state.queue.empty() && state.wire == wire::redisson) return;  // no queue: the waiters are unknown
  std::size_t place = 0;
  for (auto const& waiter : state.queue) {
    if (state.on_etcd) {
      to.push_back(fmt::format("  {:>3}. {}, {}", ++place, one_line(waiter.process.to_string()),
                               place_on_etcd(waiter)));
      continue;
    }
    to.push_back(waiter.waited || state.wire == wire::plain
                     ? fmt::format("  {:>3}. waits {:<8} {}{}", ++place, cell(waiter.waited),
                                   one_line(waiter.process.to_string()), wish_of(waiter))
                     : fmt::format("  {:>3}. {:<14} {}", ++place,
                                   waiter.credit_left ? "dead in " + cell(waiter.credit_left) : "for ever",
                                   one_line(waiter.process.to_string())));
  }
  add_more(state.waiting - static_cast<std::int64_t>(place), to);
}

/// What became of the last run, who ran, and what it means for others.
void add_last_run(lock_state const& state, lines& to) {
  auto const& run = *state.last_run;
  bool const held = state.holder.owner == run.process.owner;
  auto const story =
      run_text::story(run, held ? run_text::lock_is::held : run_text::lock_is::gone, state.seen);
  to.push_back(field("last run", story));
  to.push_back(field("run by", run.process.to_string()));
  if (kept_until(state)) {
    to.push_back(field("done", run_text::kept(state)));
  } else if (run.counts_until > state.seen) {
    to.push_back(field("counts", "until " + run_text::clock(*run.counts_until, state.seen)));
  }
}

std::string ttl_text(lock_state const& state) {
  if (state.ttl_left) return cell(state.ttl_left);
  if (lasts(state)) return "for ever: until somebody gives back the permits without a lease";
  return state.on_etcd ? "unknown" : "for ever: it has no ttl";
}

std::string of_mutex(lock_state const& state) {
  return fmt::format("reentrant: a {}lock on Redisson's wire{}", state.fair ? "fair " : "",
                     state.token != 0 ? ", with tokens" : "");
}

std::string of_counter(lock_state const& state) {
  switch (state.counts) {
    case counter_use::permits:
      return "counter: what is left of a semaphore";
    case counter_use::latch:
      return "counter: what a latch waits for";
    case counter_use::unknown:
      break;
  }
  return "counter: a number; what is left of a semaphore, the count of a latch, or something else's";
}

}  // namespace

std::string holding(lock_state const& state) {
  auto const holder = one_line(state.holder.to_string());
  auto const more = state.holding > 1 ? fmt::format(" and {} more", state.holding - 1) : std::string{};
  switch (state.kind) {
    case lock_kind::read_write:
      return (state.holders.front().side == hold_side::write ? "written by " : "read by ") + holder + more;
    case lock_kind::permits:
      return "permits: " + numbers(state) + (state.holder.pid == 0 ? std::string{} : ", by " + holder + more);
    case lock_kind::counter:
      return "counter: " + numbers(state);
    case lock_kind::latch:
      return "latch: " + numbers(state);
    case lock_kind::barrier:
      return "barrier: " + numbers(state);
    default:
      break;
  }
  auto const count = state.holders.empty() ? 1 : state.holders.front().count;
  return one_line(busy_info{.holder = state.holder, .held_for = state.held_for}.to_string()) +
         (count > 1 ? fmt::format(", {} times", count) : "");
}

std::string described(lock_state const& state) {
  switch (state.kind) {
    case lock_kind::free:
      return state.type == "none" ? "free: nobody holds it"
                                  : fmt::format(
                                        "free: nobody holds it on this wire; the key is the other "
                                        "one's, a {}",
                                        one_line(state.type));
    case lock_kind::exclusive:
      return state.leads ? "election: led by a client of Holdfast"
                         : "exclusive: held by a client of Holdfast";
    case lock_kind::foreign:
      if (state.on_etcd)
        return state.leads ? "election: led, in the format of Go's concurrency.Election (etcdctl elect, "
                             "holdfast lead)"
                           : "foreign: held by another program (etcdctl lock, Go's concurrency.Mutex)";
      return "foreign: a string that Holdfast did not write; another lock library's (redsync, redis-py, "
             "...), or no "
             "lock";
    case lock_kind::other:
      if (state.on_etcd) return "other: a key that is no place of a lock is in the way";
      return fmt::format("other: a {}, which is not a lock", one_line(state.type));
    case lock_kind::reentrant:
      return of_mutex(state);
    case lock_kind::read_write:
      return fmt::format("read_write: {}",
                         state.holders.front().side == hold_side::write ? "somebody writes" : "readers only");
    case lock_kind::permits:
      return state.wire == wire::redisson ? "permits: a semaphore whose permits expire"
                                          : "permits: a semaphore";
    case lock_kind::counter:
      return of_counter(state);
    case lock_kind::latch:
      return "latch: closed until it is counted down";
    case lock_kind::barrier:
      return "barrier: its generation waits for all";
  }
  return "unknown";
}

std::vector<std::string> page(lock_state const& state) {
  lines all{field("name", state.name), field("wire", wire_word(state)), field("kind", described(state))};
  if (!state.misfit.empty()) all.push_back(field("misfit", state.misfit));
  if (state.available) all.push_back(field("left", std::to_string(*state.available)));
  if (state.permits)
    all.push_back(field(has_members(state) ? "of" : "permits", std::to_string(*state.permits)));
  if (state.generation) all.push_back(field("generation", std::to_string(*state.generation)));
  if (has_members(state)) {
    add_members(state, all);
  } else if (state.kind == lock_kind::read_write || state.kind == lock_kind::permits) {
    add_holders(state, all);
  } else {
    add_only_holder(state, all);
  }
  bool const strange = state.on_etcd && state.kind == lock_kind::other;
  if (state.kind != lock_kind::free && state.type != "none" && !strange)
    all.push_back(field("ttl left", ttl_text(state)));
  bool const of_holder = state.on_etcd && state.token == 0;
  if (of_holder) all.push_back(field("token", "none: on etcd it is the holder's"));
  if (!of_holder && (state.wire == wire::plain || state.token != 0))
    all.push_back(field("token", state.token == 0 ? "none given yet" : std::to_string(state.token)));
  if (state.last_run) add_last_run(state, all);
  add_queue(state, all);
  if (state.waiting_for_condition > 0)
    all.push_back(field("condition", fmt::format("{} wait for it", state.waiting_for_condition)));
  return all;
}

}  // namespace holdfast::cli::listing
