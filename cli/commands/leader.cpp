/// `holdfast leader`: prints who leads an election.
#include "common/command.hpp"
#include "common/duration.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "common/standard_output.hpp"
#include "common/utc_text.hpp"
#include "probe/named_servers.hpp"
#include "server/choice.hpp"
#include "show/lock_json.hpp"

#include <holdfast/client.hpp>
#include <holdfast/election.hpp>
#include <holdfast/inspect.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto leader_footer =
    R"(Prints the value of who leads the election NAME, as `holdfast lead` or a program has published it: one line, in
which control characters are shown as \xNN. --json has the value as it is, with the term and the process.

With --watch it prints a line now and at each change, with the time: the value, the term and the process, or that
nobody leads. Terms never go back. A leader that has gone again within a round trip may be left out; a lost message
costs a second at most. While the server can't be asked, the last leader stands for the rest of its ttl and 2s.

With --hand-over the leader is asked to resign in favour of CANDIDATE, which waits to lead: its owner id, HOST,
HOST:PID or label, if that is one candidate's only (`holdfast inspect NAME` shows all). `lead` then ends its
command as if the lead were lost, resigns, and campaigns again; a program is told that its lease was released by
force. Nothing is taken from a leader that doesn't resign within --grace: CANDIDATE then leads whenever it does,
also after `holdfast release --force NAME`. On etcd a leader can't be asked.

Exit codes
  0   somebody leads; with --hand-over CANDIDATE does
  1   nobody leads, or the leader hasn't published its value yet
  64  bad option, name or URL; CANDIDATE may be one of several; 65 the key NAME holds something that is not a lock
  69  Redis can't be reached; 77 a right is missing
  75  --hand-over: CANDIDATE doesn't wait, or the leader didn't resign, or CANDIDATE has gone meanwhile
  128+n  --watch was ended by signal n: 130 by ^C, 141 if nobody reads the output any more

Examples
  holdfast leader scheduler
  holdfast leader --json scheduler | jq -r '.leader.host, .term'
  holdfast leader --hand-over web-2 scheduler
  holdfast leader --watch --json scheduler | jq --unbuffered -r '.value // "nobody"')";

/// How often the reader of the output is looked for, while nothing is printed.
constexpr auto between_checks = 1s;

struct leader_options {
  common_options common;
  std::string name;
  std::string candidate;
  std::optional<std::string> grace;
  std::chrono::milliseconds wait = 10s;
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

/// The changes that the client's thread hears of, for the thread that prints them.
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

bool is_called(process_info const& process, std::string_view const text) {
  return process.owner == text || process.label == text || process.host == text ||
         fmt::format("{}:{}", process.host, process.pid) == text;
}

std::string names_of(std::vector<process_info> const& candidates) {
  std::string all;
  for (auto const& each : candidates)
    all += fmt::format("{}{} ({})", all.empty() ? "" : "; ", output::one_line(each.to_string()), each.owner);
  return all.empty() ? "nobody" : all;
}

/// The candidate that --hand-over names. Throws failure if there is none, or more than one.
process_info candidate_of(election& contested, leader_options const& options) {
  auto const all = contested.candidates();
  std::vector<process_info> meant;
  std::ranges::copy_if(all, std::back_inserter(meant),
                       [&](auto const& each) { return is_called(each, options.candidate); });
  auto const called = output::one_line(options.candidate);
  if (meant.empty()) {
    throw failure{busy, fmt::format("--hand-over: \"{}\" doesn't wait to lead {}; these do: {}", called,
                                    output::quoted(options.name), names_of(all))};
  }
  require(meant.size() == 1, fmt::format("--hand-over: \"{}\" may be each of these; give the owner id: {}",
                                         called, names_of(meant)));
  return std::move(meant.front());
}

std::string_view word_of(hand_over_result const result) {
  switch (result) {
    case hand_over_result::handed_over:
      return "handed_over";
    case hand_over_result::no_leader:
      return "no_leader";
    case hand_over_result::not_waiting:
      return "not_waiting";
    case hand_over_result::unanswered:
      return "unanswered";
    case hand_over_result::passed_by:
      return "passed_by";
  }
  return "unknown";
}

std::string message_of(hand_over_result const result, std::string const& candidate,
                       leader_options const& options) {
  auto const name = output::quoted(options.name);
  switch (result) {
    case hand_over_result::handed_over:
      return fmt::format("{} is led by {} now", name, candidate);
    case hand_over_result::no_leader:
      return fmt::format("nobody leads {}: there is nothing to hand over", name);
    case hand_over_result::not_waiting:
      return fmt::format("{} doesn't wait to lead {} any more; its leader leads on", candidate, name);
    case hand_over_result::unanswered:
      return fmt::format("the leader of {} was asked, and hasn't resigned in {}; when it does, {} leads",
                         name, to_string(options.wait), candidate);
    case hand_over_result::passed_by:
      return fmt::format("the leader of {} has resigned, and {} doesn't lead: it has gone meanwhile", name,
                         candidate);
  }
  return {};
}

int hand_over(client& redis, election& contested, leader_options const& options) {
  auto const candidate = candidate_of(contested, options);
  auto const result = ask_to_hand_over(redis, options.name, candidate.owner, options.wait);
  if (options.json) {
    json object;
    object.set("name", options.name).set("result", word_of(result)).set("candidate", to_json(candidate));
    print_line(object.line());
  }
  auto const text = message_of(result, output::one_line(candidate.to_string()), options);
  if (result == hand_over_result::handed_over) {
    if (!options.json) output::note(text);
    return ok;
  }
  if (!options.json) output::error(text);
  return result == hand_over_result::no_leader ? not_held : busy;
}

int show_leader(leader_options const& options) {
  auto const url = find_locks_server(options.common);
  require(options.candidate.empty() || probe::named_servers{url}.kind() != probe::deployment_kind::etcd,
          "--hand-over: on etcd a leader can't be asked (docs/etcd.md); leave it out, or end the leader's "
          "process");
  client redis{url, {.name = "holdfast-leader", .log = output::hook()}};
  election watched{redis, options.name};
  if (!options.candidate.empty()) return hand_over(redis, watched, options);
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
  command.value("--hand-over", options->candidate, "Ask the leader to resign in favour of this candidate",
                "CANDIDATE");
  command.not_empty("--hand-over");
  command.excludes("--hand-over", "--watch");
  command.value("--grace", options->grace,
                "With --hand-over: wait so long until the leader has resigned (default: 10s)", "DURATION");
  add_json(command, options->json);
  add_common(command, options->common);
  command.footer(leader_footer);
  command.when_read([options, &chosen] {
    require(!options->name.empty(), "NAME is empty: say which election");
    require(!options->grace || !options->candidate.empty(), "--grace: goes with --hand-over");
    if (options->grace) options->wait = duration_of("--grace", *options->grace);
    chosen = [options] {
      set_up(options->common);
      return show_leader(*options);
    };
  });
}

}  // namespace holdfast::cli
