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
    R"(PATTERN is one of Redis's, for whole names: * for any text, ? for any character, [a-c] for one of
some, \ before one that is meant itself. Without it: all. Quote it, so that the shell leaves it alone.
Both wires are searched, unless --wire says which; the wire of the URL, on which `holdfast run` takes locks,
doesn't matter here. A name that is in use on both is in two rows, see `holdfast inspect`. Where the user has
no right to look at Redisson's objects, those of the plain wire are shown, and it is said.
On the plain wire only names that Holdfast knows are found: those that a client of it has held in the last day,
or waits for. On Redisson's locks, read-write locks and permits are found whoever made them, and semaphores
and latches while somebody waits: an idle one can't be told from any other number, so ask for it by its whole
name.

The server is searched in small steps (SCAN), and goes on serving others in between: all keys once with
--wire plain, twice else. With a million keys that takes it 1 s, or 2 s, of its time.

Columns
  KIND     exclusive: held by Holdfast; foreign: by another library; free: nobody holds it, but somebody waits;
           other: a key of that name is no lock. Redisson's: reentrant, read_write, permits, counter
  HOLDER   host:pid, and how many more; of permits and counters, their numbers; LABEL what `--label` said of it
  HELD     since when; TTL when it ends unless renewed; - unknown
  TOKEN    the newest fencing token; WAITING how many processes wait; WIRE plain or redisson

With --json each lock is one object on a line of its own.

Exit codes
  0   also when there are none
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
  client redis{find_locks_server(options.common.url), {.name = "holdfast-ls", .log = output::hook()}};
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
