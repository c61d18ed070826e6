// `holdfast doctor`: is this server fit for locks?
#include "arguments.hpp"
#include "command.hpp"
#include "doctor_checks.hpp"
#include "doctor_facts.hpp"
#include "doctor_report.hpp"
#include "exit_codes.hpp"
#include "server_choice.hpp"
#include "server_session.hpp"
#include "standard_output.hpp"

#include <holdfast/error.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

constexpr auto footer =
    R"(What it looks at
  The connection and its latency; version, mode and role; the rights of this user, by trying them; scripts,
  messages; eviction, memory, persistence, replicas, time-outs; and whether the server's clock goes at the rate
  of this machine's, which takes about two seconds. Each finding is ok, advice, warning or problem, with why it
  matters for locks and what to do. What can't be found out (a managed Redis without CONFIG) is advice. It
  leaves nothing behind in Redis.

Exit codes
  0    no problem (there may be warnings)
  64   bad option or URL
  69   Redis can't be reached, or refused
  76   what answered is no Redis
  77   wrong user or password
  78   at least one problem

Examples
  holdfast doctor
  holdfast doctor --url redis://jobs:secret@redis.example jobs:nightly   # may this user take that lock?
  holdfast doctor --json | jq '.findings[] | select(.severity == "problem")')";

struct doctor_options {
  common_options common;
  std::string name;
  bool json = false;
};

int examine_and_report(doctor_options const& how) {
  server_session server{find_server(how.common.url)};
  std::vector<finding> findings;
  std::optional<error> failure;
  try {
    findings = judge(examine(server, how.name));
  } catch (error const& problem) {
    failure = problem;
    findings = {unreachable_finding(problem)};
  }
  print_line(how.json ? report_json(server.url(), findings) : report_text(findings));
  if (failure) return code_of(failure->code());
  return has_problem(findings) ? unfit : ok;
}

}  // namespace

void add_doctor(CLI::App& app, action& chosen) {
  auto const to = std::make_shared<doctor_options>();
  auto* const doctor = app.add_subcommand("doctor", "Find out whether a server is fit for locks");
  doctor->formatter(std::make_shared<usage_line>("holdfast doctor [OPTIONS] [NAME]"));
  doctor->add_option("NAME", to->name, "Also check that this user may touch the lock NAME")->option_text(" ");
  add_json(*doctor, to->json);
  add_common(*doctor, to->common);
  doctor->footer(footer);
  doctor->final_callback([to, &chosen] {
    chosen = [to] {
      set_up(to->common);
      return examine_and_report(*to);
    };
  });
}

}  // namespace holdfast::cli
