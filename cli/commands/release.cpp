/// `holdfast release`: gives a lock back by its owner id, or with --force takes it from its holder.
#include "common/command.hpp"
#include "common/duration.hpp"
#include "common/environment.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "common/standard_output.hpp"
#include "probe/lease_in_history.hpp"
#include "probe/owned_lock.hpp"
#include "server/choice.hpp"
#include "show/listing.hpp"
#include "show/lock_json.hpp"
#include "show/lock_search.hpp"
#include "show/run_text.hpp"

#include <holdfast/inspect.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::cli {
namespace {

constexpr auto release_footer =
    R"(With --owner and without --force it gives back what that owner holds, and nothing else. That is for a lock
that `holdfast acquire` took. A holder that is at work, such as `holdfast run`, isn't asked then, and finds the lock
lost at its next renewal. Several names are those that one owner has taken together (`run --with`).

--force is for a holder that hangs, or was forgotten. The holder is asked first, so that it can stop its work:
`holdfast run` ends its command, and a program finds its lease lost. If the holder hasn't given the lock back
after --grace, the lock is deleted, and two holders may be at work at once. So they may when its ttl is over
first: a holder may hear the request and work on (`run --on-lost=warn`), or hang. `release` says so. Writes that carry the fencing token
are safe even then. The next waiter gets the lock.

A job of `run --once-per` or `--at-most-every` that has run counts until its time is over, and a lock of `run
--keep` stays for its ttl. Such a lock is shown as "kept until 13:00; finished 12:03, exit 0". It is released at
once, because nobody can be asked, and --grace doesn't apply. The next start runs the job again.

On a terminal `release` asks you first, and then takes the lock only from the holder that it named. Elsewhere
add --yes. A string that Holdfast did not write has no holder that can be asked: `release` deletes it only with
--foreign. It never deletes a key that is not a lock.

On Redisson's wire `release` takes the lock from any holder, also if a hold count is too high, and wakes the
waiters. Holders that are not Holdfast clients, such as those in Java, can't be asked. A read-write lock or
permits may have several holders: all of them are meant, or with --owner one. `holdfast inspect` shows their ids.
A counter (a semaphore of Redisson's wire, a latch) has no holders: `release` leaves it alone.
On etcd holders that are not Holdfast clients, and leaders, can't be asked either: that takes --foreign.

`release` finds the lock on either wire, whatever the URL says. If a name is in use on both wires
(`holdfast inspect` shows them), `release` needs --wire, which says whose holder is meant.

Exit codes
  0   the holder has the lock no more: it was given back, deleted, expired, or not held
  64  bad option, name or URL; --force and --owner are missing; nobody can be asked (--yes); in
      use on both wires (--wire)
  65  refused: not a lock of Holdfast (see --foreign), not a lock, or a counter
  69  Redis can't be reached; 77 a right is missing
  75  nothing was done: you said no, or somebody else holds the lock now
  79  without --force: that owner doesn't hold it any more

Examples
  holdfast release --owner "$owner" deploy:web
  holdfast release --force deploy:web
  holdfast release --force --yes --grace 10s nightly-import
  holdfast release --force --owner 00112233445566778899aabbccddeeff licenses   # one permit)";

struct release_options {
  common_options common;
  std::vector<std::string> names;
  std::string name;  ///< the one that it is about
  std::string owner;
  std::string wire;
  std::string grace = "2s";
  std::chrono::milliseconds wait{};
  bool force = false;
  bool yes = false;
  bool foreign = false;
  bool json = false;
};

/// The word for a result in JSON, and its exit code.
struct release_outcome {
  std::string_view word;
  exit_code code;
};

release_outcome outcome_of(force_result result) {
  auto const word = json_word(result);
  switch (result) {
    case force_result::not_held:
    case force_result::released_by_holder:
    case force_result::deleted:
    case force_result::expired:
    case force_result::run_was_over:
      return {word, ok};
    case force_result::changed:
      return {word, busy};
    case force_result::refused_foreign:
    case force_result::refused_other:
    case force_result::refused_counter:
      return {word, wrong_type};
  }
  return {word, internal};
}

bool may_have_several_holders(lock_state const& seen) {
  return seen.kind == lock_kind::read_write || seen.kind == lock_kind::permits;
}

/// The holders that are meant: "unknown (…)", or "all 3 holders".
std::string holders_text(lock_state const& seen, release_options const& options) {
  if (!may_have_several_holders(seen)) return output::one_line(seen.holder.to_string());
  if (options.owner.empty())
    return seen.holding == 1 ? "its only holder" : fmt::format("all {} holders", seen.holding);
  for (auto const& hold : seen.holders) {
    if (hold.process.owner == options.owner) return output::one_line(hold.process.to_string());
  }
  return output::one_line(options.owner);
}

/// Whether nobody was asked, since these permits have no lease, and a client knows nothing of them any more.
bool has_no_lease(lock_state const& seen, release_options const& options) {
  if (seen.kind != lock_kind::permits || seen.wire != wire::plain) return false;
  return std::ranges::all_of(seen.holders, [&](hold_info const& hold) {
    return !hold.ttl_left || (!options.owner.empty() && hold.process.owner != options.owner);
  });
}

std::string deleted(lock_state const& seen, release_options const& options) {
  auto const name = output::quoted(seen.name);
  if (has_no_lease(seen, options)) {
    return fmt::format(
        "permits of {} were given back for {}, which took them without a lease and wasn't asked", name,
        holders_text(seen, options));
  }
  if (seen.kind == lock_kind::foreign) return fmt::format("the foreign lock {} was deleted", name);
  if (seen.kind == lock_kind::barrier)
    return fmt::format("the generation of the barrier {} was broken: {} had arrived", name, seen.holding);
  if (seen.wire == wire::plain || seen.holder.pid != 0) {
    return fmt::format("lock {} was deleted: {} did not give it back in {}, and may still be at work", name,
                       holders_text(seen, options), to_string(options.wait));
  }
  return fmt::format(
      "lock {} was taken from {}, which can't be asked (it is not a known client of Holdfast) and may "
      "still be at work",
      name, holders_text(seen, options));
}

std::string message_of(force_result result, lock_state const& seen, release_options const& options) {
  auto const name = output::quoted(seen.name);
  switch (result) {
    case force_result::not_held:
      if (seen.kind != lock_kind::free) {
        return fmt::format("lock {} came free before {} could be asked: there was nothing to release", name,
                           holders_text(seen, options));
      }
      return fmt::format(
          "lock {} is not held{}: there is nothing to release (a holder whose ttl is over may still be at "
          "work, and is asked no more)",
          name, options.wire.empty() ? "" : " with --wire " + options.wire);
    case force_result::released_by_holder:
      return fmt::format("lock {} was given back by {}, which was asked to stop", name,
                         holders_text(seen, options));
    case force_result::deleted:
      return deleted(seen, options);
    case force_result::expired:
      return fmt::format(
          "lock {} is not {}'s any more: its ttl was over before it was seen to be given back, and {} may "
          "still be at work",
          name, holders_text(seen, options), may_have_several_holders(seen) ? "a holder" : "that process");
    case force_result::changed:
      return fmt::format("lock {} is held by somebody else now; it was left alone", name);
    case force_result::refused_foreign:
      if (seen.on_etcd) {
        return fmt::format(
            "lock {} is {}, under the lease {}, which can't be asked; add --foreign to delete its key", name,
            seen.leads ? "led by a candidate of an election"
                       : "held by a program with another library (etcdctl, Go's concurrency)",
            output::one_line(seen.holder.owner));
      }
      return fmt::format(
          "the key {} holds \"{}\", which Holdfast did not write: it may be a lock of another library "
          "(redsync, redis-py, ...), or not a lock; add --foreign to delete it",
          name, output::one_line(seen.holder.owner));
    case force_result::refused_other:
      if (seen.on_etcd)
        return fmt::format("{}: {}; it is never deleted here", name, output::one_line(seen.misfit));
      return fmt::format("the key {} holds a {}, which is not a lock; it is never deleted here", name,
                         output::one_line(seen.type));
    case force_result::refused_counter:
      if (seen.kind == lock_kind::latch) {
        return fmt::format(
            "{} is a latch, with {}, and nobody holds it: count it down, or open it, with a program", name,
            listing::numbers(seen));
      }
      return fmt::format(
          "the key {} holds the number {}, which has no holder: release or add permits of a semaphore, or "
          "count a latch down, with a program",
          name, seen.available.value_or(0));
    case force_result::run_was_over:
      return fmt::format("lock {} was {}: released", name,
                         kept_until(seen) ? run_text::kept(seen) : "left behind by a run that is over");
  }
  return {};
}

/// The result that follows from the kind of the key; empty: it can be released.
std::optional<force_result> settled(lock_state const& seen, release_options const& options) {
  if (kept_until(seen)) return std::nullopt;
  if (seen.kind == lock_kind::free) return force_result::not_held;
  if (seen.kind == lock_kind::other) return force_result::refused_other;
  if (seen.kind == lock_kind::counter || seen.kind == lock_kind::latch) return force_result::refused_counter;
  if (seen.kind == lock_kind::foreign && !options.foreign) return force_result::refused_foreign;
  return std::nullopt;
}

std::string foreign_text(lock_state const& seen) {
  auto const owner = output::one_line(seen.holder.owner);
  return seen.on_etcd ? fmt::format("held by another program under the lease {}", owner)
                      : fmt::format("a foreign key that holds \"{}\"", owner);
}

bool confirmed(lock_state const& seen, release_options const& options) {
  if (isatty(STDIN_FILENO) != 1) {
    throw failure{
        usage,
        "stdin is not a terminal, so nobody can be asked; add --yes to release the lock without a question"};
  }
  auto holding = seen.kind == lock_kind::foreign
                     ? foreign_text(seen)
                     : (kept_until(seen) ? run_text::kept(seen) : listing::holding(seen));
  if (may_have_several_holders(seen)) holding += ", from " + holders_text(seen, options);
  fmt::print(stderr, "Release {}, {}? [y/N] ", output::quoted(seen.name), holding);
  std::string answer;
  if (!std::getline(std::cin, answer)) fmt::print(stderr, "\n");
  return answer == "y" || answer == "Y" || answer == "yes";
}

int conclude(release_outcome const& outcome, std::string const& message, lock_state const& seen,
             release_options const& options) {
  auto const [word, code] = outcome;
  if (options.json) {
    print_line(json{}.set("name", seen.name).set("result", word).set("holder", to_json(seen.holder)).line());
    return code;
  }
  if (code == ok) {
    output::note(message);
  } else {
    output::error(message);
  }
  return code;
}

int conclude(force_result result, lock_state const& seen, release_options const& options) {
  return conclude(outcome_of(result), message_of(result, seen, options), seen, options);
}

int release(release_options const& options) {
  client redis{find_locks_server(options.common), {.name = "holdfast-release", .log = output::hook()}};
  auto const found = peek_on_wires(redis, options.name);
  require_wire(found, options.wire);
  auto const chosen_wire = wire_of(options.wire);
  require(chosen_wire != wire::automatic || !found.on_both(),
          on_both_wires(options.name) +
              "; or say --wire plain or --wire redisson: the wire of the holder to take it from");
  auto const& seen = found.on(chosen_wire);
  if (auto const result = settled(seen, options)) return conclude(*result, seen, options);
  force_options force{
      .grace = options.wait, .foreign = options.foreign, .owner = options.owner, .of = chosen_wire};
  if (!options.yes) {
    if (!confirmed(seen, options))
      return conclude({"declined", busy}, fmt::format("lock {} was left alone", output::quoted(seen.name)),
                      seen, options);
    if (!may_have_several_holders(seen) && options.owner.empty())
      force.owner = kept_until(seen) ? seen.last_run->process.owner : seen.holder.owner;
  }
  return conclude(force_release(redis, options.name, force), seen, options);
}

int give_back_by_owner(client& redis, std::string const& url, release_options const& options) {
  bool const released =
      probe::owned_lock{redis, url, options.name, options.owner, wire_of(options.wire)}.release();
  lock_state const unseen{.name = options.name, .holder = {.owner = options.owner}};
  auto const name = output::quoted(options.name);
  if (released && !options.json) {
    output::info(fmt::format("lock {} was given back", name));
    return ok;
  }
  return conclude(released ? release_outcome{"released", ok} : release_outcome{"lost", lost},
                  fmt::format("lock {} is not held by {} any more; nothing was done", name,
                              output::one_line(options.owner)),
                  unseen, options);
}

/// The exit code of the last name that isn't given back; the first error, after all have been tried.
int give_back_by_owner(release_options options) {
  // The guard of a holdfast that was killed has become this process, with the history as its stdout.
  if (auto const lease = environment_value(probe::lease_in_history_variable); !lease.empty())
    probe::tell_released(lease, STDOUT_FILENO);
  auto const url = find_server(options.common);
  client redis{url, {.name = "holdfast-release", .log = output::hook()}};
  int code = ok;
  std::exception_ptr failure;
  for (auto const& name : options.names) {
    options.name = name;
    try {
      int const outcome = give_back_by_owner(redis, url, options);
      if (outcome != ok) code = outcome;
    } catch (error const&) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return code;
}

}  // namespace

void add_release(command_line& line, action& chosen) {
  auto const options = std::make_shared<release_options>();
  auto command =
      line.add_command("release", "Give a lock back (--owner), or take it from its holder (--force)");
  command.usage("holdfast release --owner ID|--force [OPTIONS] NAME...");
  command.values("NAME", options->names, "The name of the lock: the key in Redis", " ");
  command.required("NAME");
  command.flag("--force", options->force, "Take the lock from a holder that may be at work");
  command.flag("-y,--yes", options->yes, "Don't ask; needed if stdin is not a terminal");
  command.value("--grace", options->grace,
                "How long the holder has to stop and give it back before it is deleted (default: 2s)",
                "DURATION");
  command.flag("--foreign", options->foreign, "Also delete a string that Holdfast did not write");
  command.value("--owner", options->owner, "Only the hold with this owner id, as `holdfast inspect` shows it",
                "ID");
  command.not_empty("--owner");
  add_wire(command, options->wire, "plain|redisson", "The format in which it is held (default: find out)");
  add_json(command, options->json);
  add_common(command, options->common);
  command.footer(release_footer);
  command.when_read([options, &chosen] {
    require(std::ranges::count(options->names, "") == 0, "NAME is empty: say which lock");
    require(!options->force || options->names.size() == 1, "--force: takes one NAME at a time");
    options->name = options->names.front();
    require(options->force || !options->owner.empty(),
            "the holder gives a lock back, by --owner; to take it from the holder, add --force (`holdfast "
            "inspect "
            "NAME` shows who that is)");
    require(options->force || !options->foreign, "--foreign: goes with --force");
    options->wait = duration_of("--grace", options->grace);
    chosen = [options] {
      set_up(options->common);
      return options->force ? release(*options) : give_back_by_owner(*options);
    };
  });
}

}  // namespace holdfast::cli
