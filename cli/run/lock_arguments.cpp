#include "run/lock_arguments.hpp"

#include "common/configuration.hpp"
#include "common/exit_codes.hpp"
#include "run/lock_name.hpp"
#include "run/locks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t most_replicas = 1000;

run_side side_of(lock_words const& from) {
  if (from.shared && from.exclusive)
    throw failure{usage, "--shared and --exclusive: a command reads or writes; for both say --exclusive"};
  if (from.slots && (from.shared || from.exclusive))
    throw failure{usage,
                  "--slots: slots are a semaphore, --shared and --exclusive a read-write lock; choose one"};
  if (from.set_slots && !from.slots && from.with.slots.empty())
    throw failure{usage, "--set-slots: goes with --slots N, their number"};
  if (from.slots) return run_side::slot;
  if (from.shared) return run_side::shared;
  return from.exclusive ? run_side::exclusive : run_side::alone;
}

int replicas_of(lock_words const& from) {
  if (!from.replicas) return 0;
  if (*from.replicas < 1 || *from.replicas > most_replicas) {
    throw failure{usage, fmt::format("--replicas: {} is not a number of replicas; at least 1, at most {}",
                                     *from.replicas, most_replicas)};
  }
  return static_cast<int>(*from.replicas);
}

/// Refuses options that don't apply to slots.
void check_side(lock_words const& from, run_side side) {
  if (side != run_side::slot) return;
  auto const option = option_of(side);
  if (from.fair) {
    throw failure{usage,
                  fmt::format("--fair: {} has no queue on Redisson's wire, and is served in order on the "
                              "plain one without that; leave it out",
                              option)};
  }
}

std::string label_from(lock_words const& given) {
  if (given.label) return label_of("--label", *given.label);
  for (auto const& file : configuration()) {
    if (!file.label.empty()) return file.label;
  }
  return {};
}

}  // namespace

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

void add_name_and_wait(command_options& command, lock_words& to) {
  command.operand("NAME", to.name, "The name of the lock: any text; the key in Redis");
  command.required("NAME");
  command.value("-w,--wait", to.wait, "Wait at most so long for a busy lock (default: for ever)", "DURATION");
  command.flag("-n,--no-wait", to.no_wait, "Don't wait for a busy lock");
  command.excludes("--no-wait", "--wait");
  command.value("--wait-server", to.wait_server,
                "Wait at most so long for a server that can't be reached, or is silent (default: as --wait; "
                "without that 2s, and not at all if nothing listens there)",
                "DURATION");
}

void add_ttl(command_options& command, lock_words& to, std::string const& text) {
  command.value("--ttl", to.ttl, text + " (default: 30s, at least 10ms)", "DURATION");
}

void add_durability(command_options& command, lock_words& to) {
  command.value(
      "--replicas", to.replicas,
      "The lock counts only when N replicas have it, too; with fewer it is given back: exit code 69", "N");
  command.flag(
      "--fsynced", to.fsynced,
      "The lock counts only when it is on disk, too, also on the N replicas (Redis 7.2, appendonly yes)");
}

void add_label(command_options& command, lock_words& to) {
  command.value("--label", to.label,
                "What this job is; others that find the lock busy see it (at most 200 bytes)", "TEXT");
}

void add_history(command_options& command, lock_words& to) {
  command.value("--history", to.history,
                "Write what becomes of the lock to this file, for `holdfast judge` (docs/history.md)",
                "FILE");
  command.not_empty("--history");
}

void add_kind(command_options& command, lock_words& to) {
  command.flag(
      "--fair", to.fair,
      "First come, first served, over all hosts; without it a newcomer may overtake for a short time");
  command.flag("--shared", to.shared, "Read: together with other readers, but not with an --exclusive one");
  command.flag(
      "--exclusive", to.exclusive,
      "Write: alone, in the order of arrival; without --shared and --exclusive a command writes, too");
  command.value("--slots", to.slots,
                "Run at most N commands at a time, on all hosts together; all callers must give the same N",
                "N");
  command.flag("--set-slots", to.set_slots, "With --slots: change the number of slots if it is another one");
  add_durability(command, to);
  add_wire(command, to.wire, "plain|redisson", "How the lock looks in Redis (default: as the URL says)");
  add_label(command, to);
}

run_options lock_options_of(lock_words const& from, std::string_view const command) {
  if (from.name.empty())
    throw failure{usage,
                  fmt::format("NAME is empty: give the lock a name, as in `holdfast {} nightly`", command)};
  run_options lock{.name = lock_name_of("NAME", from.name),
                   .command = {},
                   .wait = {},
                   .label = label_from(from),
                   .history = from.history,
                   .side = side_of(from),
                   .slots = from.slots ? checked_slots("--slots", *from.slots) : 0,
                   .with = with_of(from.with),
                   .set_slots = from.set_slots,
                   .replicas = replicas_of(from),
                   .fsynced = from.fsynced,
                   .wire = wire_of(from.wire),
                   .fair = from.fair,
                   .limit = {},
                   .server = from.common};
  check_side(from, lock.side);
  check_with(lock);
  if (from.wait) lock.wait = duration_of("--wait", *from.wait);
  if (from.no_wait) lock.wait = 0ms;
  if (from.wait_server) lock.wait_server = duration_of("--wait-server", *from.wait_server);
  if (auto const ttl = from.ttl ? std::optional{ttl_of("--ttl", *from.ttl)} : configured_ttl())
    lock.ttl = *ttl;
  return lock;
}

namespace {

void check_together(run_options const& options, probe::named_servers const& servers) {
  if (options.with.empty()) return;
  if ((options.wire == wire::automatic ? servers.wire() : options.wire) == wire::redisson) {
    throw failure{
        usage,
        "--with: names are taken together on the plain wire only; leave out --wire redisson, or the "
        "?wire=redisson of the URL"};
  }
  std::vector<std::string> names;
  for (auto const& each : names_of(options)) names.push_back(each.name);
  if (servers.keep_together(names)) return;
  throw failure{usage,
                fmt::format("--with: in a cluster the names have to be in one hash slot, so with one part in "
                            "braces, as in \"{{orders}}:7\" and \"{{orders}}:rates\"; {} are not",
                            title_of(options))};
}

/// What the library can't refuse, since it is the command's own.
void check_fits_etcd(run_options const& options) {
  auto const refuse = [](std::string_view const option, std::string_view const reason) {
    throw failure{usage, fmt::format("{}: {}; leave it out, or give the URL of a Redis", option, reason)};
  };
  auto const names = names_of(options);
  auto const other = std::ranges::find_if(names, [](run_name const& wanted) {
    return wanted.side == run_side::shared || wanted.side == run_side::slot;
  });
  if (names.size() > 1 && other != names.end())
    refuse(other->side == run_side::slot ? "--slots and --with-slots" : "--shared and --with-shared",
           "on etcd several names are taken together to write only");
  if (options.limit)
    refuse("--once-per and --at-most-every", "nobody writes down on etcd when a job last ran");
  if (options.keep) refuse("--keep", "on etcd a key lasts no longer than its process and a ttl");
}

}  // namespace

void check_fits(run_options const& options, probe::named_servers const& servers) {
  if (servers.kind() == probe::deployment_kind::etcd) return check_fits_etcd(options);
  if (servers.kind() != probe::deployment_kind::quorum) return check_together(options, servers);
  if (options.lead_value) {
    throw failure{usage,
                  "lead: the servers of redis+quorum:// know nothing of each other, so they have no common "
                  "queue of candidates; use redis://, redis+sentinel:// or redis+cluster://"};
  }
  if (options.detect_deadlock) {
    throw failure{usage,
                  "--detect-deadlock: the servers of redis+quorum:// may name different holders at a time; "
                  "leave it out, and use --wait"};
  }
  constexpr auto instead = "leave it out, or use redis://, redis+sentinel:// or redis+cluster://";
  if (!options.with.empty()) {
    throw failure{
        usage,
        fmt::format("--with: the servers of redis+quorum:// vote about one name at a time; {}", instead)};
  }
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

}  // namespace holdfast::cli
