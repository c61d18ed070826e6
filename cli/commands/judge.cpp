/// `holdfast judge`: reads histories, and says whether locks did what they promise.
#include "judge/judge.hpp"
#include "common/command.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "common/standard_output.hpp"
#include "show/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {
namespace {

constexpr std::string_view judge_footer =
    R"(Reads the histories that clients have written (client_options::history, `holdfast run --history FILE`), in any
number of files (-: stdin), and checks
  S1     no two leases that exclude each other are valid at a time: writers, readers, permits
  S2     a holder is told in time that its lease is lost
  S3     fencing tokens grow
  L1     a free lock that somebody waits for is taken, and each caller is answered
  L3     fair locks are served in the order of arrival
  count  permits without leases, latches and barriers come out even
All that use a name have to write a history: what the judge doesn't see, it can't excuse. Of each promise that was
broken it prints the shortest excerpt as a time line. What docs/guarantees.md says may happen (a failover that loses an
acknowledged write, say) is counted, and shown apart.
docs/history.md describes the files, and how each promise is checked.

Exit codes
  0   all promises were kept
  1   a promise was broken
  64  bad option
  65  a file can't be read, is no history, cut off, out of order, or of another version

Examples
  holdfast run --history /var/tmp/jobs.jsonl nightly -- ./import.sh
  holdfast judge /var/tmp/jobs.jsonl
  zcat jobs.jsonl.gz | holdfast judge -
  holdfast judge --uncertainty 20ms web-1.jsonl web-2.jsonl)";

constexpr std::int64_t least_window = 1;
constexpr std::int64_t most_window = 1'000'000'000;

struct judge_options {
  std::vector<std::string> files;
  std::optional<std::string> uncertainty;
  std::optional<std::string> slack;
  std::optional<std::int64_t> window;
  bool json = false;
  judging::options tolerances{};
};

std::string host_of(judging::tables const& known, judging::moment const& at) {
  auto const& client = known.clients[at.client];
  return fmt::format("{}:{}", output::one_line(client.host), client.pid);
}

void print_finding(judging::finding const& found, judging::tables const& known) {
  print_line("  " + found.text);
  auto const begin = found.excerpt.empty() ? 0 : found.excerpt.front().t;
  for (auto const& at : found.excerpt) {
    print_line(fmt::format("    {:>10.6f} s  {:<8.8}  {:<20}  {}  ({}:{})",
                           static_cast<double>(at.t - begin) / 1e9, known.clients[at.client].uuid,
                           host_of(known, at), at.text, output::one_line(known.files[at.file]), at.line));
  }
}

void print_findings(judging::findings const& all, judging::tables const& known, std::string_view title) {
  all.for_each_promise([&](judging::promise broken, std::size_t count, judging::finding const& shortest) {
    print_line(fmt::format("{} {}: {} {}", judging::word_of(broken), title, count,
                           count == 1 ? "time" : "times; the shortest"));
    print_finding(shortest, known);
  });
}

json json_of(judging::findings const& all, judging::tables const& known) {
  auto list = json::list();
  all.for_each_promise([&](judging::promise broken, std::size_t count, judging::finding const& shortest) {
    auto excerpt = json::list();
    for (auto const& at : shortest.excerpt) {
      auto const& client = known.clients[at.client];
      excerpt.add(std::move(json{}
                                .set("after_ns", at.t - shortest.excerpt.front().t)
                                .set("client", client.uuid)
                                .set("host", client.host)
                                .set("pid", client.pid)
                                .set("text", at.text)
                                .set("file", known.files[at.file])
                                .set("line", at.line)));
    }
    list.add(std::move(json{}
                           .set("promise", judging::word_of(broken))
                           .set("count", count)
                           .set("text", shortest.text)
                           .set("excerpt", std::move(excerpt))));
  });
  return list;
}

constexpr std::int64_t ns_per_ms = 1'000'000;

void print_report(judging::judge const& done, judge_options const& options) {
  auto const& result = done.result();
  auto const& known = done.known();
  auto const fine = result.violations.count() == 0;
  if (options.json) {
    print_line(json{}
                   .set("result", fine ? "fine" : "violated")
                   .set("lines", done.lines())
                   .set("clients", known.clients.size())
                   .set("names", known.names.size())
                   .set("leases", result.leases)
                   .set("waits", result.waits)
                   .set("unfinished", result.unfinished)
                   .set("longest_wait_ms", result.longest_wait / ns_per_ms)
                   .set("longest_free_ms", result.longest_free / ns_per_ms)
                   .set("violations", json_of(result.violations, known))
                   .set("documented", json_of(result.documented, known))
                   .line());
    return;
  }
  print_findings(result.violations, known, "violated");
  print_findings(result.documented, known, "not kept, as documented");
  print_line(fmt::format("{} lines of {} clients about {} names: {} leases, {} waits, {} unfinished",
                         done.lines(), known.clients.size(), known.names.size(), result.leases, result.waits,
                         result.unfinished));
  print_line(fmt::format("longest wait {}; longest time that a free lock was waited for {}",
                         judging::time_text(result.longest_wait), judging::time_text(result.longest_free)));
  print_line(
      fmt::format("violations: {}; documented: {}", result.violations.count(), result.documented.count()));
}

int judge(judge_options const& options) {
  judging::allow_many_files();
  try {
    judging::judge all{options.files, options.tolerances};
    all.run();
    print_report(all, options);
    return all.result().violations.count() == 0 ? ok : violated;
  } catch (judging::unreadable const& problem) {
    throw failure{no_history, output::one_line(problem.what())};
  }
}

judging::options tolerances_of(judge_options const& given) {
  judging::options result;
  auto const in_ns = [](std::chrono::milliseconds time) { return std::chrono::nanoseconds{time}.count(); };
  if (given.slack) result.slack = in_ns(duration_of("--slack", *given.slack));
  if (given.uncertainty) {
    result.uncertainty = in_ns(duration_of("--uncertainty", *given.uncertainty));
    result.hosts = judging::merge::hosts::several;
  }
  if (given.window) {
    require(*given.window >= least_window && *given.window <= most_window,
            fmt::format("--window: {} is not a number of lines; at least {}, at most {}", *given.window,
                        least_window, most_window));
    result.kept_back = static_cast<std::size_t>(*given.window);
  }
  return result;
}

}  // namespace

void add_judge(command_line& line, action& chosen) {
  auto const options = std::make_shared<judge_options>();
  auto command = line.add_command("judge", "Check what locks did, by the histories that their clients wrote");
  command.usage("holdfast judge [OPTIONS] FILE...");
  command.operands("FILES", options->files, "The histories");
  command.required("FILES");
  command.value("--uncertainty", options->uncertainty,
                "The files are of several hosts, whose clocks differ by so much at most", "DURATION");
  command.value(
      "--slack", options->slack,
      "How much longer than a lost message costs a lock may be free before that is a fault (default: 1s)",
      "DURATION");
  command.value("--window", options->window,
                "Put lines in order that are at most so many lines late (default: 500000; 150 bytes each)",
                "N");
  add_json(command, options->json);
  command.footer(judge_footer);
  command.when_read([options, &chosen] {
    options->tolerances = tolerances_of(*options);
    std::ranges::replace(options->files, "-", "/dev/stdin");
    chosen = [options] { return judge(*options); };
  });
}

}  // namespace holdfast::cli
