#include "engine/recorder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/lease_state.hpp"
#include "engine/presence.hpp"

namespace holdfast::engine {
namespace {

using history::event;

/// So many bytes are written at once; fewer at the end of the turn.
constexpr std::size_t most_collected = 64u << 10;

/// Between two lines that say that this client runs.
constexpr std::chrono::seconds between_signs_of_life{1};

std::int64_t nanoseconds_of(time_point when) { return when.time_since_epoch().count(); }

/// The time of the last line of all clients, noted while the clock stands still (boot_clock::stand_in).
constinit std::atomic<std::int64_t> last_of_all{0};

/// A clock that stands still doesn't say which of two clients came first: lines of one instant are set apart
/// by nanoseconds, in the order in which they are made. A clock that was set anew may be far from there.
time_point in_order_of_all(time_point when) {
  constexpr std::int64_t one_instant = 1'000'000;
  if (boot_clock::stand_in.load(std::memory_order_relaxed) == 0) return when;
  auto last = last_of_all.load();
  for (;;) {
    auto const ahead = last - nanoseconds_of(when);
    auto const next = ahead >= 0 && ahead < one_instant ? last + 1 : nanoseconds_of(when);
    if (last_of_all.compare_exchange_weak(last, next)) return time_point{std::chrono::nanoseconds{next}};
  }
}

/// Different after each start of the machine, with which its CLOCK_BOOTTIME begins.
std::string boot_id() {
  std::string id;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> id;
  return id;
}

history::file open_history(client_constants const& client) {
  auto const& path = client.options.history;
  try {
    return history::file{path};
  } catch (std::system_error const& failure) {
    throw error{failure.code(), client.url + ": the history can't be written to " + path + " (" +
                                    failure.code().message() +
                                    "); client_options::history names a file that this process may write"};
  }
}

}  // namespace

std::string_view word_of(loss_cause cause) noexcept {
  switch (cause) {
    case loss_cause::taken_over:
      return "taken_over";
    case loss_cause::key_gone:
      return "key_gone";
    case loss_cause::unreachable:
      return "unreachable";
    case loss_cause::limit_reached:
      return "limit_reached";
    case loss_cause::closed:
      return "closed";
    case loss_cause::forced:
      return "forced";
    case loss_cause::none:
      break;
  }
  return "none";
}

recorder::recorder(reactor::loop& loop, client_constants const& client, client_stats const& counts,
                   deferred_log& log, std::function<bool()> server_is_up)
    : loop_{loop},
      client_{client},
      stats_{counts},
      log_{log},
      server_is_up_{std::move(server_is_up)},
      file_{open_history(client)} {
  begin_history(boot_clock::now());
}

/// The wall clock allows to compare the histories of several hosts, whose CLOCK_BOOTTIMEs have nothing in
/// common.
void recorder::begin_history(time_point now) {
  auto const wall = std::chrono::system_clock::now().time_since_epoch();
  auto const self = describe_self(client_.options.label);
  begin(event::client, now);
  lines_.add("v", history::version)
      .add("host", self.host)
      .add("boot", boot_id())
      .add("pid", self.pid)
      .add("name", client_.options.name.empty() ? "holdfast" : client_.options.name)
      .add("label", self.label)
      .add("wall", std::chrono::nanoseconds{wall}.count())
      .add("uncertainty", 0)
      .add("recheck", client_.options.recheck.count())
      .add("reply_timeout", client_.options.reply_timeout.count());
  end();
}

/// Begins a line. If it wasn't ended, because of an exception, the next line takes its place.
void recorder::begin(event happened, time_point now) {
  lines_.text().resize(begun_);
  last_ = in_order_of_all(std::max(now, last_ + std::chrono::nanoseconds{1}));
  lines_.begin(happened, last_);
  lines_.add("c", client_.uuid);
}

void recorder::end() {
  lines_.end();
  begun_ = lines_.text().size();
  if (begun_ >= most_collected)
    (void)flush(true);
  else
    loop_.writers().mark_first(*this);
}

template <class Write>
void recorder::write(time_point now, Write add_rest) noexcept {
  if (over_ || client_.forked()) return;
  try {
    add_rest();
    end();
  } catch (std::bad_alloc const&) {
    give_up("there is not enough memory");
    return;
  }
  if (!heartbeat_.armed() && (stats_.waiting_now != 0 || stats_.held_now != 0))
    loop_.arm(heartbeat_, now + between_signs_of_life);
}

bool recorder::flush(bool /*driving*/) {
  if (over_ || begun_ == 0) return true;
  auto const failure = file_.write(std::string_view{lines_.text()}.substr(0, begun_));
  lines_.text().erase(0, begun_);
  begun_ = 0;
  if (failure) give_up(failure.message());
  return true;
}

void recorder::give_up(std::string const& reason) noexcept {
  if (std::exchange(over_, true)) return;
  heartbeat_.disarm();
  log_(log_level::warning,
       [&] { return client_.url + ": the history in " + client_.options.history + " ends here: " + reason; });
}

void recorder::look() noexcept {
  if (stats_.waiting_now == 0 && stats_.held_now == 0) return;
  alive(true, boot_clock::now());
}

void recorder::unheard(time_point now) noexcept {
  if (!waiting_.empty()) alive(false, now);
}

void recorder::alive(bool heard, time_point now) noexcept {
  write(now, [&] {
    begin(event::alive, now);
    lines_.add("up", server_is_up_() ? 1 : 0);
    if (!heard) lines_.add("heard", 0);
  });
}

void recorder::add_lock(lock_queue const& queue) {
  auto const& recipe = queue.lock_recipe();
  auto const names = recipe.all_names(queue.name());
  lines_.add("kind", history::word_of(recipe.kind)).add("names", names);
  if (recipe.kind == history::kind::mixed) lines_.add("as", recipe.several->kinds(queue.name()));
}

void recorder::add_lease(lease_state const& lease) {
  auto const [known, is_new] = held_.try_emplace(&lease, leases_ + 1);
  if (is_new) ++leases_;
  lines_.add("l", known->second);
}

void recorder::asked(waiter const& caller, time_point now) noexcept {
  write(now, [&] {
    begin(event::asked, now);
    waiting_[&caller] = {.number = ++waits_};
    lines_.add("w", waits_);
    add_lock(*caller.queue);
    lines_.add("ttl", caller.options->options.ttl.count());
    if (caller.amount != 1) lines_.add("n", caller.amount);
    if (caller.options->size != 0) lines_.add("of", caller.options->size);
    if (caller.queue->lock_recipe().channel_for_each_place()) {
      auto const has_place = !caller.tries_only && client_.wake_of(caller.options->options) != wake::poll;
      lines_.add("credit", has_place ? client_.credit().count() : 0);
    }
  });
}

void recorder::queued(waiter const& caller, time_point now) noexcept {
  auto const known = waiting_.find(&caller);
  if (known == waiting_.end() || std::exchange(known->second.queued, true)) return;
  write(now, [&] {
    begin(event::queued, now);
    lines_.add("w", known->second.number);
  });
}

void recorder::not_certain(waiter const& caller) noexcept {
  auto const known = waiting_.find(&caller);
  if (known != waiting_.end()) known->second.queued = false;
}

void recorder::finished(waiter const& caller, time_point now) noexcept {
  auto const known = waiting_.find(&caller);
  if (known == waiting_.end()) return;
  auto const number = known->second.number;
  waiting_.erase(known);
  auto const held = caller.lease && caller.lease->status() == lease_state::state::held;
  write(now, [&] {
    begin(held ? event::granted : caller.lease ? event::taken : event::left, now);
    lines_.add("w", number);
    if (!caller.lease) {
      lines_.add("why", caller.failure ? "failed" : "busy");
      return;
    }
    auto const& lease = *caller.lease;
    if (held) add_lease(lease);
    add_lock(lease.queue());
    lines_.add("number", static_cast<std::int64_t>(lease.number())).add("token", lease.token());
    if (held) lines_.add("until", nanoseconds_of(lease.deadline())).add("ttl", lease.options().ttl.count());
    if (caller.amount != 1) lines_.add("n", caller.amount);
    if (caller.in_place_of != 0) lines_.add("instead", static_cast<std::int64_t>(caller.in_place_of));
  });
}

void recorder::turned_into(lease_state const& lease, time_point now) noexcept {
  write(now, [&] {
    begin(event::granted, now);
    lines_.add("w", 0);
    add_lease(lease);
    add_lock(lease.queue());
    lines_.add("number", static_cast<std::int64_t>(lease.number())).add("token", lease.token());
    lines_.add("until", nanoseconds_of(lease.deadline())).add("ttl", lease.options().ttl.count());
  });
}

/// `over`: it is the lease's last line.
void recorder::of_lease(event happened, lease_state const& lease, time_point now, bool over) noexcept {
  auto const known = held_.find(&lease);
  if (known == held_.end()) return;
  auto const number = known->second;
  if (over) held_.erase(known);
  write(now, [&] {
    begin(happened, now);
    lines_.add("l", number);
    if (happened == event::renewed || happened == event::resumed)
      lines_.add("until", nanoseconds_of(lease.deadline()));
  });
}

void recorder::renewed(lease_state const& lease, time_point now) noexcept {
  of_lease(event::renewed, lease, now, false);
}
void recorder::paused(lease_state const& lease, time_point now) noexcept {
  of_lease(event::paused, lease, now, false);
}
void recorder::resumed(lease_state const& lease, time_point now) noexcept {
  of_lease(event::resumed, lease, now, false);
}
void recorder::released(lease_state const& lease, time_point now) noexcept {
  of_lease(event::released, lease, now, true);
}

void recorder::kept(lease_state const& lease, time_point until, time_point now) noexcept {
  auto const known = held_.find(&lease);
  if (known == held_.end()) return;
  write(now, [&] {
    begin(event::kept, now);
    lines_.add("l", known->second).add("until", nanoseconds_of(until));
  });
}

void recorder::lost(lease_state const& lease, loss_cause cause, time_point now) noexcept {
  auto const known = held_.find(&lease);
  if (known == held_.end()) return;
  auto const number = known->second;
  held_.erase(known);
  write(now, [&] {
    begin(event::lost, now);
    lines_.add("l", number).add("cause", word_of(cause));
  });
}

std::optional<recorded_lease> recorder::find(lease_state const& lease) noexcept {
  (void)flush(true);
  auto const known = held_.find(&lease);
  if (over_ || known == held_.end()) return std::nullopt;
  return recorded_lease{.number = known->second, .file = file_.descriptor()};
}

void recorder::numbered(event happened, history::kind of, std::string_view name, std::int64_t number,
                        time_point now) noexcept {
  write(now, [&] {
    begin(happened, now);
    lines_.add("kind", history::word_of(of)).add("names", std::array{name}).add("n", number);
  });
}

void recorder::trouble(std::string_view reason, time_point now) noexcept {
  write(now, [&] {
    begin(event::trouble, now);
    lines_.add("why", reason);
  });
}

void recorder::closed(time_point now) noexcept {
  write(now, [&] { begin(event::closed, now); });
  heartbeat_.disarm();
  (void)flush(true);
  over_ = true;
}

}  // namespace holdfast::engine
