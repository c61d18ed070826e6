/// `holdfast inspect`: all about one lock.
#include "arguments.hpp"
#include "json_lines.hpp"
#include "listing.hpp"
#include "output.hpp"
#include "server_choice.hpp"
#include "standard_output.hpp"

#include <holdfast/inspect.hpp>

#include <memory>
#include <string>

namespace holdfast::cli {
namespace {

constexpr auto footer =
    R"(Shows who holds the lock NAME, for how long, and who waits for it, first come first. Any key may
be asked about: one that another library locks, or that is no lock at all, is called so. Nothing is
changed.

Exit codes
  0   whatever it is, also free
  64  bad option, name or URL; 69 Redis can't be reached; 77 a right is missing

Examples
  holdfast inspect nightly-import
  holdfast inspect --json deploy:web | jq '.holder.host, .held_ms, .queue[].waited_ms')";

struct options {
  common_options common;
  std::string name;
  bool json = false;
};

int inspect(options const& what) {
  client redis{find_locks_server(what.common.url), {.name = "holdfast-inspect", .log = output::hook()}};
  auto const lock = holdfast::inspect(redis, what.name);
  if (what.json) {
    print_line(json_line::of_lock_and_queue(lock));
  } else {
    for (auto const& line : listing::page(lock)) print_line(line);
  }
  return 0;
}

}  // namespace

void add_inspect(command_line& line, action& chosen) {
  auto const to = std::make_shared<options>();
  auto command = line.add_command("inspect", "Show who holds a lock and who waits for it");
  command.usage("holdfast inspect [OPTIONS] NAME");
  add_name(command, to->name);
  add_json(command, to->json);
  add_common(command, to->common);
  command.footer(footer);
  command.when_read([to, &chosen] {
    require(!to->name.empty(), "NAME is empty: say which lock");
    chosen = [to] {
      set_up(to->common);
      return inspect(*to);
    };
  });
}

}  // namespace holdfast::cli
