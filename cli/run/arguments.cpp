#include "common/command.hpp"
#include "common/exit_codes.hpp"
#include "common/help_text.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "run/limit_options.hpp"
#include "run/lock_arguments.hpp"
#include "run/run.hpp"

#include <fmt/format.h>

#include <array>
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
  std::optional<std::string> shell_command;
  std::array<char*, 3> shell_words{};
  bool keep = false;
  bool pass_url = false;
};

on_lost policy_of(std::string const& text) {
  if (text == "term") return on_lost::term;
  if (text == "kill") return on_lost::kill;
  if (text == "warn") return on_lost::warn;
  throw failure{usage, fmt::format("--on-lost: {} is not one of term, kill and warn", output::quoted(text))};
}

/// Refuses what doesn't apply to readers, writers and slots.
void check_side(typed const& from, run_side const side) {
  if (side == run_side::alone) return;
  if (from.keep && side == run_side::shared)
    throw failure{usage,
                  "--keep: a lock to read doesn't keep other readers out; leave out --keep or --shared"};
  if (auto const limit = limit_option(from.limit); !limit.empty()) {
    throw failure{usage, fmt::format("{}: goes with a lock that has one holder at a time, so without {}",
                                     limit, option_of(side))};
  }
}

/// The words after --, or those that run the text of --command.
words_after command_of(typed& from, words_after const words) {
  if (!from.shell_command) {
    if (!words.empty()) return words;
    throw failure{usage, "no command: write it after --, as in `holdfast run nightly -- ./import.sh`"};
  }
  if (!words.empty()) throw failure{usage, "--command: there is a command after --, too; leave one out"};
  if (from.shell_command->empty()) throw failure{usage, "--command: it is empty"};
  static char shell[]{"sh"};
  static char option[]{"-c"};
  from.shell_words = {shell, option, from.shell_command->data()};
  return from.shell_words;
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
  run.command = command_of(from, words);
  run.policy = policy_of(from.policy);
  run.keep = from.keep;
  run.pass_url = from.pass_url;
  check_side(from, run.side);
  if (from.max_hold) {
    run.max_hold = duration_of("--max-hold", *from.max_hold);
    if (run.max_hold == 0ms)
      throw failure{usage, "--max-hold: 0 would hold nothing; leave it out for no limit"};
  }
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
  run.value("-c,--command", values->shell_command, "Run this by sh -c, instead of a COMMAND after --",
            "TEXT");
  add_ttl(run, values->lock,
          "How long the lock stays if its holder dies; it is renewed while the command runs");
  run.value("--max-hold", values->max_hold,
            "Hold the lock at most so long; then end the command as if the lock were lost", "DURATION");
  run.value("--on-lost", values->policy, "What to do with the command if the lock is lost (default: term)",
            "term|kill|warn");
  add_kind(run, values->lock);
  run.flag("--keep", values->keep, "Leave the lock to its ttl at the end instead of giving it back");
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
    chosen = [options = checked(*values, command), values] {  // they have the words of --command
      set_up(values->lock.common);
      return cli::run(options);
    };
  });
}

}  // namespace holdfast::cli
