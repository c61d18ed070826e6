/// `holdfast acquire` and `holdfast hold`: a lock for a script, without a command under it.
#include "common/command.hpp"
#include "common/exit_codes.hpp"
#include "common/output.hpp"
#include "common/standard_output.hpp"
#include "probe/named_servers.hpp"
#include "process/signals.hpp"
#include "run/end_of_input.hpp"
#include "run/give_back.hpp"
#include "run/lock_arguments.hpp"
#include "run/lock_client.hpp"
#include "run/locks.hpp"
#include "run/standstill.hpp"
#include "run/wait_for_lock.hpp"
#include "server/choice.hpp"
#include "show/json.hpp"

#include <holdfast/lease.hpp>

#include <fmt/format.h>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view acquire_footer =
    R"(For steps of a script or a CI job that are not one command. Prints the owner id and, where there is one, the
fencing token: a line of one or two words. Nobody renews the lock: it ends with its ttl, unless `renew` prolongs
it, or `release` gives it back, both by the owner id, from whatever process or host. Where the steps are one
command, `holdfast run` is better: it renews the lock, and ends the command when the lock is lost.

Exit codes
  0   the lock is held
  64  bad option, name, URL or configuration file; 65 the key holds something that is not a lock
  69  Redis can't be reached (see --wait-server); 77 a right is missing
  75  it was busy
  79  the lock was over before stdout took the line
  128+n  signal n ended it before that; the lock was given back

Examples
  read -r owner token < <(holdfast acquire --ttl 10m --wait 1h deploy:web)
  ./migrate && holdfast renew --owner "$owner" --ttl 10m deploy:web && ./switch-over
  holdfast release --owner "$owner" deploy:web)";

constexpr std::string_view hold_footer =
    R"(Holds the lock, and renews it, until ^C, another signal, or the end of stdin; then gives it back. A stdin
of /dev/null, as shells give to what runs in the background, doesn't end it, nor one that is closed (<&-). When it has the lock it prints what
`acquire` prints. When the lock is lost it ends with 79.

Exit codes
  0   stdin ended, and the lock was held until then
  64  bad option, name, URL or configuration file; 65 the key holds something that is not a lock
  69  Redis can't be reached (see --wait-server); 77 a right is missing
  75  it was busy
  79  the lock was lost
  128+n  signal n ended it, after the lock was given back

Examples
  holdfast hold deploy:web                      # nobody deploys until ^C
  exec 3> >(holdfast hold --no-wait backup > held); until [ -s held ]; do sleep 0.1; done; ./backup; exec 3>&-)";

/// The values as given.
struct hold_words {
  lock_words lock;
  bool json = false;
};

void print_grant(lease const& held, run_options const& options, hold_words const& given) {
  if (given.json) {
    return print_line(json{}
                          .set("name", options.name)
                          .set("owner", held.owner())
                          .set_unless_zero("token", held.token())
                          .set("ttl_ms", options.ttl.count())
                          .line());
  }
  print_line(held.token() == 0 ? held.owner() : fmt::format("{} {}", held.owner(), held.token()));
}

/// What is done with a lease.
using lease_user = int (*)(lease, run_options const&, hold_words const&, signals const&);

/// The interval of looks at a stdout that takes nothing.
constexpr auto look_for_reader = 100ms;

/// Its reader may be slow or stopped (a full pipe, ^S): that must not keep us from signals, nor the lock from
/// others for ever. (Another writer to the same stdout may still fill it behind the last look.)
void wait_for_reader(lease const& held, run_options const& options, signals const& receiver) {
  while (!stdout_takes_a_line()) {
    if (!held.valid())
      throw failure{lost, fmt::format("{} was lost before stdout took its owner id", title_of(options))};
    receiver.wake_in(std::min<std::chrono::nanoseconds>(look_for_reader, output::write_kept()));
    int const signal = receiver.wait();
    if (signal == SIGTSTP) signals::stop_here();
    if (signals::is_ending(signal)) throw ended_by_signal{signal};
  }
}

/// A lock whose owner nobody could be told must not stay.
void tell_or_give_back(lease& held, run_options const& options, hold_words const& given,
                       signals const& receiver) {
  try {
    wait_for_reader(held, options, receiver);
    print_grant(held, options, given);
  } catch (std::exception const&) {
    static_cast<void>(give_back(std::move(held), receiver));
    throw;
  }
}

int leave_to_ttl(lease held, run_options const& options, hold_words const& given, signals const& receiver) {
  tell_or_give_back(held, options, given, receiver);
  if (held.keep_until_expiry() == release_result::kept) return ok;
  output::error(fmt::format("{} was lost at once", title_of(options)));
  return lost;
}

std::string why_lost(standstill const& still, loss_cause const cause, bool const was_valid) {
  if (still.noticed() && !was_valid) return still.to_string();
  if (cause != loss_cause::none) return std::string{holdfast::to_string(cause)};
  return was_valid ? "at the release it was no longer ours" : "no renewal came through";
}

int hold_until_end(lease held, run_options const& options, hold_words const& given, signals const& receiver) {
  standstill still;
  held.on_lost([](loss_cause) { signals::wake(); });
  tell_or_give_back(held, options, given, receiver);
  still.after_sleep();  // it may be stopped before the first sleep
  end_of_input const input;
  int signal = 0;
  while (held.valid() && !input.has_come() && !signals::is_ending(signal)) {
    auto const at_most = std::min<std::chrono::nanoseconds>(held.remaining(), output::write_kept());
    receiver.wake_in(at_most);
    still.before_sleep(at_most);
    signal = receiver.wait();
    still.after_sleep();
    if (signal == SIGTSTP) signals::stop_here();
  }
  auto const cause = held.lost_because();
  bool const was_valid = held.valid();
  auto const released = give_back(std::move(held), receiver);
  if (!was_valid || released == release_result::lost) {
    output::error(fmt::format("{} lost: {}", title_of(options), why_lost(still, cause, was_valid)));
    return lost;
  }
  if (released == release_result::unknown) {
    note_unconfirmed_release(options);
  }
  if (signals::is_ending(signal)) throw ended_by_signal{signal};
  return ok;
}

int with_lease(run_options const& asked, hold_words const& given, lease_user const use) {
  auto const url = choose_server(asked.server);
  probe::named_servers const servers{url};
  check_fits(asked, servers);
  if (servers.kind() == probe::deployment_kind::etcd && use == leave_to_ttl) {
    throw failure{
        usage,
        "on etcd a lock ends with its process by now, so it can't be acquired for a later release; use "
        "`holdfast run`, or the URL of a Redis"};
  }
  output::begin_to_keep();
  lock_client const locking{url, "holdfast-hold", asked};
  auto granted = wait_for_lock(*locking.lock, locking.options, locking.receiver, locking.redis.url());
  report_failed_wait(granted);
  if (!granted.held) return granted.code;
  return use(std::move(*granted.held), locking.options, given, locking.receiver);
}

void add_lock_command(command_line& line, action& chosen, std::string const& name, std::string const& text,
                      std::string const& ttl_text, std::string_view const footer, lease_user const use) {
  auto const given = std::make_shared<hold_words>();
  auto command = line.add_command(name, text);
  command.usage("holdfast " + name + " [OPTIONS] NAME");
  add_name_and_wait(command, given->lock);
  add_ttl(command, given->lock, ttl_text);
  add_kind(command, given->lock);
  if (use == hold_until_end) add_history(command, given->lock);
  add_json(command, given->json);
  add_common(command, given->lock.common);
  command.footer(footer);
  command.when_read([given, name, use, &chosen] {
    auto options = lock_options_of(given->lock, name);
    options.renewed = use == hold_until_end;
    chosen = [options = std::move(options), given, use] {
      set_up(given->lock.common);
      return with_lease(options, *given, use);
    };
  });
}

}  // namespace

void add_acquire(command_line& line, action& chosen) {
  add_lock_command(line, chosen, "acquire", "Take a lock for a script, which gives it back itself",
                   "How long the lock lasts unless it is renewed", acquire_footer, leave_to_ttl);
}

void add_hold(command_line& line, action& chosen) {
  add_lock_command(line, chosen, "hold", "Hold a lock until ^C or the end of stdin",
                   "How long the lock outlives a holder that dies; renewed while it is held", hold_footer,
                   hold_until_end);
}

}  // namespace holdfast::cli
