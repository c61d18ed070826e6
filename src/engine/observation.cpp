#include "engine/observation.hpp"

#include <array>
#include <cstdio>
#include <exception>
#include <holdfast/error.hpp>
#include <new>
#include <utility>

#include "engine/lease_state.hpp"
#include "engine/recorder.hpp"
#include "history/words.hpp"

namespace holdfast {

observer::~observer() = default;

std::string_view to_string(event_kind kind) noexcept {
  static constexpr std::array<std::string_view, 17> words{
      "asked", "waiting",   "acquired",     "handed_over", "granted",      "taken",
      "busy",  "timed_out", "failed",       "converted",   "renewed_late", "released",
      "kept",  "lost",      "disconnected", "reconnected", "missed"};
  auto const index = static_cast<std::size_t>(kind);
  return index < words.size() ? words[index] : std::string_view{"unknown"};
}

}  // namespace holdfast

namespace holdfast::engine {
namespace {

/// What is collected at most while an observer is slow.
constexpr std::size_t most_events = 65'536;
/// The room that is kept for reuse.
constexpr std::size_t most_room = 4096;
constexpr std::size_t most_trace = 200;

/// A renewal is late when less than this part of the ttl was left.
constexpr int late_part = 3;

std::string_view word_of(std::error_code const& failure) noexcept {
  static constexpr std::array<std::string_view, 16> words{
      "error", "unreachable", "unauthorized", "bad_url", "wrong_type",   "protocol", "refused", "cancelled",
      "lost",  "closed",      "forked",       "busy",    "unreplicated", "expired",  "broken",  "deadlock"};
  auto const index = static_cast<std::size_t>(failure.value());
  return failure.category() == error_category() && index < words.size() ? words[index] : words[0];
}

/// In a handler of the exception, so that std::terminate's own message has it, too.
[[noreturn]] void terminate_for(observer const& thrower, char const* problem) noexcept {
  std::string_view const name = thrower.name();
  std::fprintf(stderr, "holdfast: the observer \"%.*s\" threw an exception, which none may: %s\n",
               static_cast<int>(name.size()), name.data(), problem);
  std::terminate();
}

template <class Call>
auto guarded(observer const& called, Call call) noexcept {
  try {
    return call();
  } catch (std::exception const& thrown) {
    terminate_for(called, thrown.what());
  } catch (...) {
    terminate_for(called, "something that is not a std::exception");
  }
}

}  // namespace

void observation::batch::add(lock_event const& event, std::string_view name, std::string_view trace) {
  auto const size = texts.size();
  try {
    texts.append(name).append(trace);
    entries.push_back({event, name.size(), trace.size()});
  } catch (std::bad_alloc const&) {
    texts.resize(size);
    throw;
  }
}

void observation::batch::clear() noexcept {
  entries.clear();
  texts.clear();
  if (entries.capacity() <= most_room) return;
  entries = {};
  texts = {};
}

observation::observation(reactor::loop& loop, client_constants const& client) noexcept
    : loop_{loop}, client_{client}, observer_{*client.options.observer} {}

bool observation::add(lock_event event, std::string_view name, std::string_view trace,
                      time_point now) noexcept {
  if (over_.load(std::memory_order_relaxed) || client_.forked()) return false;
  event.at = now.time_since_epoch();
  auto collected = false;
  try {
    collected = collect(event, name, trace);
  } catch (std::bad_alloc const&) {
    collected = false;
  }
  if (!collected) ++missed_;
  tell_soon();
  return collected;
}

/// False: there are too many. Throws std::bad_alloc.
bool observation::collect(lock_event const& event, std::string_view name, std::string_view trace) {
  if (collected_.entries.size() >= most_events) return false;
  if (missed_ != 0) {
    collected_.add({.what = event_kind::missed, .at = event.at, .count = missed_}, {}, {});
    missed_ = 0;
  }
  collected_.add(event, name, trace);
  return true;
}

bool observation::add(lock_event event, lock_queue const& queue, std::string_view trace,
                      time_point now) noexcept {
  auto const& recipe = queue.lock_recipe();
  event.kind = history::word_of(recipe.kind);
  if (recipe.several == nullptr) return add(event, queue.name(), trace, now);
  try {
    return add(event, queue.title(), trace, now);
  } catch (std::bad_alloc const&) {
    ++missed_;
    return false;
  }
}

/// A caller whose question was missed has no end either.
void observation::asked(waiter& caller, time_point now) noexcept {
  if (!caller.observed) return;
  auto const id = ++last_id_;
  if (add({.what = event_kind::asked, .id = id}, *caller.queue, caller.observed->trace, now))
    caller.observed->id = id;
}

void observation::waits(waiter& caller, time_point now) noexcept {
  if (!caller.observed || std::exchange(caller.observed->waiting, true) || caller.observed->id == 0) return;
  auto const& [trace, id, waiting] = *caller.observed;
  add({.what = event_kind::waiting, .id = id, .duration = now - caller.came_at}, *caller.queue, trace, now);
}

void observation::finished(waiter const& caller, time_point now) noexcept {
  if (!caller.observed || caller.observed->id == 0) {
    ++missed_;
    return;
  }
  auto const& [trace, id, waiting] = *caller.observed;
  lock_event event{.id = id, .duration = now - caller.came_at};
  if (caller.lease && caller.lease->status() == lease_state::state::held) {
    event.what = caller.came_by == waiter::way::handoff   ? event_kind::handed_over
                 : caller.came_by == waiter::way::message ? event_kind::granted
                                                          : event_kind::acquired;
    begin(event, *caller.lease, trace, now);
    return;
  }
  if (caller.lease) {
    event.what = event_kind::taken;
    event.token = caller.lease->token();
  } else if (caller.failure) {
    event.what = event_kind::failed;
    event.error = caller.failure->code();
    event.why = word_of(event.error);
  } else {
    event.what = caller.came_to_try ? event_kind::busy : event_kind::timed_out;
  }
  add(event, *caller.queue, trace, now);
}

void observation::converted(lease_state const& lease, time_point now) noexcept {
  begin({.what = event_kind::converted, .id = ++last_id_}, lease, {}, now);
}

/// A lease whose beginning was missed has no end either.
void observation::begin(lock_event const& event, lease_state const& lease, std::string_view trace,
                        time_point now) noexcept {
  try {
    held_.insert_or_assign(&lease, held_lease{event.id, now, std::string{trace}});
  } catch (std::bad_alloc const&) {
    ++missed_;
    return;
  }
  auto complete = event;
  complete.token = lease.token();
  if (!add(complete, lease.queue(), trace, now)) held_.erase(&lease);
}

void observation::renewed(lease_state const& lease, time_point was_until, time_point now) noexcept {
  auto const left = was_until - now;
  if (left >= lease.options().ttl / late_part) return;
  auto const known = held_.find(&lease);
  if (known == held_.end()) return;
  add({.what = event_kind::renewed_late, .id = known->second.id, .token = lease.token(), .duration = left},
      lease.queue(), known->second.trace, now);
}

void observation::ended(event_kind end, lease_state const& lease, loss_cause cause, time_point now) noexcept {
  auto const known = held_.find(&lease);
  if (known == held_.end()) return;
  auto const& [id, since, trace] = known->second;
  lock_event event{.what = end, .id = id, .token = lease.token(), .duration = now - since, .cause = cause};
  if (cause != loss_cause::none) event.why = word_of(cause);
  add(event, lease.queue(), trace, now);
  held_.erase(known);
}

void observation::released(lease_state const& lease, time_point now) noexcept {
  ended(event_kind::released, lease, loss_cause::none, now);
}
void observation::kept(lease_state const& lease, time_point now) noexcept {
  ended(event_kind::kept, lease, loss_cause::none, now);
}
void observation::lost(lease_state const& lease, loss_cause cause, time_point now) noexcept {
  ended(event_kind::lost, lease, cause, now);
}

void observation::disconnected(time_point now) noexcept {
  add({.what = event_kind::disconnected}, {}, {}, now);
}
void observation::reconnected(std::chrono::nanoseconds away, time_point now) noexcept {
  add({.what = event_kind::reconnected, .duration = away}, {}, {}, now);
}

/// A thread that tells looks again when it has told all.
void observation::tell_soon() noexcept {
  if (scheduled_ || teller_ != std::thread::id{}) return;
  try {
    loop_.deferred().add([this] { tell(); });
    scheduled_ = true;
  } catch (std::bad_alloc const&) {
    return;  // the next event tries again, and the end of the client tells the rest
  }
}

void observation::tell() noexcept {
  reactor::lock hold{loop_.mutex()};
  scheduled_ = false;
  if (teller_ != std::thread::id{}) return;
  tell_collected(hold);
  if (!collected_.entries.empty() || missed_ != 0) tell_soon();
}

/// No other thread tells. Releases the lock meanwhile.
void observation::tell_collected(reactor::lock& hold) noexcept {
  teller_ = std::this_thread::get_id();
  std::swap(collected_, told_);
  auto const missed = std::exchange(missed_, 0);
  hold.unlock();
  std::string_view rest = told_.texts;
  for (auto& [event, name_size, trace_size] : told_.entries) {
    event.name = rest.substr(0, name_size);
    event.trace = rest.substr(name_size, trace_size);
    rest.remove_prefix(name_size + trace_size);
    call(event);
  }
  if (missed != 0) call({.what = event_kind::missed, .count = missed});
  told_.clear();
  hold.lock();
  teller_ = {};
  idle_.notify_all();
}

void observation::call(lock_event const& event) noexcept {
  if (over_.load(std::memory_order_relaxed) || client_.forked()) return;
  auto complete = event;
  complete.label = client_.options.label;
  guarded(observer_, [&] { observer_.on_event(complete); });
}

void observation::end(bool alone) noexcept {
  reactor::lock hold{loop_.mutex()};
  auto const others_tell = [this] {
    return teller_ != std::thread::id{} && teller_ != std::this_thread::get_id();
  };
  if (alone) idle_.wait(hold, [&] { return !others_tell(); });
  while (teller_ == std::thread::id{} && (!collected_.entries.empty() || missed_ != 0)) tell_collected(hold);
  over_ = true;
}

std::unique_ptr<waiter::known> observe_caller(client_constants const& client) {
  auto const& hears = client.options.observer;
  if (!hears) return nullptr;
  auto caller = std::make_unique<waiter::known>();
  caller->trace = guarded(*hears, [&] { return hears->trace(); });
  if (caller->trace.size() > most_trace) caller->trace.resize(most_trace);
  return caller;
}

}  // namespace holdfast::engine
