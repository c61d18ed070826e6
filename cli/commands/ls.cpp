/// `holdfast ls`: lists the locks that are held or waited for, in the order of the search.
#include "common/command.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "common/standard_output.hpp"
#include "server/choice.hpp"
#include "show/listing.hpp"
#include "show/lock_json.hpp"
#include "show/lock_search.hpp"

#include <holdfast/inspect.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>

namespace holdfast::cli {
namespace {

constexpr auto ls_footer =
    R"(PATTERN is a pattern of Redis for whole names: * for any text, ? for any character, [a-c] for one of
some, and \ before a character that stands for itself. Without PATTERN, `ls` shows all locks. Quote it, so that
the shell leaves it alone.
`ls` searches both wires; --wire selects one. It doesn't matter which wire the URL selects for `holdfast run`.
A name that is in use on both wires has two rows, see `holdfast inspect`. If the user has no right to look at
Redisson's objects, `ls` shows the locks of the plain wire, and says so.
On the plain wire `ls` finds the names that a Holdfast client holds, has held in the last day, or waits for. On
Redisson's wire it finds locks, read-write locks and permits, whoever made them, and semaphores and latches while
somebody waits. A semaphore or latch without waiters looks like any other number: ask for it by its whole name.
On etcd it finds the locks below the prefix of the URL, also those of etcdctl and of Go's concurrency package.

The search goes through all keys in small steps (SCAN), and the server serves others in between: twice with
--wire plain, otherwise three times. With a million keys it takes 2 s or 3 s of the server's time.

Columns
  KIND     exclusive: held by Holdfast; election: so, and the holder has published that it leads; foreign: by
           another library; free: nobody holds it, but somebody waits; read_write: held by readers; permits: of
           a semaphore (--slots); other: the key of that name is not a lock. Redisson's: reentrant, read_write,
           permits, counter
  HOLDER   host:pid, and how many more; for permits and counters, their numbers. LABEL: the text of `--label`
  HELD     for how long. TTL: when it ends unless it is renewed; for ever: permits without a lease. -: unknown
  TOKEN    the newest fencing token. WAITING: how many processes wait. WIRE: plain, redisson or etcd

With --json each lock is one object on one line.

Exit codes
  0   also if there are no locks
  64  bad option, pattern or URL; 69 Redis can't be reached; 77 a right is missing

Examples
  holdfast ls
  holdfast ls 'orders:*'
  holdfast ls --names 'orders:*' | wc -l
  holdfast ls --wire redisson
  holdfast ls --json | jq -r 'select(.waiting > 5) | .name')";

struct ls_options {
  common_options common;
  std::string pattern = "*";
  std::string wire;
  bool json = false;
  bool names = false;
};

/// Prints a bare name, for scripts and completion. A reader would take a name with control characters for
/// several names, or for another one.
bool print_name(std::string const& name) {
  if (output::one_line(name) != name) return false;
  print_line(name);
  return true;
}

int ls(ls_options const& options) {
  auto const terminal = options.names ? person_by::session : person_by::standard_files;
  client redis{find_locks_server(options.common, terminal), {.name = "holdfast-ls", .log = output::hook()}};
  auto table = listing::table_of_locks();
  bool any = false;
  std::size_t left_out = 0;
  auto const left_unseen = find_locks(redis, options.pattern, options.wire, [&](lock_state const& lock) {
    if (options.json) {
      print_line(to_json(lock).line());
    } else if (options.names) {
      if (!print_name(lock.name)) ++left_out;
    } else {
      if (!any) print_line(table.header());
      print_line(table.row(listing::cells_of(lock)));
    }
    any = true;
    return true;
  });
  if (!any) {
    output::note(fmt::format("no lock {}on {} is held or waited for",
                             options.pattern == "*" ? "" : output::quoted(options.pattern) + " ",
                             redis.url()));
  }
  if (!left_unseen.empty()) output::note(left_unseen);
  if (left_out != 0) {
    output::note(fmt::format("{} with control characters left out; --json shows all",
                             left_out == 1 ? "a name" : fmt::format("{} names", left_out)));
  }
  return 0;
}

}  // namespace

void add_ls(command_line& line, action& chosen) {
  auto const options = std::make_shared<ls_options>();
  auto command = line.add_command("ls", "List the locks that are held or waited for");
  command.usage("holdfast ls [OPTIONS] [PATTERN]");
  command.operand("PATTERN", options->pattern, "Only names that match, like 'orders:*'");
  add_searched_wire(command, options->wire);
  add_json(command, options->json);
  command.flag("--names", options->names, "Print only the names, one per line");
  command.excludes("--names", "--json");
  add_common(command, options->common);
  command.footer(ls_footer);
  command.when_read([options, &chosen] {
    require(!options->pattern.empty(), "PATTERN is empty: leave it out for all locks");
    chosen = [options] {
      set_up(options->common);
      return ls(*options);
    };
  });
}

}  // namespace holdfast::cli
