// `holdfast doctor`: checks whether a server is fit for locks.
#include "common/command.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "common/standard_output.hpp"
#include "doctor/deadlocks.hpp"
#include "doctor/diagnosis.hpp"
#include "doctor/report.hpp"
#include "probe/named_servers.hpp"
#include "server/choice.hpp"

#include <memory>
#include <string>

namespace holdfast::cli {
namespace {

constexpr auto doctor_footer =
    R"(What it checks
  Each server: the connection and its latency; version, mode and role; the rights of this user, by trying them;
  scripts, messages, eviction, memory, persistence, replicas, time-outs; and the clock, for about two seconds:
  whether its rate is that of this machine's clock, and whether it jumps.
  Each finding is ok, advice, warning or problem. It says why it matters for locks, and what to do. If something
  can't be found out (a managed Redis without CONFIG), that is advice. `doctor` leaves nothing behind in Redis.
  With a URL of several servers it checks each of them, and then all of them together.
    Sentinel: whether all sentinels answer, know the master and agree about it; how many there are, and how many
    must agree for a failover; the replicas, and how far they are behind.
    Cluster: its state; slots without a node, or that are moving; nodes that failed, or can't be reached at the
    address that they announce; masters without a replica.
    Both: how far the times of day differ between servers that may take over from each other.
    Quorum: how many servers there are and answer; whether two are one; what each keeps through a restart; how
    far their clocks differ.
  etcd (docs/etcd.md): whether each member answers, its version, cluster and leader; how many vote; alarms; the
    size of the database; this user's rights, and how long a write takes. Clocks don't matter there.
  Deadlocks: with --deadlocks it looks for nothing but circles of threads that wait for one another's locks, and
  names them; of threads that say so, for a second at least (lock_options::detect_deadlock, run --detect-deadlock).
  Tenants: with --prefix it prints the ACL rule for a user that may use all locks whose names begin with PREFIX,
  and nothing else. It says what this user may do beyond the rule. Its own keys begin with the prefix, too.

Exit codes
  0    no problem (there may be warnings)
  64   bad option or URL
  69   Redis can't be reached, or refused
  76   the server is not a Redis
  77   wrong user or password
  78   at least one problem, or deadlock

Examples
  holdfast doctor
  export HOLDFAST_URL=redis://jobs@redis.example            # with HOLDFAST_PASSWORD, or --password-file
  holdfast doctor jobs:nightly                              # may this user take that lock?
  holdfast doctor --prefix jobs:                            # may it touch others, too?
  holdfast doctor --url redis+sentinel://s1,s2,s3/mymaster
  holdfast doctor --deadlocks
  holdfast doctor --json | jq '.findings[] | select(.severity == "problem")')";

struct doctor_options {
  common_options common;
  std::string name;
  std::string prefix;
  bool json = false;
  bool deadlocks = false;
};

int examine_and_report(doctor_options const& options) {
  probe::named_servers const deployment{find_server(options.common),
                                        {.prefix = options.prefix, .lock = options.name}};
  auto const seen = examine_deployment(deployment, options.name);
  print_line(options.json ? report_json(deployment.url(), seen.findings) : report_text(seen.findings));
  if (seen.failed_with) return exit_code_for(seen.failed_with);
  return has_problem(seen.findings) ? unfit : ok;
}

}  // namespace

void add_doctor(command_line& line, action& chosen) {
  auto const options = std::make_shared<doctor_options>();
  auto doctor = line.add_command("doctor", "Find out whether a server is fit for locks");
  doctor.usage("holdfast doctor [OPTIONS] [NAME]");
  doctor.operand("NAME", options->name, "Also check that this user may touch the lock NAME");
  doctor.value("--prefix", options->prefix,
               "Print the ACL rule for names that begin with PREFIX, and check that this user can do no more",
               "PREFIX");
  doctor.flag("--deadlocks", options->deadlocks,
              "Only look for threads that wait for one another's locks (see What it checks)");
  doctor.not_empty("NAME");
  doctor.excludes("--deadlocks", "--prefix");
  add_json(doctor, options->json);
  add_common(doctor, options->common);
  doctor.footer(doctor_footer);
  doctor.when_read([options, &chosen] {
    require(!options->deadlocks || options->name.empty(),
            "--deadlocks: goes without NAME, since it looks at all locks that are waited for");
    chosen = [options] {
      set_up(options->common);
      return options->deadlocks ? report_deadlocks(options->common, options->json)
                                : examine_and_report(*options);
    };
  });
}

}  // namespace holdfast::cli
