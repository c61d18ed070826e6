#include "common/command.hpp"
#include "common/exit_codes.hpp"
#include "common/help_text.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "run/command_words.hpp"
#include "run/limit_options.hpp"
#include "run/lock_arguments.hpp"
#include "run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

/// The values as given.
struct typed {
  lock_words lock;
  std::optional<std::string> max_hold;
  limit_words limit;
  std::string policy = "term";
  std::string again;
  command_words command;
  bool keep = false;
  bool detect_deadlock = false;
  bool pass_url = false;
};

bool any_is(run_options const& run, run_side const side) {
  return std::ranges::count(names_of(run), side, &run_name::side) != 0;
}

/// Refuses what doesn't apply to readers, writers and slots.
void check_side(typed const& from, run_options const& run) {
  auto const side = run.side;
  if (from.detect_deadlock && any_is(run, run_side::slot)) {
    throw failure{usage,
                  "--detect-deadlock: a slot may come from anybody, so nothing says for whom a run waits; "
                  "leave it out, and use --wait"};
  }
  if (from.detect_deadlock && !run.with.empty() && any_is(run, run_side::shared)) {
    throw failure{
        usage,
        "--detect-deadlock: of names that are taken together, all have to be taken to write, by --with; "
        "leave it out, and use --wait"};
  }
  if (from.keep && any_is(run, run_side::shared))
    throw failure{usage,
                  "--keep: a lock to read doesn't keep other readers out; leave out --keep or --shared"};
  if (side == run_side::alone) return;
  if (auto const limit = limit_option(from.limit); !limit.empty()) {
    throw failure{usage, fmt::format("{}: goes with a lock that has one holder at a time, so without {}",
                                     limit, option_of(side))};
  }
}

run_again again_of(typed const& from) {
  if (from.again.empty()) return run_again::no;
  if (auto const limit = limit_option(from.limit); !limit.empty()) {
    throw failure{usage,
                  fmt::format("--again: {} says how often the job may run, so it isn't run again; leave "
                              "one of them out",
                              limit)};
  }
  if (from.keep)
    throw failure{
        usage,
        "--again: --keep leaves the lock to its ttl, for which it would be waited; leave one of them out"};
  return from.again == "always" ? run_again::always : run_again::on_loss;
}

run_options checked(typed& from, words_after const words) {
  auto run = lock_options_of(from.lock, "run");
  run.command = command_of(from.command, words, "run nightly -- ./import.sh");
  run.policy = policy_of(from.policy, "term, kill and warn");
  run.keep = from.keep;
  run.pass_url = from.pass_url;
  run.detect_deadlock = from.detect_deadlock;
  check_side(from, run);
  run.max_hold = max_hold_of(from.max_hold);
  run.again = again_of(from);
  run.limit = limit_of(from.limit);
  if (run.limit && !run.wait) run.wait = 0ms;
  return run;
}

}  // namespace

void add_run(command_line& line, action& chosen, words_after const command) {
  auto const values = std::make_shared<typed>();
  auto run = line.add_command("run", "Run a command while holding a lock");
  run.usage("holdfast run [OPTIONS] NAME -- COMMAND [ARG...]");
  add_name_and_wait(run, values->lock);
  run.value("-c,--command", values->command.shell, "Run this by sh -c, instead of a COMMAND after --",
            "TEXT");
  add_ttl(run, values->lock,
          "How long the lock stays if its holder dies; it is renewed while the command runs");
  run.value("--max-hold", values->max_hold,
            "Hold the lock at most so long; then end the command as if the lock were lost", "DURATION");
  run.value("--on-lost", values->policy, "What to do with the command if the lock is lost (default: term)",
            "term|kill|warn");
  add_kind(run, values->lock);
  add_with(run, values->lock.with);
  add_history(run, values->lock);
  run.flag("--keep", values->keep, "Leave the lock to its ttl at the end instead of giving it back");
  run.flag(
      "--detect-deadlock", values->detect_deadlock,
      "Fail (75) instead of waiting without end, when each of several runs in the command of another one "
      "waits for a lock of the next");
  add_limit(run, values->limit);
  run.excludes("--once-per", "--keep");
  run.excludes("--at-most-every", "--keep");
  run.choice_or(
      "--again", "on-loss", values->again,
      "Wait for the lock and run the command again: when the lock was lost, or always, also when the "
      "command has ended by itself",
      "on-loss|always");
  run.flag("--pass-url", values->pass_url,
           "Let COMMAND have the URL with its password in HOLDFAST_URL, for a holdfast of its own");
  add_common(run, values->lock.common);
  run.footer(run_footer);
  run.when_read([values, command, &chosen] {
    chosen = [options = checked(*values, command), values] {  // `values` has the words of --command
      set_up(values->lock.common);
      return cli::run(options);
    };
  });
}

}  // namespace holdfast::cli
