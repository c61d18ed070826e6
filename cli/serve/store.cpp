#include "serve/store.hpp"

#include "common/utc_text.hpp"
#include "show/lock_json.hpp"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <functional>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

std::size_t bytes_of(process_info const& process) {
  return process.owner.size() + process.host.size() + process.program.size() + process.label.size() +
         process.trace.size();
}

std::size_t bytes_of(lock_state const& lock) {
  auto bytes = sizeof(lock_store::entry) + 2 * lock.name.size() + bytes_of(lock.holder) + lock.misfit.size();
  if (lock.leads) bytes += lock.leads->value.size();
  for (auto const& hold : lock.holders) bytes += sizeof hold + bytes_of(hold.process);
  return bytes + lock.queue.size() * sizeof(lock_store::waiter);
}

std::string words_of(process_info const& process) {
  constexpr std::size_t enough = 256;
  return process.owner.empty() ? std::string{} : process.to_string().substr(0, enough);
}

std::size_t hash_of(process_info const& process) { return std::hash<std::string>{}(process.owner); }

std::vector<lock_store::waiter> waiters_of(lock_state const& lock, lock_store::time const now) {
  std::vector<lock_store::waiter> waiters;
  waiters.reserve(lock.queue.size());
  for (auto const& each : lock.queue) {
    if (each.waited) waiters.push_back({hash_of(each.process), now - *each.waited});
  }
  return waiters;
}

bool ends_hold(happening const kind) {
  return kind == happening::released || kind == happening::expired || kind == happening::handed_over ||
         kind == happening::passed_on;
}

bool is_grant(happening const kind) {
  return kind == happening::acquired || kind == happening::handed_over || kind == happening::passed_on ||
         kind == happening::held_meanwhile || kind == happening::joined;
}

bool same_traces(lock_state const& one, lock_state const& other) {
  auto const trace = [](hold_info const& each) -> std::string const& { return each.process.trace; };
  return one.holder.trace == other.holder.trace &&
         std::ranges::equal(one.holders, other.holders, {}, trace, trace);
}

}  // namespace

std::string_view beginning_of(std::string_view const name) { return name.substr(0, 1'024); }

std::string lock_id(std::string_view const deployment, wire const of, std::string_view const name) {
  auto const text = fmt::format("{} {} {}", deployment, of == wire::redisson ? "redisson" : "plain", name);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<unsigned char const*>(text.data()), text.size(), digest.data());
  std::string id;
  id.reserve(32);
  for (std::size_t i = 0; i != 16; ++i) id += fmt::format("{:02x}", digest[i]);
  return id;
}

std::chrono::milliseconds long_hold_rules::of(std::string_view const name) const {
  auto limit = otherwise;
  std::size_t longest = 0;
  for (auto const& [prefix, of_prefix] : by_prefix) {
    if (prefix.size() <= longest || !name.starts_with(prefix)) continue;
    longest = prefix.size();
    limit = of_prefix;
  }
  return limit;
}

lock_store::lock_store(std::string deployment, store_limits limits)
    : deployment_{std::move(deployment)}, limits_{std::move(limits)}, counted_(1) {
  for (auto const& prefix : limits_.prefixes) counted_.push_back({.prefix = prefix});
}

std::size_t lock_store::group_of(std::string_view const name) const {
  std::size_t best = 0;
  for (std::size_t i = 1; i != counted_.size(); ++i) {
    auto const& prefix = counted_[i].prefix;
    if (name.starts_with(prefix) && prefix.size() > counted_[best].prefix.size()) best = i;
  }
  return best;
}

bool lock_store::note_changes(entry const& before, lock_state const& now, time const passed,
                              day_time const at) {
  bool any = false;
  for (auto const& each : cli::changes(before.state, now, passed)) {
    any = true;
    auto& group = counted_[group_of(now.name)];
    if (is_grant(each.kind)) ++group.grants;
    if (each.kind == happening::expired) ++group.losses;
    if (each.kind == happening::waiting || each.kind == happening::identified) continue;
    bool const of_several = each.kind == happening::joined || each.kind == happening::left;
    change record{.id = before.id,
                  .name = std::string{beginning_of(now.name)},
                  .kind = each.kind,
                  .at = at,
                  .token = now.token,
                  .waiting = now.waiting};
    record.holder = words_of(of_several ? each.hold.process : now.holder);
    record.owner = of_several ? each.hold.process.owner : now.holder.owner;
    record.before = words_of(each.before);
    if (before.state.held_for && each.kind != happening::joined) {
      record.held_ms =
          std::chrono::duration_cast<std::chrono::milliseconds>(*before.state.held_for + passed).count();
      if (ends_hold(each.kind))
        times_.add(before.id, lasting::hold, std::chrono::milliseconds{*record.held_ms}, at);
    }
    changes_.push_back(std::move(record));
    ++change_count_;
    if (changes_.size() > limits_.changes) changes_.pop_front();
  }
  return any;
}

/// Of those that were in the queue and have it now. Whoever was never seen to wait isn't counted.
void lock_store::note_waits(entry const& before, lock_state const& lock, time const now, day_time const at) {
  if (before.waiters.empty()) return;
  for (auto const& hold : lock.holders) {
    auto const had_it = [&hold](hold_info const& each) { return each.process.owner == hold.process.owner; };
    auto const waited = std::ranges::find(before.waiters, hash_of(hold.process), &waiter::owner);
    if (waited == before.waiters.end() || std::ranges::any_of(before.state.holders, had_it)) continue;
    auto const granted = now - lock.held_for.value_or(0us);
    times_.add(before.id, lasting::wait,
               std::chrono::duration_cast<std::chrono::milliseconds>(granted - waited->since), at);
  }
}

bool lock_store::saw(lock_state const& lock, time const now, day_time const at) {
  bool const busy = in_use(lock);
  auto const named = by_name_.find(lock.name);
  auto* known = named == by_name_.end() ? nullptr : named->second.of(lock.wire);
  bool const is_new = known == nullptr;
  if (is_new && !busy) return false;
  auto const bytes = bytes_of(lock);
  auto const before = is_new ? 0 : known->bytes;
  if ((is_new && entries_.size() >= limits_.locks) || bytes_ - before + bytes > limits_.bytes) {
    ++left_out_;
    if (!is_new) forget(*known);  // nothing is better than what it was
    return false;
  }
  bool changed = is_new;
  if (is_new) {
    auto const id = lock_id(deployment_, lock.wire, lock.name);
    known = &entries_.emplace(id, entry{.id = id, .busy = now}).first->second;
    by_name_[lock.name].of(lock.wire) = known;
  } else {
    changed = note_changes(*known, lock, now - known->seen, at);
    // A leader publishes that it leads behind its grant, and a holder says its trace half a second later.
    changed = changed || known->state.leads.has_value() != lock.leads.has_value() ||
              !same_traces(known->state, lock);
    note_waits(*known, lock, now, at);
  }
  auto& record = *known;
  if (lock.waiting == 0) {
    record.waited_for = 0ns;
  } else if (record.waited_for == 0ns) {
    record.waited_for = now;
  }
  record.waiters = waiters_of(lock, now);
  record.state = lock;
  record.state.queue.clear();
  record.seen = now;
  if (busy) record.busy = now;
  record.bytes = bytes;
  bytes_ += bytes - before;
  return changed;
}

void lock_store::still(std::string const& name, bool const busy,
                       std::optional<std::chrono::milliseconds> const ttl, time const now) {
  auto const named = by_name_.find(name);
  if (named == by_name_.end()) return;
  for (auto* const record : {named->second.plain, named->second.redisson}) {
    if (record == nullptr) continue;
    auto& state = record->state;
    if (state.held_for) *state.held_for += std::chrono::floor<std::chrono::microseconds>(now - record->seen);
    // The key of a latch stays longer than its time.
    if (ttl && state.kind != lock_kind::latch && state.kind != lock_kind::free) {
      state.ttl_left = *ttl < 0ms ? std::nullopt : ttl;
    } else if (state.ttl_left) {
      auto const left = *state.ttl_left - std::chrono::floor<std::chrono::milliseconds>(now - record->seen);
      state.ttl_left = std::max(left, 0ms);
    }
    if (state.holders.size() == 1 && state.holders.front().ttl_left)
      state.holders.front().ttl_left = state.ttl_left;
    record->seen = now;
    if (busy) record->busy = now;
  }
}

void lock_store::forget(entry const& gone) {
  bytes_ -= gone.bytes;
  if (auto const named = by_name_.find(gone.state.name); named != by_name_.end()) {
    named->second.of(gone.state.wire) = nullptr;
    if (named->second.plain == nullptr && named->second.redisson == nullptr) by_name_.erase(named);
  }
  entries_.erase(entries_.find(gone.id));
}

std::vector<std::string> lock_store::forget_idle(time const limit) {
  std::vector<std::string> gone;
  for (auto const& [id, each] : entries_) {
    if (each.busy < limit) gone.push_back(id);
  }
  for (auto const& id : gone) forget(entries_.at(id));
  return gone;
}

lock_store::entry const* lock_store::find(std::string_view const id) const {
  auto const found = entries_.find(std::string{id});
  return found == entries_.end() ? nullptr : &found->second;
}

lock_store::entry const* lock_store::find(std::string const& name, wire const of) const {
  auto const named = by_name_.find(name);
  if (named == by_name_.end()) return nullptr;
  return of == wire::redisson ? named->second.redisson : named->second.plain;
}

std::vector<std::string> lock_store::names() const {
  std::vector<std::string> all;
  all.reserve(by_name_.size());
  for (auto const& [name, known] : by_name_) all.push_back(name);
  return all;
}

std::vector<lock_store::change const*> lock_store::changes_of(std::string_view const id,
                                                              std::size_t const at_most) const {
  std::vector<change const*> some;
  for (auto each = changes_.rbegin(); each != changes_.rend() && some.size() < at_most; ++each) {
    if (each->id == id) some.push_back(&*each);
  }
  return some;
}

std::vector<lock_store::totals> lock_store::count(time const now, long_hold_rules const& long_hold) const {
  auto all = counted_;
  for (auto const& [id, each] : entries_) {
    auto& group = all[group_of(each.state.name)];
    if (each.state.kind != lock_kind::free) ++group.held;
    if (each.state.waiting > 0) ++group.waited_for;
    group.waiting += each.state.waiting;
    if (each.state.held_for && *each.state.held_for + (now - each.seen) > long_hold.of(each.state.name))
      ++group.long_holds;
    if (each.waited_for != 0ns) {
      group.longest_wait = std::max(
          group.longest_wait, std::chrono::duration_cast<std::chrono::milliseconds>(now - each.waited_for));
    }
  }
  return all;
}

json to_json(lock_store::entry const& of, std::string_view const deployment, lock_store::time const now) {
  auto state = of.state;
  state.name = beginning_of(of.state.name);
  auto const age = std::max(now - of.seen, 0ns);
  auto const shorter = [age](std::optional<std::chrono::milliseconds>& left) {
    if (left) left = std::max(*left - std::chrono::floor<std::chrono::milliseconds>(age), 0ms);
  };
  if (state.held_for) *state.held_for += std::chrono::floor<std::chrono::microseconds>(age);
  shorter(state.ttl_left);
  for (auto& hold : state.holders) shorter(hold.ttl_left);
  json object;
  object.set("id", of.id).set("deployment", deployment);
  object.set("seen_ms", std::chrono::duration_cast<std::chrono::milliseconds>(age).count());
  object.set_all(to_json(state));
  return object;
}

json to_json(lock_store::change const& of) {
  json object;
  object.set("id", of.id).set("name", of.name).set("event", to_string(of.kind)).set("at", utc_text(of.at));
  object.set_unless_empty("holder", of.holder).set_unless_empty("before", of.before);
  object.set_unless_empty("owner", of.owner).set_unless_zero("token", of.token).set("waiting", of.waiting);
  if (of.held_ms) {
    object.set("held_ms", *of.held_ms);
  } else {
    object.set("held_ms", json{});
  }
  return object;
}

}  // namespace holdfast::cli
