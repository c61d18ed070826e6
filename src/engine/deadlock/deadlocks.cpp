#include "engine/deadlock/deadlocks.hpp"

#include <algorithm>
#include <atomic>
#include <holdfast/deadlock.hpp>
#include <new>
#include <optional>
#include <utility>

#include "base/distinct.hpp"
#include "engine/failure.hpp"
#include "engine/presence.hpp"
#include "engine/record.hpp"
#include "script/names.hpp"
#include "scripts/deadlock.hpp"
#include "scripts/inspect.hpp"

namespace holdfast::engine {
namespace {

/// How long a caller waits before anything is done, and between two statements about it.
constexpr std::chrono::seconds interval{1};

/// How long a statement outlives the client.
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
  std::string former{};                       ///< the text of an earlier statement, which may still be there
  std::vector<std::string> statement_keys{};  ///< the keys that may have a statement
  std::int64_t statements = 0;                ///< how many were made under this id
  std::size_t awaited = 0;                    ///< answers to requests that were sent together
  bool all_fine = true;                       ///< none of these answers is an error so far
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
  if (reactor::inside_callback()) return 0;
  if (own == 0) own = ++last;
  return own;
}

void deadlocks::begin(waiter& caller) noexcept {
  auto const due = caller.came_at + interval;
  auto const in_vain =
      caller.tries_only || caller.last_look < due || (outer_.empty() && !holders_.any_of(caller.thread));
  if (in_vain || caller.queue->lock_recipe().blocked_by == blocked_by::unknown) return;
  try {
    auto const watched = std::make_shared<watch>();
    watched->caller = &caller;
    watched->wait.id = client_.owner_id(queues_.next_number());
    watched->wait.blocked_by = caller.queue->lock_recipe().blocked_by;
    auto const names = names_of(*caller.queue);
    watched->wait.names.assign(names.begin(), names.end());
    watched->next.set([this, weak = std::weak_ptr{watched}] {
      if (auto const still = weak.lock()) go_on(still);
    });
    watches_.emplace(&caller, watched);
    loop_.arm(watched->next, due);
  } catch (std::bad_alloc const&) {
    fail_(caller, client_.no_memory, boot_clock::now());
  }
}

void deadlocks::end(waiter const& caller) noexcept {
  auto const known = watches_.find(&caller);
  if (known == watches_.end()) return;
  auto const watched = known->second;
  watches_.erase(known);
  watched->caller = nullptr;
  watched->next.disarm();
  take_back(*watched, watched->statement_keys);
}

void deadlocks::begin_exit() noexcept {
  while (!watches_.empty()) end(*watches_.begin()->first);
}

void deadlocks::pause(watch& watched) noexcept {
  if (watched.caller != nullptr) loop_.arm(watched.next, boot_clock::now() + interval);
}

void deadlocks::go_on(watch_ptr const& watched) noexcept {
  try {
    if (watched->wait.since.count() == 0) {
      ask_for_time(watched);
    } else {
      publish(watched);
    }
  } catch (std::bad_alloc const&) {
    pause(*watched);
  }
}

/// The server's clock decides which wait is the youngest.
void deadlocks::ask_for_time(watch_ptr const& watched) {
  auto const& name = watched->wait.names.front();
  backend_.run(look_at_holders(name), [this, watched](net::response&& response) {
    if (watched->caller == nullptr) return;
    try {
      if (is_fine(response)) {
        auto const now = read_blocked_holds({}, response.reply).now;
        auto const waited = boot_clock::now() - watched->caller->came_at;
        auto dated = watched->wait;
        dated.since = now - std::chrono::duration_cast<std::chrono::microseconds>(waited);
        watched->text = dated.to_text();
        watched->wait = std::move(dated);  // last: a wait that has a time has its text, too
        publish(watched);
        return;
      }
    } catch (std::bad_alloc const&) {
      // It asks again.
    }
    pause(*watched);
  });
}

std::vector<std::string> deadlocks::statement_keys_of(std::uint32_t thread) const {
  std::vector<std::string> all;
  all.reserve(outer_.size());
  for (auto const& [name, owner] : outer_) all.push_back(names::blocked(name, owner));
  holders_.for_each_of(thread, [&](lease_state const& lease) {
    auto const& kind = lease.queue().lock_recipe();
    auto const owner = client_.owner_id(lease.number());
    auto const id = kind.id_of == nullptr ? owner : kind.id_of(owner);
    for (auto const& name : names_of(lease.queue())) all.push_back(names::blocked(name, id));
  });
  make_distinct(all);
  return all;
}

/// Calls `f` with those keys that can be in one request.
template <class F>
void deadlocks::for_each_slot(std::span<std::string const> keys, F f) const {
  std::map<std::uint16_t, std::vector<key>> by_slot;
  for (auto const& each : keys) by_slot[backend_.slot_of(each)].push_back({each});
  for (auto const& [slot, together] : by_slot) f(together);
}

/// Sent at most once: a late copy would count as a later statement. A statement that isn't answered may still
/// arrive late, so the wait goes on under another id.
void deadlocks::publish(watch_ptr const& watched) {
  if (!watched->all_fine) begin_anew(*watched);
  auto statement_keys = statement_keys_of(watched->caller->thread);
  std::vector<std::string> left;
  std::ranges::set_difference(watched->statement_keys, statement_keys, std::back_inserter(left));
  if (!left.empty()) take_back(*watched, left);
  watched->statement_keys = std::move(statement_keys);
  if (watched->statement_keys.empty()) return;  // it holds nothing, and gets nothing while it waits
  watched->awaited = 1;                         // for this function
  auto fine = true;
  try {
    for_each_slot(watched->statement_keys, [&](std::vector<key> const& together) {
      auto request = scripting::to_run(
          scripts::deadlock::say{.keys = together,
                                 .wait = watched->text,
                                 .number = watched->statements + 1,
                                 .ttl_ms = life.count(),
                                 .former = watched->former}(),
          [this, watched](net::response&& response) { on_published(watched, is_fine(response)); });
      request.never_resend = true;
      backend_.send(std::move(request));
      ++watched->awaited;
    });
  } catch (std::bad_alloc const&) {
    fine = false;
  }
  on_published(watched, fine);
}

void deadlocks::on_published(watch_ptr const& watched, bool fine) noexcept {
  watched->all_fine = watched->all_fine && fine;
  if (--watched->awaited != 0 || watched->caller == nullptr) return;
  try {
    if (watched->all_fine) {
      ++watched->statements;
      watched->former.clear();
      watched->search.emplace(watched->wait);
      look_further(watched);
      return;
    }
  } catch (std::bad_alloc const&) {
    // It reads later.
  }
  pause(*watched);
}

void deadlocks::begin_anew(watch& watched) {
  auto next = watched.wait;
  next.id = client_.owner_id(queues_.next_number());
  auto text = next.to_text();
  watched.former = std::exchange(watched.text, std::move(text));
  watched.wait = std::move(next);
  watched.statements = 0;
  watched.all_fine = true;
}

void deadlocks::look_further(watch_ptr const& watched) {
  for (;;) {
    if (auto name = watched->search->next()) {
      auto const question = look_at_holders(*name);
      backend_.run(question, [this, watched, name = std::move(*name)](net::response&& response) {
        on_looked(watched, name, response);
      });
      return;
    }
    switch (watched->suspected.judge(watched->search->circle(), watched->wait.id)) {
      case suspicion::step::read_again:
        watched->search.emplace(watched->wait);
        break;
      case suspicion::step::certain:
        ask_for_records(watched);
        return;
      case suspicion::step::none:
      case suspicion::step::wait:
        pause(*watched);
        return;
    }
  }
}

void deadlocks::on_looked(watch_ptr const& watched, std::string const& name,
                          net::response const& response) noexcept {
  if (watched->caller == nullptr) return;
  try {
    // Without the right to look at a name, or if it can't be looked at, nothing is found there.
    if (!response.failure && !is_transient(response.reply.text)) {
      watched->search->found(read_blocked_holds(name, response.reply).all);
      look_further(watched);
      return;
    }
  } catch (std::bad_alloc const&) {
    // It reads again later.
  }
  pause(*watched);
}

/// Asks for the records of the other processes in the circle.
void deadlocks::ask_for_records(watch_ptr const& watched) {
  watched->known.clear();
  watched->known.emplace(client_.uuid, describe_self(client_.options.label));
  for (auto const& hold : watched->search->circle()) {
    for (auto const* const id : {&hold.owner, &hold.wait.id})
      watched->known.try_emplace(std::string{uuid_of(*id)});
  }
  watched->awaited = 1;  // for this function
  try {
    for (auto& [uuid, process] : watched->known) {
      if (uuid == client_.uuid || uuid.empty()) continue;
      auto const record = names::client_record(uuid);
      backend_.run(scripts::inspect::record{.record = {record}}(),
                   [this, watched, to = &process](net::response&& response) {
                     note_record(*to, response);
                     report(watched);
                   });
      ++watched->awaited;
    }
  } catch (std::bad_alloc const&) {
    // Processes that weren't asked for are unknown.
  }
  report(watched);
}

void deadlocks::note_record(process_info& process, net::response const& response) noexcept try {
  if (is_fine(response)) process = read_record({}, response.reply);
} catch (std::bad_alloc const&) {
  return;  // it stays unknown
}

/// When all records are there.
void deadlocks::report(watch_ptr const& watched) noexcept try {
  if (--watched->awaited != 0 || watched->caller == nullptr) return;
  auto const process_of = [&](std::string const& id) {
    auto process = watched->known[std::string{uuid_of(id)}];
    process.owner = id;
    return process;
  };
  deadlock_info found;
  auto const* before = &watched->wait.id;
  for (auto const& hold : watched->search->circle()) {
    found.circle.push_back(
        {.process = process_of(*before), .name = hold.name, .holder = process_of(hold.owner), .waited = {}});
    before = &hold.wait.id;
  }
  auto const reason = std::make_shared<error const>(
      errc::deadlock,
      "deadlock: " + found.to_string() +
          "; the wait that began last has ended with this error. Take locks in the same order "
          "everywhere, or all of them at once (multi_mutex)");
  fail_(*watched->caller, reason, boot_clock::now());
} catch (std::bad_alloc const&) {
  pause(*watched);
}

/// Without memory it ends with its ttl.
void deadlocks::take_back(watch const& watched, std::span<std::string const> statement_keys) noexcept {
  if (statement_keys.empty()) return;
  try {
    for (auto const* const text : {&watched.text, &watched.former}) {
      if (text->empty()) continue;
      for_each_slot(statement_keys, [&](std::vector<key> const& together) {
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
