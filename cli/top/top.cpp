// `holdfast top`: shows the most contended locks, live.
#include "common/boot_time.hpp"
#include "common/command.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "common/standard_output.hpp"
#include "server/choice.hpp"
#include "show/lock_json.hpp"
#include "show/lock_search.hpp"
#include "top/screen.hpp"
#include "top/signals.hpp"
#include "top/view.hpp"
#include "top/watch.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto top_footer =
    R"(Shows the 1000 most contended locks: first those with most waiting processes, then those with most
acquisitions a second, then those that are held longest. PATTERN and --wire are as for `holdfast ls`, and so is the
cost of a search.

`top` searches the server for locks in small steps (SCAN), with pauses if that takes long. It looks again at the
locks that it has found each interval. The rate of acquisitions is estimated: each look shows the time of the last
acquisition.

Keys
  q quit   p pause   ? help   arrows, page up, page down, home, end: scroll   ^L redraw

A name that is in use on both wires has two rows.

On etcd (docs/etcd.md) it shows the locks below the prefix of the URL, whoever has them, in pages of a thousand keys.
For how long a lock has been held isn't known there, and at most one acquisition is seen in each look.

With --once it looks for one interval, and prints a table. With --json it prints one object on one line each
interval, or a single one with --once, and needs no terminal. While the server can't be reached, it prints one
object with the error and goes on trying.

Exit codes
  0   left with q, or --once is done; 128+n ended by signal n
  64  bad option, pattern or URL, or not a terminal; 69 the server can't be reached at the start; 77 a right is missing

Examples
  holdfast top
  holdfast top 'orders:*' --interval 500ms
  holdfast top --once --json | jq -r '.locks[0].name')";

struct top_options {
  common_options common;
  std::string pattern = "*";
  std::string wire;
  std::string interval_text = "1s";
  std::chrono::milliseconds interval{};
  bool once = false;
  bool json = false;
};

std::string json_of(std::string_view const server, std::vector<top_row> const& rows) {
  auto locks = json::list();
  for (auto const& row : rows) {
    auto lock = to_json(row.lock);
    lock.set("acquired_per_s", row.rate);
    locks.add(std::move(lock));
  }
  return json{}.set("server", server).set("locks", std::move(locks)).line();
}

int print_once(top_options const& options) {
  client redis{find_locks_server(options.common), {.name = "holdfast-top", .log = output::hook()}};
  auto const seen = top_watch::look_for(redis, options.pattern, options.wire, options.interval);
  if (options.json) {
    print_line(json_of(redis.url(), seen.rows));
  } else {
    for (auto const& line : table_lines(seen.rows)) print_line(line);
  }
  if (!seen.trouble.empty()) output::note(seen.trouble);
  return ok;
}

/// Goes on through outages of the server after it was reached once. Ends by a signal, or by an error.
[[noreturn]] void print_each_interval(top_options const& options) {
  client redis{find_locks_server(options.common), {.name = "holdfast-top", .log = output::hook()}};
  redis.connect();
  std::string last_trouble;
  for (bool out_of_reach = false;;) {
    try {
      auto const seen = top_watch::look_for(redis, options.pattern, options.wire, options.interval);
      out_of_reach = false;
      print_line(json_of(redis.url(), seen.rows));
      if (!seen.trouble.empty() && seen.trouble != last_trouble) output::note(seen.trouble);
      last_trouble = seen.trouble;
    } catch (error const& problem) {
      if (problem.code() != errc::unreachable) throw;
      if (!out_of_reach) print_line(json{}.set("server", redis.url()).set("error", problem.what()).line());
      out_of_reach = true;
      std::this_thread::sleep_for(options.interval);
      check_reader();
    }
  }
}

/// The interactive mode: draws the state and applies keys.
class top_session {
 public:
  explicit top_session(top_options const& options)
      : interval_{options.interval},
        watch_{find_locks_server(options.common), options.pattern, options.wire, options.interval} {
    state_.server = watch_.server();
  }

  int run() {
    std::optional<top_screen> screen{std::in_place};
    int const signal = look_until_the_end(*screen);
    screen.reset();  // before the watch ends, which may wait for a server that doesn't answer
    if (signal != 0) throw ended_by_signal{signal};
    return ok;
  }

 private:
  /// Returns 0, or the signal that ended it.
  int look_until_the_end(top_screen& screen) {
    for (;;) {
      draw_on(screen);
      // The first rows are shown before the first interval is over.
      auto const event =
          signals_.wait(state_.searched ? interval_ : std::min<std::chrono::milliseconds>(interval_, 100ms));
      using kind = top_signals::kind;
      switch (event.type) {
        case kind::nothing:
          break;
        case kind::input:
          for (auto pressed = screen.read_key(); pressed != key::none; pressed = screen.read_key()) {
            if (pressed == key::quit) return 0;
            if (pressed == key::redraw) screen.redraw();
            apply(pressed, screen.size());
          }
          break;
        case kind::end:
          return event.signal;
        case kind::resized:
          screen.resize();
          break;
        case kind::stop:
          screen.suspend();
          signals_.stop_here();
          screen.resume();
          break;
        case kind::continued:
          screen.resume();
          break;
      }
    }
  }

  void draw_on(top_screen& screen) {
    if (!state_.paused) {
      auto now = watch_.now();
      state_.rows = std::move(now.rows);
      state_.trouble = std::move(now.trouble);
      state_.searched = now.searched;
    }
    state_.first = std::min(state_.first, last_first(screen.size()));
    screen.show(draw(state_, screen.size()));
  }

  [[nodiscard]] std::size_t last_first(size_in_cells const size) const {
    auto const room = rows_that_fit(size);
    return state_.rows.size() > room ? state_.rows.size() - room : 0;
  }

  void apply(key const pressed, size_in_cells const size) {
    auto const page = std::max<std::size_t>(rows_that_fit(size), 1);
    auto const up = [this](std::size_t const by) { state_.first -= std::min(by, state_.first); };
    auto const down = [&](std::size_t const by) {
      state_.first = std::min(state_.first + by, last_first(size));
    };
    switch (pressed) {
      case key::none:
      case key::quit:
      case key::redraw:
        break;
      case key::up:
        return up(1);
      case key::down:
        return down(1);
      case key::page_up:
        return up(page);
      case key::page_down:
        return down(page);
      case key::home:
        return up(state_.first);
      case key::end:
        return down(state_.rows.size());
      case key::help:
        state_.help = !state_.help;
        break;
      case key::pause:
        state_.paused = !state_.paused;
        state_.paused ? watch_.pause() : watch_.go_on();
        break;
    }
  }

  std::chrono::milliseconds interval_;
  top_signals signals_{};  // first: the threads of the other members inherit the blocked signals
  top_watch watch_;
  top_state state_{};
};

int top(top_options const& options) {
  if (options.once) return print_once(options);
  if (options.json) print_each_interval(options);
  return top_session{options}.run();
}

}  // namespace

void add_top(command_line& line, action& chosen) {
  auto const options = std::make_shared<top_options>();
  auto command = line.add_command("top", "Show the most contended locks, live");
  command.usage("holdfast top [OPTIONS] [PATTERN]");
  command.operand("PATTERN", options->pattern, "Only names that match, like 'orders:*'");
  command.value("--interval", options->interval_text,
                "Look again after so long (default: 1s, at least 100ms)", "DURATION");
  command.flag("--once", options->once, "Print one table and exit");
  add_searched_wire(command, options->wire);
  add_json(command, options->json);
  add_common(command, options->common);
  command.footer(top_footer);
  command.when_read([options, &chosen] {
    require(!options->pattern.empty(), "PATTERN is empty: leave it out for all locks");
    options->interval = duration_of("--interval", options->interval_text);
    require(options->interval >= 100ms, "--interval: at least 100ms");
    chosen = [options] {
      set_up(options->common);
      return top(*options);
    };
  });
}

}  // namespace holdfast::cli
