/// `holdfast leader`: prints who leads an election.
#include "common/command.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "common/standard_output.hpp"
#include "common/utc_text.hpp"
#include "server/choice.hpp"
#include "show/lock_json.hpp"

#include <holdfast/client.hpp>
#include <holdfast/election.hpp>

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto leader_footer =
    R"(Prints the value of who leads the election NAME, as `holdfast lead` or a program has published it: one line, in
which control characters are shown as \xNN. --json has the value as it is, with the term and the process.

With --watch it prints a line now and at each change, with the time: the value, the term and the process, or that
nobody leads. Terms never go back. A leader that has gone again within a round trip may be left out; a lost message
costs a second at most. While the server can't be asked, the last leader stands for the rest of its ttl and 2s.

Exit codes
  0   somebody leads
  1   nobody leads, or the leader hasn't published its value yet
  64  bad option, name or URL; 65 the key NAME holds something that is not a lock
  69  Redis can't be reached; 77 a right is missing
  128+n  --watch was ended by signal n: 130 by ^C, 141 if nobody reads the output any more

Examples
  holdfast leader scheduler
  holdfast leader --json scheduler | jq -r '.leader.host, .term'
  holdfast leader --watch --json scheduler | jq --unbuffered -r '.value // "nobody"')";

/// How often the reader of the output is looked for, while nothing is printed.
constexpr auto between_checks = 1s;

struct leader_options {
  common_options common;
  std::string name;
  bool watch = false;
  bool json = false;
};

/// null for all where nobody leads.
json json_of(std::string const& name, std::optional<leader_info> const& leader) {
  json object;
  object.set("name", name);
  if (!leader) return std::move(object.set("value", json{}).set("term", json{}).set("leader", json{}));
  object.set("value", leader->value).set("term", leader->term);
  return std::move(object.set("leader", to_json(leader->process)));
}

/// The changes that the client's thread hears of, for the one that prints.
class changes_to_print {
 public:
  void add(std::optional<leader_info> const& leader) {
    {
      std::scoped_lock const hold{guard_};
      all_.push_back(leader);
    }
    added_.notify_one();
  }
  /// The next one; nullopt: none has come for a while.
  [[nodiscard]] std::optional<std::optional<leader_info>> next() {
    std::unique_lock hold{guard_};
    if (!added_.wait_for(hold, between_checks, [this] { return !all_.empty(); })) return std::nullopt;
    auto first = std::move(all_.front());
    all_.pop_front();
    return first;
  }

 private:
  std::mutex guard_;
  std::condition_variable added_;
  std::deque<std::optional<leader_info>> all_;
};

void print_change(leader_options const& options, std::optional<leader_info> const& leader) {
  auto const at = utc_text(std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()));
  if (options.json) {
    json object;
    print_line(object.set("at", at).set_all(json_of(options.name, leader)).line());
    return;
  }
  auto const text = leader ? fmt::format("{}, term {}, {}", output::one_line(leader->value), leader->term,
                                         leader->process.to_string())
                           : std::string{"nobody leads"};
  print_line(at + "  " + text);
}

int watch_leader(election& watched, leader_options const& options) {
  changes_to_print changes;
  [[maybe_unused]] auto const observer =
      watched.observe([&changes](auto const& leader) { changes.add(leader); });
  for (;;) {
    if (auto const change = changes.next()) {
      print_change(options, *change);
    } else {
      check_reader();
    }
  }
}

int show_leader(leader_options const& options) {
  client redis{find_locks_server(options.common), {.name = "holdfast-leader", .log = output::hook()}};
  election watched{redis, options.name};
  auto const leader = watched.leader();
  if (options.watch) return watch_leader(watched, options);
  if (options.json) {
    print_line(json_of(options.name, leader).line());
  } else if (leader) {
    print_line(output::one_line(leader->value));
  }
  return leader ? ok : not_held;
}

}  // namespace

void add_leader(command_line& line, action& chosen) {
  auto const options = std::make_shared<leader_options>();
  auto command = line.add_command("leader", "Show who leads an election");
  command.usage("holdfast leader [OPTIONS] NAME");
  add_name(command, options->name);
  command.flag("--watch", options->watch, "Print a line at each change, until interrupted");
  add_json(command, options->json);
  add_common(command, options->common);
  command.footer(leader_footer);
  command.when_read([options, &chosen] {
    require(!options->name.empty(), "NAME is empty: say which election");
    chosen = [options] {
      set_up(options->common);
      return show_leader(*options);
    };
  });
}

}  // namespace holdfast::cli
