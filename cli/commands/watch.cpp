/// `holdfast watch`: prints the changes of a lock as they happen.
#include "common/command.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "common/standard_output.hpp"
#include "common/utc_text.hpp"
#include "server/choice.hpp"
#include "show/listing.hpp"
#include "show/lock_json.hpp"
#include "show/lock_search.hpp"
#include "show/watch_events.hpp"

#include <holdfast/inspect.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using wall_clock = std::chrono::system_clock;

constexpr auto watch_footer =
    R"(Shows first who holds the lock NAME, and then one line for each change: acquired, released, expired,
handed over, how many wait; for a lock with several holders, who comes and who leaves; for semaphores and
latches, their numbers. `watch` looks every --interval, so it may miss shorter changes. If somebody held the lock
between two looks at which it was free, the token shows that, and `watch` says so. Watching changes nothing, and
nobody notices it. While the server can't be reached, `watch` says so once and goes on trying. It finds the lock
on either wire. If the name is in use on both wires, each line says which one is meant. --wire selects one.

Exit codes
  0   the time of --for is over
  64  bad option, name or URL; 69 Redis can't be reached at the start; 77 a right is missing
  128+n  ended by signal n: 130 by ^C, 141 if nobody reads the output any more

Examples
  holdfast watch deploy:web
  holdfast watch --for 1h --json nightly-import | jq -r '[.at, .event, .holder.host] | @tsv')";

constexpr auto shortest_interval = 10ms;

struct watch_options {
  common_options common;
  std::string name;
  std::string wire;
  std::string interval_text = "100ms";
  std::optional<std::string> for_text;
  std::chrono::milliseconds interval{};
  std::optional<std::chrono::milliseconds> limit;
  bool json = false;
};

/// The time of this machine, in UTC.
std::string time_now() { return utc_text(std::chrono::floor<std::chrono::microseconds>(wall_clock::now())); }

std::string waiting_words(lock_state const& now) {
  return now.waiting == 0 ? std::string{} : fmt::format(", {} waiting", now.waiting);
}

std::string token_words(lock_state const& now) {
  return now.token == 0 ? std::string{} : fmt::format(", token {}", now.token);
}

std::string seen_words(lock_state const& now) {
  bool const of_nobody =
      now.kind == lock_kind::free || now.kind == lock_kind::foreign || now.kind == lock_kind::other;
  if (of_nobody) return listing::described(now) + waiting_words(now);
  return listing::holding(now) + token_words(now) + waiting_words(now);
}

std::string numbers_of(lock_state const& now) {
  return now.kind == lock_kind::read_write ? fmt::format("{} hold it", now.holding) : listing::numbers(now);
}

/// "reader web-3 pid 812"; for a permit its id.
std::string words_of(hold_info const& hold) {
  if (hold.side == hold_side::permit) return "permit " + hold.process.owner;
  if (hold.side == hold_side::upgrade) return "upgrade lease " + hold.process.to_string();
  if (hold.side == hold_side::arrived)
    return "participant " + (hold.process.host.empty() ? hold.process.owner : hold.process.to_string());
  return (hold.side == hold_side::write ? "writer " : "reader ") + hold.process.to_string();
}

std::string words_of(event const& change, lock_state const& now) {
  auto const holder = now.holder.to_string();
  auto const before = change.before.to_string();
  auto const more = token_words(now) + waiting_words(now);
  switch (change.kind) {
    case happening::seen:
      return seen_words(now);
    case happening::acquired:
      return "acquired by " + holder + more;
    case happening::released:
      return "released by " + before + waiting_words(now);
    case happening::expired:
      return "expired: " + before + " did not renew it" + waiting_words(now);
    case happening::handed_over:
      return "handed over from " + before + " to " + holder + more;
    case happening::passed_on:
      return "passed on inside " + holder + more;
    case happening::identified:
      return "held by " + holder + more;
    case happening::held_meanwhile:
      return "free again: somebody held it meanwhile" + more;
    case happening::waiting:
      return fmt::format("{} waiting", now.waiting);
    case happening::became:
      return "became " + listing::described(now);
    case happening::joined:
      return words_of(change.hold) + " came, " + numbers_of(now) + waiting_words(now);
    case happening::left:
      return words_of(change.hold) + " left, " + numbers_of(now) + waiting_words(now);
    case happening::counted:
      return seen_words(now);
  }
  return {};
}

class reporter {
 public:
  explicit reporter(watch_options const& options) : options_{options} {}

  /// Reports the present state.
  void seen(lock_on_wires const& now) {
    for (auto const* const lock : shown_of(now, options_.wire)) report({}, *lock, now.on_both());
  }

  /// Reports the changes since the previous look.
  void changed(lock_on_wires const& before, lock_on_wires const& now, std::chrono::nanoseconds between) {
    bool const both = before.on_both() || now.on_both();
    for (auto const current : {wire::plain, wire::redisson}) {
      if (auto const only = wire_of(options_.wire); only != wire::automatic && only != current) continue;
      for (auto const& change : changes(before.on(current), now.on(current), between))
        report(change, now.on(current), both);
    }
  }

  void unreachable(std::string const& reason) const {
    if (!options_.json) return line(reason);
    print_line(json{}
                   .set("event", "unreachable")
                   .set("at", time_now())
                   .set("name", options_.name)
                   .set("error", reason)
                   .line());
  }

 private:
  void report(event const& change, lock_state const& now, bool on_both) {
    bool const both = on_both && wire_of(options_.wire) == wire::automatic;
    if (both && !warned_) output::note("warning: " + on_both_wires(options_.name));
    warned_ = warned_ || both;
    if (options_.json) return print_line(json_line(change, now));
    line((both ? fmt::format("{}: ", listing::wire_word(now)) : "") + words_of(change, now));
  }

  static std::string json_line(event const& change, lock_state const& now) {
    json object;
    object.set("event", to_string(change.kind)).set("at", time_now()).set_all(to_json(now));
    object.set("before", to_json(change.before)).set("who", to_json(change.hold.process));
    return object.line();
  }

  static void line(std::string const& text) { print_line(time_now() + "  " + output::one_line(text)); }

  watch_options const& options_;
  bool warned_ = false;
};

/// Nullopt when the server can't be reached; `reason` then has the error.
std::optional<lock_on_wires> look_again(client& redis, std::string const& name, std::string& reason) {
  try {
    return peek_on_wires(redis, name);
  } catch (error const& problem) {
    if (problem.code() != errc::unreachable) throw;
    reason = problem.what();
    return std::nullopt;
  }
}

int watch(watch_options const& options) {
  client redis{find_locks_server(options.common), {.name = "holdfast-watch", .log = output::hook()}};
  reporter report{options};
  auto const start = clock::now();
  auto last_at = start;
  auto last = peek_on_wires(redis, options.name);
  report.seen(last);
  bool out_of_reach = false;
  for (;;) {
    std::chrono::nanoseconds pause = options.interval;
    if (options.limit)
      pause = std::min<std::chrono::nanoseconds>(pause, start + *options.limit - clock::now());
    if (pause <= 0ns) return 0;
    std::this_thread::sleep_for(pause);
    check_reader();
    auto const asked_at = clock::now();
    std::string reason;
    auto now = look_again(redis, options.name, reason);
    if (!now) {
      if (!out_of_reach) report.unreachable(reason);
      out_of_reach = true;
      continue;
    }
    report.changed(last, *now, clock::now() - last_at);
    if (out_of_reach) report.seen(*now);
    out_of_reach = false;
    last = std::move(*now);
    last_at = asked_at;
  }
}

}  // namespace

void add_watch(command_line& line, action& chosen) {
  auto const options = std::make_shared<watch_options>();
  auto command = line.add_command("watch", "Show what happens to a lock, as it happens");
  command.usage("holdfast watch [OPTIONS] NAME");
  add_name(command, options->name);
  command.value("--interval", options->interval_text, "How often to look (default: 100ms, at least 10ms)",
                "DURATION");
  command.value("--for", options->for_text, "End after so long (default: never)", "DURATION");
  add_searched_wire(command, options->wire);
  add_json(command, options->json);
  add_common(command, options->common);
  command.footer(watch_footer);
  command.when_read([options, &chosen] {
    require(!options->name.empty(), "NAME is empty: say which lock");
    options->interval = duration_of("--interval", options->interval_text);
    require(options->interval >= shortest_interval, "--interval: at least 10ms");
    if (options->for_text) options->limit = duration_of("--for", *options->for_text);
    chosen = [options] {
      set_up(options->common);
      return watch(*options);
    };
  });
}

}  // namespace holdfast::cli
