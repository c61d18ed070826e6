#include "run/run.hpp"

#include "common/boot_time.hpp"
#include "common/duration.hpp"
#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "probe/lease_in_history.hpp"
#include "probe/named_servers.hpp"
#include "process/inherited_files.hpp"
#include "process/service_manager.hpp"
#include "process/signals.hpp"
#include "run/acquire_if_due.hpp"
#include "run/give_back.hpp"
#include "run/lock_arguments.hpp"
#include "run/lock_client.hpp"
#include "run/locks.hpp"
#include "run/outer_lock.hpp"
#include "run/pause.hpp"
#include "run/repetition.hpp"
#include "run/run_notes.hpp"
#include "run/supervise.hpp"
#include "run/wait_for_lock.hpp"
#include "server/choice.hpp"
#include "server/passwords.hpp"

#include <holdfast/lease.hpp>

#include <fmt/format.h>

#include <stdlib.h>

#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

struct servers_of_run {
  std::string whole;  ///< the URL
  std::string shown;  ///< the URL without its password
};

/// The exit code as far as it is known before the release.
int exit_code_of(run_options const& options, supervision const& seen) {
  return seen.lost && options.policy != on_lost::warn ? lost : seen.code;
}

/// Notes the end of the command, if that is wanted and the lock may still be ours, and keeps the lock for
/// --keep, else releases it. After a release by force it is always released, since another process waits for
/// it. A lease that has run out meanwhile was not lost while the command ran: the result is `unknown`.
release_result finish(run_options const& options, lease held, std::optional<run_notes>& notes,
                      supervision const& seen, signals const& receiver) {
  auto const cause = held.lost_because();
  bool const forced = cause == loss_cause::forced;
  bool const was_held = held.valid();
  if (notes && (cause == loss_cause::none || cause == loss_cause::limit_reached || forced))
    notes->end(held, exit_code_of(options, seen),
               forced ? run_notes::ended::not_counted : run_notes::ended::counted, receiver);
  auto const cause_then = held.lost_because();
  auto const deadline = boot_time() + held.remaining();
  auto const result =
      options.keep && !forced ? held.keep_until_expiry() : give_back(std::move(held), receiver);
  bool const ran_out = was_held && boot_time() >= deadline &&
                       (cause_then == loss_cause::none || cause_then == loss_cause::unreachable);
  return ran_out && result == release_result::lost ? release_result::unknown : result;
}

/// The exit code. The release may report that the lock was lost while the command ran, which the holder could
/// not know.
int conclude(run_options const& options, supervision const& seen, release_result const released) {
  auto const name = title_of(options);
  switch (released) {
    case release_result::kept:
      output::info(
          fmt::format("{} kept: it comes free when its ttl ({}) is over", name, to_string(options.ttl)));
      break;
    case release_result::released:
      output::info(fmt::format("{} released", name));
      break;
    case release_result::unknown:
      note_unconfirmed_release(options);
      break;
    case release_result::lost:
      if (seen.lost) break;
      output::error(
          fmt::format("{} was lost while the command ran: at the release it was no longer ours; "
                      "another holder may have run at the same time",
                      name));
      return options.policy == on_lost::warn ? seen.code : lost;
  }
  return exit_code_of(options, seen);
}

/// Locks in Redisson's format have no tokens.
std::vector<std::string> environment_for(run_options const& options, lease const& held) {
  std::vector<std::string> all{
      fmt::format("HOLDFAST_NAME={}", options.name),
      fmt::format("HOLDFAST_OWNER={}", owner_of(held, options, names_of(options).front()))};
  if (held.token() != 0) {
    all.push_back(fmt::format("HOLDFAST_TOKEN={}", held.token()));
  } else {
    unsetenv("HOLDFAST_TOKEN");  // that of an outer run is for another lock
  }
  auto outer = outer_locks_for_command(held, options);
  all.insert(all.end(), std::make_move_iterator(outer.begin()), std::make_move_iterator(outer.end()));
  return all;
}

/// Not for a lock that is to be kept. The URL, which may have a password in it, is not for `ps`; no other
/// password is to be put into it.
release_program release_program_for(run_options const& options, lease const& held, std::string const& url) {
  // On etcd the guard leaves it to the ttl.
  if (options.keep || probe::named_servers{url}.kind() == probe::deployment_kind::etcd) return {};
  std::vector<std::string> words{"/proc/self/exe", "release", "--owner", held.owner()};
  if (options.wire != wire::automatic && options.side == run_side::alone && options.with.empty())
    words.insert(words.end(), {"--wire", options.wire == wire::plain ? "plain" : "redisson"});
  words.emplace_back("--");
  for (auto& each : names_of(options)) words.push_back(std::move(each.name));
  release_program program{
      .words = std::move(words),
      .environment = {"HOLDFAST_URL=" + url, "HOLDFAST_PASSWORD=", "CREDENTIALS_DIRECTORY="}};
  if (auto const found = probe::find_in_history(held)) {
    program.environment.push_back(fmt::format("{}={}", probe::lease_in_history_variable, found->text));
    program.output = found->history;
  }
  return program;
}

/// One turn. `notes`: of the command, if any are to be made.
turn run_under(run_lock& lock, std::optional<run_notes>& notes, servers_of_run const& server_urls,
               run_options const& options, signals const& receiver, inherited_files const& files,
               service_manager const& manager) {
  auto const& server = server_urls.shown;
  manager.tell(fmt::format("STATUS=waiting for {} on {}", title_of(options), server));
  auto granted = options.limit ? acquire_if_due(lock, *notes, options, receiver, server)
                               : wait_for_lock(lock, options, receiver, server);
  report_failed_wait(granted);
  if (!granted.held) return {.code = granted.code};
  auto held = std::move(*granted.held);
  auto const began = boot_time();
  if (notes) notes->start_clock();
  auto const acquired = fmt::format("{} acquired{}", title_of(options),
                                    held.token() == 0 ? "" : fmt::format(", token {}", held.token()));
  output::info(acquired);
  manager.tell(fmt::format("READY=1\nSTATUS={}", acquired));

  supervision seen;
  try {
    // We may have been stopped since the grant, or the machine suspended.
    if (!held.valid()) {
      throw failure{lost, fmt::format("{} was lost before the command was started; it was not started",
                                      title_of(options))};
    }
    command_start start{.environment = environment_for(options, held),
                        .give_back = release_program_for(options, held, server_urls.whole)};
    seen = supervise(options, std::move(start), held, receiver, files);
  } catch (failure const& problem) {
    // The command has not run, so there is no reason to keep others out.
    if (options.limit) notes->end(held, problem.code(), run_notes::ended::not_counted, receiver);
    static_cast<void>(give_back(std::move(held), receiver));
    throw;
  }
  auto const code = conclude(options, seen, finish(options, std::move(held), notes, seen, receiver));
  return {.code = code,
          .signal = code == seen.code ? seen.signal : 0,
          .ran = true,
          .lost = seen.lost || code == lost,
          .held_for = boot_time() - began};
}

/// A turn that others may follow. After the first turn an error of the server isn't the end, nor a program
/// that is missing, since a newer one may be about to replace it.
template <class Turn>
turn one_of_several(Turn one_turn, bool const first) {
  try {
    return one_turn();
  } catch (failure const& problem) {
    bool const missing = problem.code() == not_found || problem.code() == not_executable;
    if (problem.code() != lost && (first || !missing)) throw;
    output::error(problem.what());
    return {.code = problem.code(), .ran = true, .lost = problem.code() == lost};
  } catch (holdfast::error const& problem) {
    if (first) throw;
    output::error(problem.what());
    return {.code = exit_code_for(problem.code())};
  }
}

/// Takes turns until the last one. Returns its exit code.
template <class Turn>
int take_turns(run_options const& options, signals const& receiver, service_manager const& manager,
               Turn one_turn) {
  if (options.again == run_again::no) {
    auto const only = one_turn();
    if (only.signal != 0) throw ended_by_signal{only.signal};
    return only.code;
  }
  repetition more{options.again};
  auto const take_one = [&](bool const first) {
    auto taken = one_of_several(one_turn, first);
    taken.told_to_end = signals::told_to_end();
    return taken;
  };
  auto last = take_one(true);
  while (auto const pause = more.after(last)) {
    auto const next = fmt::format("{}: again in {}", title_of(options),
                                  to_string(std::chrono::ceil<std::chrono::milliseconds>(*pause)));
    output::note(next);
    manager.tell("STATUS=" + next);
    if (int const signal = sleep_until(boot_time() + *pause, receiver); signal != 0)
      throw ended_by_signal{signal};
    last = take_one(false);
  }
  if (last.signal != 0) throw ended_by_signal{last.signal};
  return last.code;
}

}  // namespace

int run(run_options const& asked) {
  inherited_files const files;
  service_manager const manager;
  auto const url = choose_server(asked.server);
  if (asked.pass_url) {
    setenv("HOLDFAST_URL", url.c_str(), 1);
  } else {
    hide_passwords(asked.server);
  }
  check_fits(asked, probe::named_servers{url});
  output::begin_to_keep();
  lock_client locking{url, "holdfast-run", asked};
  auto const& options = locking.options;
  std::optional<run_notes> notes;
  bool const kept = options.keep && options.side == run_side::alone;
  if (options.limit || kept) notes.emplace(locking.redis, url, options);
  return take_turns(options, locking.receiver, manager, [&] {
    return run_under(*locking.lock, notes, {.whole = url, .shown = locking.redis.url()}, options,
                     locking.receiver, files, manager);
  });
}

}  // namespace holdfast::cli
