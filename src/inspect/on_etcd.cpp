#include "inspect/on_etcd.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "etcd/viewer.hpp"
#include "inspect/glob.hpp"
#include "sync/options_check.hpp"

namespace holdfast::inspection::on_etcd {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using etcd::viewer;

constexpr auto look_every = 20ms;
/// Of those that read at a time so many are taken away.
constexpr std::size_t most_readers = 1000;

using states = std::vector<lock_state>;

states look_at(engine::core& server, std::vector<std::string> names, std::size_t queue_entries) {
  return server.requests().ask_viewer<states>(
      [&](viewer& view, viewer::handler<states> done) { view.look(names, queue_entries, std::move(done)); });
}

lock_state look_at(engine::core& server, std::string_view name, std::size_t queue_entries = 0) {
  return std::move(look_at(server, std::vector{std::string{name}}, queue_entries).front());
}

/// Keys that have the form of a place, and stand below others that aren't: they count by those that wait.
bool wanted(lock_state const& state) {
  return state.holding > 0 || state.waiting > 0 || state.kind == lock_kind::latch;
}

/// False: f has returned false.
bool show(engine::core& server, std::span<std::string const> names,
          std::function<bool(lock_state const&)> const& f) {
  while (!names.empty()) {
    auto const part = names.first(std::min(names.size(), viewer::names_in_one));
    names = names.subspan(part.size());
    auto const found = look_at(server, {part.begin(), part.end()}, 0);
    if (!std::ranges::all_of(found, [&](auto const& state) { return !wanted(state) || f(state); }))
      return false;
  }
  return true;
}

/// Of a holder that was asked.
struct asked_hold {
  hold_info hold;
  clock::time_point may_end_at = clock::time_point::min();  ///< by its ttl, as far as the last look shows

  /// What is left of a ttl is rounded down to seconds, and renewals may come any time.
  void seen(hold_info const& now, clock::time_point looked_at) noexcept {
    if (now.ttl_left) may_end_at = looked_at + *now.ttl_left;
  }
  /// It is found gone now.
  [[nodiscard]] bool may_have_expired() const noexcept { return clock::now() >= may_end_at; }
};

bool ask_holder(engine::core& server, std::string const& name, hold_info const& holder) {
  return server.requests().ask_viewer<bool>(
      [&](viewer& view, viewer::handler<bool> done) { view.ask_holder(name, holder, std::move(done)); });
}

bool take(engine::core& server, std::string const& name, hold_info const& holder) {
  return server.requests().ask_viewer<bool>(
      [&](viewer& view, viewer::handler<bool> done) { view.take(name, holder, std::move(done)); });
}

/// Those that have arrived are told at once; they hold nothing that they could give back.
bool break_barrier(engine::core& server, std::string const& name) {
  return server.requests().ask_viewer<bool>([&](viewer& view, viewer::handler<bool> done) {
    view.of_barriers().break_by_force(name, std::move(done));
  });
}

/// Waits for those that were asked, of whom those remain that haven't given the lock back within the time.
/// True: a ttl may have been over before its holder did; it may still be at work.
bool wait_for_release(engine::core& server, std::string const& name, std::vector<asked_hold>& asked,
                      std::chrono::milliseconds grace) {
  auto const end = clock::now() + grace;
  auto expired = false;
  for (;;) {
    auto const looked_at = clock::now();
    auto const now = look_at(server, name, most_readers).holders;
    std::erase_if(asked, [&](asked_hold& each) {
      auto const found = std::ranges::find(now, each.hold.token, &hold_info::token);
      if (found != now.end()) return each.seen(*found, looked_at), false;
      expired = expired || each.may_have_expired();
      return true;
    });
    auto const remaining = end - clock::now();
    if (asked.empty() || remaining <= 0ms) return expired;
    std::this_thread::sleep_for(std::min<clock::duration>(remaining, look_every));
  }
}

}  // namespace

void check_wire(engine::core const& server, wire of) {
  if (of != wire::redisson) return;
  throw error{std::errc::invalid_argument,
              server.constants().url + ": Redisson's wire is a format of Redis; leave it out on etcd"};
}

lock_on_wires look(engine::core& server, std::string_view name, std::size_t queue_entries) {
  lock_on_wires all{.plain = look_at(server, name, queue_entries)};
  all.redisson.name = name;
  return all;
}

void for_each_lock(engine::core& server, std::string_view pattern,
                   std::function<bool(lock_state const&)> const& f) {
  auto const start = start_of(pattern);
  if (start.complete) {
    (void)show(server, std::span{&start.text, 1}, f);
    return;
  }
  std::set<std::string> shown;  // those that the next part may have again
  std::string from;
  for (;;) {
    auto part =
        server.requests().ask_viewer<viewer::page>([&](viewer& view, viewer::handler<viewer::page> done) {
          view.find(start.text, from, std::move(done));
        });
    std::erase_if(part.names, [&](std::string const& name) {
      return !matches(pattern, name) || !shown.insert(name).second;
    });
    if (!show(server, part.names, f) || part.next.empty()) return;
    from = std::move(part.next);
    // Keys of one name follow each other, but for those of names that go on behind a slash.
    std::erase_if(shown, [&](std::string const& name) { return !from.starts_with(name + '/'); });
  }
}

force_result force_release(engine::core& server, std::string_view name, force_options const& options) {
  sync::check(!name.empty(), "a lock has a name: it is empty");
  check_wire(server, options.of);
  auto const looked_at = clock::now();
  auto const seen = look_at(server, name, most_readers);
  if (seen.kind == lock_kind::free) return force_result::not_held;
  if (seen.kind == lock_kind::other) return force_result::refused_other;
  if (seen.kind == lock_kind::latch) return force_result::refused_counter;
  if (seen.kind == lock_kind::barrier && seen.holders.empty()) return force_result::not_held;
  auto meant = seen.holders;
  if (!options.owner.empty())
    std::erase_if(meant, [&](hold_info const& each) { return each.process.owner != options.owner; });
  if (meant.empty()) return force_result::changed;
  if (seen.kind == lock_kind::barrier)
    return break_barrier(server, seen.name) ? force_result::deleted : force_result::not_held;
  if (seen.kind == lock_kind::foreign) {
    // Go's sessions hear of nothing but the end of their key.
    if (!options.foreign) return force_result::refused_foreign;
    return take(server, seen.name, meant.front()) ? force_result::deleted : force_result::not_held;
  }
  std::erase_if(meant, [&](hold_info const& each) { return !ask_holder(server, seen.name, each); });
  if (meant.empty()) return force_result::not_held;
  std::vector<asked_hold> asked;
  for (auto& each : meant) {
    asked.push_back({.hold = std::move(each)});
    asked.back().seen(asked.back().hold, looked_at);
  }
  auto expired = wait_for_release(server, seen.name, asked, options.grace);
  auto taken = false;
  for (auto const& each : asked) {
    if (take(server, seen.name, each.hold))
      taken = true;
    else
      expired = expired || each.may_have_expired();
  }
  if (taken) return force_result::deleted;
  return expired ? force_result::expired : force_result::released_by_holder;
}

}  // namespace holdfast::inspection::on_etcd
