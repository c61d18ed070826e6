#include "engine/deadlock/deadlocks.hpp"

#include <algorithm>
#include <atomic>
#include <holdfast/deadlock.hpp>
#include <new>
#include <optional>
#include <utility>

#include "engine/failure.hpp"
#include "engine/presence.hpp"
#include "engine/record.hpp"
#include "script/names.hpp"
#include "scripts/deadlock.hpp"
#include "scripts/inspect.hpp"

namespace holdfast::engine {
namespace {

/// How long a caller waits before anything is done, and between two times that it is said.
constexpr std::chrono::seconds interval{1};

/// How long what was said outlives the client.
constexpr std::chrono::milliseconds life{10'000};

bool is_fine(net::response const& response) noexcept {
  return !response.failure && !response.reply.is_error();
}

std::vector<std::string_view> names_of(lock_queue const& queue) {
  return queue.lock_recipe().all_names(queue.name());
}

}  // namespace

/// One caller that waits.
struct deadlocks::watch {
  waiter* caller;  ///< null: its wait is over
  blocked_wait wait{};
  std::string text{};
  std::string former{};               ///< what was said before, and may still stand there
  std::vector<std::string> places{};  ///< the keys where something may stand
  std::int64_t said = 0;
  std::size_t awaited = 0;  ///< answers to requests that were sent together
  bool all_fine = true;     ///< those that have come so far
  std::optional<circle_search> search{};
  suspicion suspected{};
  std::map<std::string, process_info, std::less<>> known{};  ///< the processes of its circle, by client
  reactor::timer next{{}};
};

deadlocks::deadlocks(reactor::loop& loop, lock_backend& backend, client_constants const& client,
                     lock_queues& queues, holders const& held, failing fail)
    : loop_{loop},
      backend_{backend},
      client_{client},
      queues_{queues},
      holders_{held},
      fail_{std::move(fail)} {}
deadlocks::~deadlocks() = default;

std::uint32_t deadlocks::this_thread() noexcept {
  static constinit std::atomic<std::uint32_t> last{whole_process};
  static constinit thread_local std::uint32_t own = 0;
  if (reactor::loop::inside_callback()) return 0;
  if (own == 0) own = ++last;
  return own;
}

void deadlocks::begin(waiter& caller) noexcept {
  auto const due = caller.came_at + interval;
  auto const in_vain = caller.in_place_of != 0 || caller.tries_only || caller.last_look < due ||
                       (outer_.empty() && !holders_.any_of(caller.thread));
  if (in_vain || caller.queue->lock_recipe().blocked_by == blocked_by::unknown) return;
  try {
    auto const one = std::make_shared<watch>();
    one->caller = &caller;
    one->wait.id = client_.owner_id(queues_.next_number());
    one->wait.blocked_by = caller.queue->lock_recipe().blocked_by;
    auto const names = names_of(*caller.queue);
    one->wait.names.assign(names.begin(), names.end());
    one->next.set([this, weak = std::weak_ptr{one}] {
      if (auto const still = weak.lock()) go_on(still);
    });
    watches_.emplace(&caller, one);
    loop_.arm(one->next, due);
  } catch (std::bad_alloc const&) {
    fail_(caller, client_.no_memory, boot_clock::now());
  }
}

void deadlocks::end(waiter const& caller) noexcept {
  auto const known = watches_.find(&caller);
  if (known == watches_.end()) return;
  auto const one = known->second;
  watches_.erase(known);
  one->caller = nullptr;
  one->next.disarm();
  take_back(*one, one->places);
}

void deadlocks::set_aside() noexcept {
  while (!watches_.empty()) end(*watches_.begin()->first);
}

void deadlocks::pause(watch& one) noexcept {
  if (one.caller != nullptr) loop_.arm(one.next, boot_clock::now() + interval);
}

void deadlocks::go_on(watch_ptr const& one) noexcept {
  try {
    if (one->wait.since.count() == 0) {
      ask_for_time(one);
    } else {
      say(one);
    }
  } catch (std::bad_alloc const&) {
    pause(*one);
  }
}

/// Which wait is the youngest goes by the server's clock.
void deadlocks::ask_for_time(watch_ptr const& one) {
  auto const& name = one->wait.names.front();
  backend_.run(look_at_holders(name), [this, one](net::response&& response) {
    if (one->caller == nullptr) return;
    try {
      if (is_fine(response)) {
        auto const now = read_blocked_holds({}, response.reply).now;
        auto const waited = boot_clock::now() - one->caller->came_at;
        auto dated = one->wait;
        dated.since = now - std::chrono::duration_cast<std::chrono::microseconds>(waited);
        one->text = dated.to_text();
        one->wait = std::move(dated);  // last: a wait that has a time has its text, too
        say(one);
        return;
      }
    } catch (std::bad_alloc const&) {
      // It asks again.
    }
    pause(*one);
  });
}

std::vector<std::string> deadlocks::places_of(std::uint32_t thread) const {
  std::vector<std::string> all;
  all.reserve(outer_.size());
  for (auto const& [name, owner] : outer_) all.push_back(names::blocked(name, owner));
  holders_.for_each_of(thread, [&](lease_state const& lease) {
    auto const& kind = lease.queue().lock_recipe();
    auto const owner = client_.owner_id(lease.number());
    auto const id = kind.id_of == nullptr ? owner : kind.id_of(owner);
    for (auto const& name : names_of(lease.queue())) all.push_back(names::blocked(name, id));
  });
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  return all;
}

/// Calls `f` with those keys that can be in one request.
template <class F>
void deadlocks::for_each_slot(std::span<std::string const> keys, F f) const {
  std::map<std::uint16_t, std::vector<key>> by_slot;
  for (auto const& each : keys) by_slot[backend_.slot_of(each)].push_back({each});
  for (auto const& [slot, together] : by_slot) f(together);
}

/// Sent at most once: a copy that comes late would be taken for a later one. What wasn't answered may still
/// arrive: then the wait goes on under another id, so that nobody takes that for news.
void deadlocks::say(watch_ptr const& one) {
  if (!one->all_fine) begin_anew(*one);
  auto places = places_of(one->caller->thread);
  std::vector<std::string> left;
  std::ranges::set_difference(one->places, places, std::back_inserter(left));
  if (!left.empty()) take_back(*one, left);
  one->places = std::move(places);
  if (one->places.empty()) return;  // and it gets none while it waits
  one->awaited = 1;                 // this function
  auto fine = true;
  try {
    for_each_slot(one->places, [&](std::vector<key> const& together) {
      auto request =
          scripting::to_run(scripts::deadlock::say{.keys = together,
                                                   .wait = one->text,
                                                   .number = one->said + 1,
                                                   .ttl_ms = life.count(),
                                                   .former = one->former}(),
                            [this, one](net::response&& response) { on_said(one, is_fine(response)); });
      request.never_resend = true;
      backend_.send(std::move(request));
      ++one->awaited;
    });
  } catch (std::bad_alloc const&) {
    fine = false;
  }
  on_said(one, fine);
}

void deadlocks::on_said(watch_ptr const& one, bool fine) noexcept {
  one->all_fine = one->all_fine && fine;
  if (--one->awaited != 0 || one->caller == nullptr) return;
  try {
    if (one->all_fine) {
      ++one->said;
      one->former.clear();
      one->search.emplace(one->wait);
      look_further(one);
      return;
    }
  } catch (std::bad_alloc const&) {
    // It reads later.
  }
  pause(*one);
}

void deadlocks::begin_anew(watch& one) {
  auto next = one.wait;
  next.id = client_.owner_id(queues_.next_number());
  auto text = next.to_text();
  one.former = std::exchange(one.text, std::move(text));
  one.wait = std::move(next);
  one.said = 0;
  one.all_fine = true;
}

void deadlocks::look_further(watch_ptr const& one) {
  for (;;) {
    if (auto name = one->search->next()) {
      auto const question = look_at_holders(*name);
      backend_.run(question, [this, one, name = std::move(*name)](net::response&& response) {
        on_looked(one, name, response);
      });
      return;
    }
    switch (one->suspected.judge(one->search->circle(), one->wait.id)) {
      case suspicion::step::read_again:
        one->search.emplace(one->wait);
        break;
      case suspicion::step::certain:
        ask_for_records(one);
        return;
      case suspicion::step::none:
      case suspicion::step::wait:
        pause(*one);
        return;
    }
  }
}

void deadlocks::on_looked(watch_ptr const& one, std::string const& name,
                          net::response const& response) noexcept {
  if (one->caller == nullptr) return;
  try {
    // Where it may not look, and at a name that nobody can look at, nothing is found.
    if (!response.failure && !is_transient(response.reply.text)) {
      one->search->found(read_blocked_holds(name, response.reply).all);
      look_further(one);
      return;
    }
  } catch (std::bad_alloc const&) {
    // It reads again later.
  }
  pause(*one);
}

/// The processes of the others.
void deadlocks::ask_for_records(watch_ptr const& one) {
  one->known.clear();
  one->known.emplace(client_.uuid, describe_self(client_.options.label));
  for (auto const& hold : one->search->circle()) {
    for (auto const* const id : {&hold.owner, &hold.wait.id})
      one->known.try_emplace(std::string{uuid_of(*id)});
  }
  one->awaited = 1;  // this function
  try {
    for (auto& [uuid, process] : one->known) {
      if (uuid == client_.uuid || uuid.empty()) continue;
      auto const record = names::client_record(uuid);
      backend_.run(scripts::inspect::record{.record = {record}}(),
                   [this, one, to = &process](net::response&& response) {
                     note_record(*to, response);
                     report(one);
                   });
      ++one->awaited;
    }
  } catch (std::bad_alloc const&) {
    // Those that weren't asked for are unknown.
  }
  report(one);
}

void deadlocks::note_record(process_info& process, net::response const& response) noexcept try {
  if (is_fine(response)) process = read_record({}, response.reply);
} catch (std::bad_alloc const&) {
  return;  // it stays unknown
}

/// When all records are there.
void deadlocks::report(watch_ptr const& one) noexcept try {
  if (--one->awaited != 0 || one->caller == nullptr) return;
  auto const who = [&](std::string const& id) {
    auto process = one->known[std::string{uuid_of(id)}];
    process.owner = id;
    return process;
  };
  deadlock_info found;
  auto const* before = &one->wait.id;
  for (auto const& hold : one->search->circle()) {
    found.circle.push_back(
        {.process = who(*before), .name = hold.name, .holder = who(hold.owner), .waited = {}});
    before = &hold.wait.id;
  }
  auto const reason = std::make_shared<error const>(
      errc::deadlock,
      "deadlock: " + found.to_string() +
          "; the wait that began last has ended with this error. Take locks in the same order "
          "everywhere, or all of them at once (multi_mutex)");
  fail_(*one->caller, reason, boot_clock::now());
} catch (std::bad_alloc const&) {
  pause(*one);
}

/// Without memory it ends with its ttl.
void deadlocks::take_back(watch const& one, std::span<std::string const> places) noexcept {
  if (places.empty()) return;
  try {
    for (auto const* const text : {&one.text, &one.former}) {
      if (text->empty()) continue;
      for_each_slot(places, [&](std::vector<key> const& together) {
        backend_.run(
            scripts::deadlock::say{.keys = together, .wait = *text, .number = 0, .ttl_ms = 0, .former = ""}(),
            {});
      });
    }
  } catch (std::bad_alloc const&) {
    return;
  }
}

}  // namespace holdfast::engine
