#include "common/command.hpp"
#include "common/exit_codes.hpp"
#include "common/help_text.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "run/limit_options.hpp"
#include "run/run.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto shortest_ttl = 10ms;
constexpr std::size_t longest_label = 200;  // client_options::label
constexpr std::int64_t most_replicas = 1000;

/// The values as given; durations are parsed after CLI11 is done, for messages of our own.
struct typed {
  common_options common;
  std::string name;
  std::optional<std::string> wait;
  std::string ttl = "30s";
  std::optional<std::string> max_hold;
  limit_words limit;
  std::string policy = "term";
  std::string label;
  std::optional<std::int64_t> slots;
  std::optional<std::int64_t> replicas;
  std::string wire;
  bool no_wait = false;
  bool fsynced = false;
  bool fair = false;
  bool keep = false;
  bool shared = false;
  bool exclusive = false;
};

on_lost policy_of(std::string const& text) {
  if (text == "term") return on_lost::term;
  if (text == "kill") return on_lost::kill;
  if (text == "warn") return on_lost::warn;
  throw failure{usage, fmt::format("--on-lost: {} is not one of term, kill and warn", output::quoted(text))};
}

run_side side_of(typed const& from) {
  if (from.shared && from.exclusive)
    throw failure{usage, "--shared and --exclusive: a command reads or writes; for both say --exclusive"};
  if (from.slots && (from.shared || from.exclusive))
    throw failure{usage,
                  "--slots: slots are a semaphore, --shared and --exclusive a read-write lock; choose one"};
  if (from.slots && *from.slots < 1)
    throw failure{usage, fmt::format("--slots: {} is not a number of slots; at least 1", *from.slots)};
  if (from.slots) return run_side::slot;
  if (from.shared) return run_side::shared;
  return from.exclusive ? run_side::exclusive : run_side::alone;
}

int replicas_of(typed const& from) {
  if (!from.replicas) return 0;
  if (*from.replicas < 1 || *from.replicas > most_replicas) {
    throw failure{usage, fmt::format("--replicas: {} is not a number of replicas; at least 1, at most {}",
                                     *from.replicas, most_replicas)};
  }
  return static_cast<int>(*from.replicas);
}

std::string_view option_of(run_side const side) {
  switch (side) {
    case run_side::shared:
      return "--shared";
    case run_side::exclusive:
      return "--exclusive";
    case run_side::slot:
      return "--slots";
    case run_side::alone:
      break;
  }
  return {};
}

/// For locks that only Redisson's wire has: refuses options that don't apply to them.
void check_side(typed const& from, run_side side) {
  if (side == run_side::alone) return;
  auto const option = option_of(side);
  if (from.fair) {
    throw failure{usage,
                  fmt::format("--fair: {} has no queue in Redis that could be served in order; leave one "
                              "of them out",
                              option)};
  }
  if (from.keep && side == run_side::shared)
    throw failure{usage,
                  "--keep: a lock to read doesn't keep other readers out; leave out --keep or --shared"};
  if (auto const limit = limit_option(from.limit); !limit.empty()) {
    throw failure{usage, fmt::format("{}: goes with a lock that has one holder at a time, so without {}",
                                     limit, option)};
  }
  if (from.wire == "plain")
    throw failure{usage, fmt::format("--wire: {} exists on Redisson's wire only; leave --wire out", option)};
}

run_options checked(typed const& from, words_after const command) {
  if (from.name.empty())
    throw failure{usage, "NAME is empty: give the lock a name, as in `holdfast run nightly -- …`"};
  if (command.empty()) {
    throw failure{usage, "no command: write it after --, as in `holdfast run nightly -- ./import.sh`"};
  }
  if (from.label.size() > longest_label) {
    throw failure{
        usage, fmt::format("--label: {} bytes are too many; at most {}", from.label.size(), longest_label)};
  }
  run_options run{.name = from.name,
                  .command = command,
                  .wait = {},
                  .policy = policy_of(from.policy),
                  .label = from.label,
                  .side = side_of(from),
                  .slots = from.slots.value_or(0),
                  .replicas = replicas_of(from),
                  .fsynced = from.fsynced,
                  .wire = wire_of(from.wire),
                  .fair = from.fair,
                  .keep = from.keep,
                  .limit = {},
                  .url = from.common.url};
  check_side(from, run.side);
  if (from.wait) run.wait = duration_of("--wait", *from.wait);
  if (from.no_wait) run.wait = 0ms;
  run.ttl = duration_of("--ttl", from.ttl);
  if (run.ttl < shortest_ttl) {
    throw failure{usage, fmt::format("--ttl: {} is too short; at least 10ms, better some seconds", from.ttl)};
  }
  if (from.max_hold) {
    run.max_hold = duration_of("--max-hold", *from.max_hold);
    if (run.max_hold == 0ms)
      throw failure{usage, "--max-hold: 0 would hold nothing; leave it out for no limit"};
  }
  run.limit = limit_of(from.limit);
  if (run.limit && !run.wait) run.wait = 0ms;
  return run;
}

}  // namespace

void check_fits(run_options const& options, probe::deployment_kind const servers) {
  if (servers != probe::deployment_kind::quorum) return;
  constexpr auto instead = "leave it out, or use redis://, redis+sentinel:// or redis+cluster://";
  if (options.side != run_side::alone) {
    throw failure{usage,
                  fmt::format("{}: the servers of redis+quorum:// vote about locks that have one holder "
                              "at a time; {}",
                              option_of(options.side), instead)};
  }
  if (options.fair) {
    throw failure{usage, fmt::format("--fair: the servers of redis+quorum:// know nothing of each other, so "
                                     "they have no common queue; {}",
                                     instead)};
  }
  if (options.replicas != 0 || options.fsynced) {
    throw failure{usage, fmt::format("{}: with redis+quorum:// a majority of masters has the lock, "
                                     "whatever their replicas and disks do; {}",
                                     options.replicas != 0 ? "--replicas" : "--fsynced", instead)};
  }
}

void add_run(command_line& line, action& chosen, words_after const command) {
  auto const values = std::make_shared<typed>();
  auto run = line.add_command("run", "Run a command while holding a lock");
  run.usage("holdfast run [OPTIONS] NAME -- COMMAND [ARG...]");
  run.operand("NAME", values->name, "The name of the lock: any text; the key in Redis");
  run.required("NAME");
  run.value("--wait", values->wait, "Wait at most so long for a busy lock (default: for ever)", "DURATION");
  run.flag("--no-wait", values->no_wait, "Don't wait for a busy lock");
  run.excludes("--no-wait", "--wait");
  run.value("--ttl", values->ttl,
            "How long the lock stays if its holder dies; it is renewed while the command runs "
            "(default: 30s, at least 10ms)",
            "DURATION");
  run.value("--max-hold", values->max_hold,
            "Hold the lock at most so long; then end the command as if the lock were lost", "DURATION");
  run.value("--on-lost", values->policy, "What to do with the command if the lock is lost (default: term)",
            "term|kill|warn");
  run.flag("--fair", values->fair,
           "First come, first served, over all hosts; without it a newcomer may overtake for a short time");
  run.flag("--shared", values->shared, "Read: together with other readers, but not with an --exclusive one");
  run.flag("--exclusive", values->exclusive,
           "Write: alone; the other side of --shared. Without both options NAME is a lock of another kind");
  run.value("--slots", values->slots,
            "Run at most N commands at a time, on all hosts together; all callers must give the same N", "N");
  run.value("--replicas", values->replicas,
            "The lock counts only when N replicas have it, too; with fewer it is given back: exit code 69",
            "N");
  run.flag(
      "--fsynced", values->fsynced,
      "The lock counts only when it is on disk, too, also on the N replicas (Redis 7.2, appendonly yes)");
  add_wire(run, values->wire, "plain|redisson", "How the lock looks in Redis (default: as the URL says)");
  run.flag("--keep", values->keep, "Leave the lock to its ttl at the end instead of giving it back");
  add_limit(run, values->limit);
  run.excludes("--once-per", "--keep");
  run.excludes("--at-most-every", "--keep");
  run.value("--label", values->label,
            "What this job is; others that find the lock busy see it (at most 200 bytes)", "TEXT");
  add_common(run, values->common);
  run.footer(run_footer);
  run.when_read([values, command, &chosen] {
    chosen = [options = checked(*values, command), common = values->common] {
      set_up(common);
      return cli::run(options);
    };
  });
}

}  // namespace holdfast::cli
