/// `holdfast lead`: runs a command while this process leads an election.
#include "base/host_name.hpp"
#include "common/command.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "run/command_words.hpp"
#include "run/lock_arguments.hpp"
#include "run/run.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {
namespace {

constexpr std::string_view lead_footer =
    R"(For a service of which several hosts have a copy ready, and one is to be at work. Campaigns in the election NAME,
first come first served, and runs COMMAND while it leads. `holdfast leader NAME` shows who leads, by the value that
the leader has published. When COMMAND has ended, or the lead was lost, `lead` campaigns again. Pauses between
turns grow from 1s to half a minute, until it has led for half a minute.

  COMMAND is ended before the lease can end, and so before anybody else leads: with --on-lost=term by SIGTERM while
  a third of the ttl is left, and by SIGKILL later; with --on-lost=kill by SIGKILL at once. All that `holdfast help
  run` says of the command, of signals, of systemd and of a holdfast that is killed is true here, too.
  SIGTERM, SIGINT, SIGHUP and SIGQUIT to holdfast are passed on to COMMAND. When that has ended, `lead` resigns and ends,
  too, and the next candidate leads at once.

  The election is the lock NAME: `holdfast run NAME` waits for the leader, and `ls`, `inspect` and `release --force`
  know it. It is on the plain wire, or on etcd, and not on redis+quorum://, whose servers have no common
  queue. On etcd TEXT is seen while `lead` waits, too, and can't begin with "holdfast ".

Environment of COMMAND
  HOLDFAST_NAME, HOLDFAST_OWNER   as for `run`
  HOLDFAST_TOKEN                  the term: greater than that of each earlier leader

Exit codes
  that of COMMAND, or 128+n if signal n ended it, when a signal to holdfast or --once ended `lead`
  64  bad option, name, URL or configuration file; 65 the key NAME holds something that is not a lock
  69  Redis can't be reached, at the first turn (see --wait-server); 77 a right is missing
  75  somebody else led for all of --wait, at the first turn
  79  the lead was lost, with --once
  126, 127  COMMAND can't be executed, or doesn't exist, at the first turn. At a later one it may be about to be
            replaced: `lead` says so, resigns, and campaigns again after the pause

Examples
  holdfast lead scheduler --value "$(hostname):8080" -- ./scheduler --port 8080
  curl "http://$(holdfast leader scheduler)/status")";

/// The values as given.
struct lead_words {
  lock_words lock;
  command_words command;
  std::optional<std::string> value;
  std::optional<std::string> max_hold;
  std::string policy = "term";
  bool once = false;
  bool pass_url = false;
};

constexpr std::size_t longest_value = 65536;

std::string default_value() { return fmt::format("{}:{}", host_name(), ::getpid()); }

run_options checked_lead(lead_words& from, words_after const words) {
  auto lead = lock_options_of(from.lock, "lead");
  lead.command = command_of(from.command, words, "lead scheduler -- ./serve");
  lead.lead_value = from.value ? *from.value : default_value();
  if (lead.lead_value->size() > longest_value) {
    throw failure{usage,
                  fmt::format("--value: {} bytes; at most {}", lead.lead_value->size(), longest_value)};
  }
  lead.policy = policy_of(from.policy, "term and kill");
  lead.max_hold = max_hold_of(from.max_hold);
  lead.again = from.once ? run_again::no : run_again::always;
  lead.pass_url = from.pass_url;
  return lead;
}

}  // namespace

void add_lead(command_line& line, action& chosen, words_after const command) {
  auto const values = std::make_shared<lead_words>();
  auto lead = line.add_command("lead", "Run a command while leading an election");
  lead.usage("holdfast lead [OPTIONS] NAME -- COMMAND [ARG...]");
  add_name_and_wait(lead, values->lock);
  lead.value("--value", values->value,
             "What others see of the leader, such as its address (default: HOST:PID)", "TEXT");
  lead.value("-c,--command", values->command.shell, "Run this by sh -c, instead of a COMMAND after --",
             "TEXT");
  lead.flag("--once", values->once, "Don't campaign again when COMMAND has ended or the lead was lost");
  add_ttl(lead, values->lock,
          "How long the lead stays if the leader dies; it is renewed while the command runs");
  lead.value("--max-hold", values->max_hold,
             "Lead at most so long; then end the command as if the lead were lost", "DURATION");
  lead.value("--on-lost", values->policy, "What to do with the command if the lead is lost (default: term)",
             "term|kill");
  add_durability(lead, values->lock);
  add_label(lead, values->lock);
  add_history(lead, values->lock);
  lead.flag("--pass-url", values->pass_url,
            "Let COMMAND have the URL with its password in HOLDFAST_URL, for a holdfast of its own");
  add_common(lead, values->lock.common);
  lead.footer(lead_footer);
  lead.when_read([values, command, &chosen] {
    chosen = [options = checked_lead(*values, command), values] {  // `values` has the words of --command
      set_up(values->lock.common);
      return cli::run(options);
    };
  });
}

}  // namespace holdfast::cli
