/// `holdfast inspect`: shows one lock in full.
#include "common/command.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "common/standard_output.hpp"
#include "server/choice.hpp"
#include "show/listing.hpp"
#include "show/lock_json.hpp"
#include "show/lock_search.hpp"

#include <holdfast/inspect.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::cli {
namespace {

constexpr auto inspect_footer =
    R"(Shows who holds the lock NAME, for how long, and who waits for it, in the order of the queue. NAME may be
any key: if another library locks it, or if it is not a lock, `inspect` says so. `inspect` changes nothing. It
finds the lock on either wire. On etcd the queue has leases, and the tokens that waiters will have. If the name is in use on both wires, it shows both, with a warning: the two are
in each other's way. --wire selects one.

If `run` starts a job with --once-per, --at-most-every or --keep, `inspect` also shows the last run: when and where
it ran, how long it took, its exit code, and until when it counts as done.

With --verbose the last line is the way in which locks are taken and given back at this server: commands of the
module holdfast, the server's own, or scripts.

Exit codes
  0   the lock is held, or the key of that name is not a lock
  1   the lock is free
  64  bad option, name or URL; 69 Redis can't be reached; 77 a right is missing

Examples
  holdfast inspect nightly-import
  holdfast inspect deploy:web > /dev/null && echo held
  holdfast inspect --json deploy:web | jq '.holder.host, .held_ms, .queue[].waited_ms'
  holdfast inspect --json report | jq '.last_run.exit')";

/// Nobody holds it, and no other key is in its place.
bool is_free(lock_state const& lock) {
  return lock.kind == lock_kind::free || (lock.kind == lock_kind::permits && lock.holding == 0);
}

/// How a client with this URL takes and gives back locks of the server that it has just asked.
std::string_view way_of(client_stats const& stats, lock_state const& seen) {
  if (seen.on_etcd) return "transactions of etcd";
  switch (stats.way) {
    case cas::module:
      return "commands of the module holdfast";
    case cas::native:
      return stats.scripts == script_calls::never ? "the server's own compare-and-set, no scripts"
                                                  : "the server's own compare-and-set, and scripts";
    case cas::lua:
      return stats.scripts == script_calls::never ? "none: no scripts, no compare-and-set" : "scripts";
    case cas::automatic:
      break;
  }
  return "unknown";
}

struct inspect_options {
  common_options common;
  std::string name;
  std::string wire;
  bool json = false;
};

int inspect(inspect_options const& options) {
  client redis{find_locks_server(options.common), {.name = "holdfast-inspect", .log = output::hook()}};
  auto const found = inspect_on_wires(redis, options.name);
  auto const shown = shown_of(found, options.wire);
  auto const warning = shown.size() > 1 ? on_both_wires(options.name) : std::string{};
  if (options.json) {
    print_line(with_queue(*shown[0])
                   .set("other_wire", shown.size() > 1 ? with_queue(*shown[1]) : json{})
                   .set_unless_empty("warning", warning)
                   .line());
  } else {
    for (auto const* const lock : shown) {
      if (lock != shown[0]) print_line("");
      for (auto const& line : listing::page(*lock)) print_line(line);
    }
    if (output::verbose()) print_line(fmt::format("way       {}", way_of(redis.stats(), *shown[0])));
  }
  if (!warning.empty()) output::note("warning: " + warning);
  if (!found.unseen.empty() && options.wire != "plain") {
    output::note(
        fmt::format("a right is missing to see who waits for it on Redisson's wire "
                    "(--wire plain leaves it out): {}",
                    found.unseen));
  }
  return std::ranges::all_of(shown, [](auto const* lock) { return is_free(*lock); }) ? not_held : ok;
}

}  // namespace

void add_inspect(command_line& line, action& chosen) {
  auto const options = std::make_shared<inspect_options>();
  auto command = line.add_command("inspect", "Show who holds a lock and who waits for it");
  command.usage("holdfast inspect [OPTIONS] NAME");
  add_name(command, options->name);
  add_searched_wire(command, options->wire);
  add_json(command, options->json);
  add_common(command, options->common);
  command.footer(inspect_footer);
  command.when_read([options, &chosen] {
    require(!options->name.empty(), "NAME is empty: say which lock");
    chosen = [options] {
      set_up(options->common);
      return inspect(*options);
    };
  });
}

}  // namespace holdfast::cli
