#include "simulation/judge.hpp"

#include <algorithm>
#include <array>

#include "base/whole_number.hpp"
#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "wire/redisson/permit_id.hpp"

namespace holdfast::simulation {

namespace {

/// A free lock with waiting callers is taken within this time: two re-checks, an outage, and the latency.
constexpr std::chrono::seconds longest_idle{8};

/// How often locks with waiting callers are looked at while no command is executed.
constexpr std::chrono::milliseconds look_again{10};

/// Just before its time is up a caller looks once more; so much for that, and for the latency.
constexpr std::chrono::milliseconds last_look{60};

/// The key has the owner's text, at a single server.
bool has_owner(part const& wanted) {
  auto const& lock = *wanted.lock;
  return wanted.names.size() == 1 && lock.leased() && !lock.voted() && !lock.of_redisson() &&
         !lock.weighted && lock.beside == kind::company::none;
}

bool has(part const& wanted, std::string const& name) {
  return std::ranges::find(wanted.names, name) != wanted.names.end();
}

/// The owner, and not one with a longer number.
bool mentions(std::string const& text, std::string const& owner) {
  for (auto at = text.find(owner); at != std::string::npos; at = text.find(owner, at + 1)) {
    auto const end = at + owner.size();
    if (end == text.size() || text[end] < '0' || text[end] > '9') return true;
  }
  return false;
}

/// An owner, and the value for it where permits have ids.
std::array<std::string, 2> mentions_of(std::string const& owner) {
  return {owner, recipes::redisson::permit_id(owner)};
}

/// Of a sorted set.
bool all_scores_below(memory::sorted_set const* members, double bound) {
  return members != nullptr && std::ranges::all_of(members->in_order(), [bound](auto const& member) {
           return member.first < bound;
         });
}

/// Keys that outlive the locks.
bool outlives(std::string const& key) {
  return key.ends_with("holdfast_token") || key.ends_with("holdfast_permits") ||
         key.ends_with("holdfast_newest_ask") || key.ends_with("holdfast_gave_up") ||
         key.ends_with("holdfast_doubt") || key.starts_with("holdfast_client:") ||
         key.starts_with("redisson_lock_token:") || key.find("holdfast_done") != std::string::npos ||
         key.find("holdfast_seat") != std::string::npos;
}

}  // namespace

void judge::fail(std::string const& text) {
  if (failures_.size() < 5)
    failures_.push_back(std::to_string(world_.now().time_since_epoch().count() / 1000) + " us: " + text);
}

void judge::on_wait(part const& wanted, int amount) {
  auto& entry = waiting_[{queue_name(wanted), wanted.lock, amount}];
  entry.wanted = wanted;
  ++entry.callers;
  if (wanted.lock->permits != 0 && !wanted.lock->weighted)
    counted_.emplace(wanted.names.front(), wanted.lock);
}

void judge::on_answer(part const& wanted, int amount) {
  auto& entry = waiting_[{queue_name(wanted), wanted.lock, amount}];
  if (--entry.callers == 0) entry.free_since = time_point::max();
}

void judge::on_granted(part const& wanted, engine::lease_state_ptr const& lease, std::string const& owner,
                       time_point since, int amount) {
  std::erase_if(holders_, [](holder const& entry) { return !entry.lease->valid(); });
  believed_.insert(owner);
  if (!lease->valid()) return;
  check_company(wanted, owner, amount);
  check_turn(wanted, owner, since);
  check_token(wanted, lease->token(), owner);
  check_replicas(wanted, lease->options(), owner);
  holders_.push_back({.wanted = wanted, .owner = owner, .lease = lease, .amount = amount});
}

void judge::check_company(part const& wanted, std::string const& owner, int amount) {
  for (auto const& name : wanted.names) {
    auto const& lock = wanted.of(name);
    auto const taken = taken_.find(name);
    auto beside = taken == taken_.end() ? 0 : taken->second;
    for (auto const& other : holders_) {
      if (!has(other.wanted, name)) continue;
      beside += other.wanted.amount_of(name, other.amount);
      if (!may_be_beside(lock.beside, other.wanted.of(name).beside))
        fail(owner + " holds \"" + name + "\" beside " + other.owner);
    }
    auto const own = wanted.amount_of(name, amount);
    if (lock.beside == kind::company::permits && beside + own > lock.permits)
      fail(owner + " has " + std::to_string(own) + " permits of \"" + name + "\" beside " +
           std::to_string(beside) + " others");
  }
}

/// A reader that came later isn't let in while a writer waits, whose place is in the queue. Those that join a
/// reader of their process aren't judged, nor those that take over what was let in for another, which
/// replicas didn't acknowledge.
void judge::check_turn(part const& wanted, std::string const& owner, time_point since) {
  if (!wanted.lock->in_turn || !readers_.insert(owner).second || servers_.front()->replicas().any()) return;
  auto const& name = wanted.names.front();
  auto const found = hold_of(servers_, wanted, name, owner);
  if (!found) return;  // check() says so
  auto const queue = names::queue(name);
  auto& data = servers_.front()->data();
  auto const* const waiting = data.members_of(queue);
  if (waiting == nullptr) return;
  for (auto const& [came_at, writer] : waiting->in_order()) {
    auto const reads = writer.ends_with(names::reader_suffix) || writer.ends_with(names::upgrade_suffix);
    if (reads || data.came(queue, writer) > found->came) continue;
    if (time_point{std::chrono::microseconds{static_cast<std::int64_t>(came_at)}} < since)
      fail(owner + " reads \"" + name + "\", before " + std::string{writer} +
           ", which waits since before it came");
  }
}

void judge::check_token(part const& wanted, std::int64_t token, std::string const& owner) {
  for (auto const& name : wanted.names) {
    auto& tokens = tokens_[name];
    auto const newest = tokens.newest();
    if (!tokens.take(wanted.of(name).beside, token))
      fail(owner + " has token " + std::to_string(token) + " of \"" + name + "\", after " +
           std::to_string(newest));
  }
}

void judge::check_replicas(part const& wanted, lock_options const& options, std::string const& owner) {
  auto const& replication = servers_.front()->replicas();
  for (auto const& name : wanted.names) {
    auto const found = hold_of(servers_, wanted, name, owner);
    if (!found) continue;  // check() says so
    auto const replicas = replication.replicas_at(found->came);
    if (replicas < options.replicas)
      fail(owner + " has \"" + name + "\" with " + std::to_string(replicas) + " replicas of " +
           std::to_string(options.replicas));
    if (options.fsynced && !replication.on_disk_at(found->came))
      fail(owner + " has \"" + name + "\", which is not on disk");
  }
}

void judge::on_left(part const& wanted, std::string const& uuid, time_point since) {
  if (!answers_ || !has_owner(wanted)) return;
  note_owner(wanted);
  auto const& [owner, from] = owners_[wanted.names.front()];
  if (owner.starts_with(uuid + ':') && !believed_.contains(owner) &&
      world_.now() - std::max(from, since) > last_look)
    fail("a caller leaves \"" + wanted.names.front() + "\", which " + owner + " was granted for it");
}

void judge::on_release(engine::lease_state_ptr const& lease, std::string const& owner) {
  if (servers_.size() > 1) may_last_[owner] = lease->deadline();
  std::erase_if(holders_, [&](holder const& entry) { return entry.lease == lease; });
}

void judge::on_taken(part const& wanted, int amount) {
  auto const& name = wanted.names.front();
  auto taken = taken_[name] += amount;
  for (auto const& other : holders_) {
    if (other.lease->valid() && has(other.wanted, name)) taken += other.wanted.amount_of(name, other.amount);
  }
  if (taken > wanted.lock->permits) fail(std::to_string(taken) + " permits of \"" + name + "\" are taken");
}

/// While no command is executed, and the deadline is the same, the key lasts longer than the lease.
void judge::check_holder(holder& entry, std::uint64_t executed) {
  auto const deadline = entry.lease->deadline();
  if (!entry.lease->valid() || (entry.executed == executed && entry.deadline == deadline)) return;
  auto as_promised = true;
  for (auto const& name : entry.wanted.names) {
    auto const found = hold_of(servers_, entry.wanted, name, entry.owner);
    as_promised = as_promised && found && deadline <= found->end;
    if (!found)
      fail(entry.owner + " has a valid lease of \"" + name + "\", but the server has \"" +
           contents_of(servers_, name) + '"');
    else if (deadline > found->end)
      fail("the lease of " + entry.owner + " outlives the key \"" + name + '"');
  }
  if (!as_promised) return;
  entry.executed = executed;
  entry.deadline = deadline;
}

void judge::check() {
  std::uint64_t executed = 0;
  for (auto const& each : servers_) executed += each->executed();
  for (auto& entry : holders_) check_holder(entry, executed);
  std::erase_if(kept_, [this](kept_hold const& hold) {
    return hold.until <= world_.now() + std::chrono::milliseconds{1};
  });
  for (auto const& [wanted, owner, until] : kept_) {
    for (auto const& name : wanted.names) {
      auto const found = hold_of(servers_, wanted, name, owner);
      if (!found || found->end <= world_.now())
        fail("the key \"" + name + "\" that " + owner + " has kept is gone too early");
    }
  }
  latches_.check();
  conditions_.check();
  if (!late_copies_) check_waiting(executed);
}

void judge::note_owner(part const& wanted) {
  auto& known = owners_[wanted.names.front()];
  auto const owner = servers_.front()->data().text_of(wanted.names.front());
  if (known.owner != owner) known = {.owner = std::string{owner}, .since = world_.now()};
}

/// What ttls free meanwhile is noticed a little later.
void judge::check_waiting(std::uint64_t executed) {
  if (executed == waiting_executed_ && world_.now() < waiting_due_) return;
  waiting_executed_ = executed;
  waiting_due_ = world_.now() + look_again;
  for (auto& [key, entry] : waiting_) {
    if (answers_ && has_owner(entry.wanted)) note_owner(entry.wanted);
    auto const free =
        entry.callers > 0 && std::ranges::all_of(entry.wanted.names, [&](std::string const& name) {
          return is_free(servers_, entry.wanted, name, key.amount, world_.now());
        });
    if (!free) {
      entry.free_since = time_point::max();
      continue;
    }
    if (entry.free_since == time_point::max()) entry.free_since = world_.now();
    if (world_.now() - entry.free_since > longest_idle) {
      fail(std::to_string(entry.callers) + " wait for \"" + key.queue +
           "\", which has been free for so long");
      entry.free_since = time_point::max();
    }
  }
}

void judge::excuse(std::string const& owner, time_point until) {
  for (auto const& mention : mentions_of(owner)) {
    auto& end = excused_.try_emplace(mention, until).first->second;
    end = std::max(end, until);
  }
}

bool judge::is_excused(server const& at, std::string const& text) const {
  auto const kept = [&](auto const& entry) {
    return entry.second > world_.now() && mentions(text, entry.first);
  };
  auto const untold = [&](auto const& entry) {
    return entry.second < at.trouble_until() && mentions(text, entry.first);
  };
  return std::ranges::any_of(excused_, kept) || std::ranges::any_of(may_last_, untold);
}

void judge::check_end() {
  conditions_.check_end();
  for (auto const& [key, entry] : waiting_) {
    if (entry.callers != 0)
      fail(std::to_string(entry.callers) + " callers of \"" + key.queue + "\" were never answered");
  }
  for (auto const& [name, lock] : counted_) {
    // What is out with an owner is among the keys, and is judged there.
    auto& data = servers_.front()->data();
    auto const left = leading_number(data.text_of(name)) +
                      static_cast<std::int64_t>(data.members_in(names::redisson::permits(name)));
    if (left != lock->permits)
      fail(std::to_string(left) + " permits of \"" + name + "\" are left, of " +
           std::to_string(lock->permits));
  }
}

void judge::check_left_behind(server& at) {
  if (late_copies_) return;
  auto& data = at.data();
  auto const now = std::chrono::duration<double, std::milli>{world_.now().time_since_epoch()}.count();
  for (auto const& key : data.keys()) {
    auto contents = data.contents_of(key);
    if (contents == names::held_by_readers) contents += " of " + data.contents_of(names::readers(key));
    // Permits that have expired are there until somebody asks for one. On the plain wire the weights of their
    // holders have scores behind all times.
    auto const of_permits = contents.find(names::permits_marker) != std::string::npos;
    if (of_permits &&
        at.execute({"ZCOUNT", key, "(" + std::to_string(now), "(8000000000000000"}).integer == 0)
      continue;
    auto const of_barrier = contents.starts_with("holdfast_barrier ");
    if (!outlives(key) && !of_barrier && !counted_.contains(key) &&
        !all_scores_below(data.members_of(key), now) && !is_excused(at, key + ' ' + contents))
      fail("left behind on " + at.host() + ": " + key + " = " + contents);
  }
}

}  // namespace holdfast::simulation
