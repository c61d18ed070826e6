#include "arguments.hpp"

#include "duration.hpp"
#include "exit_codes.hpp"
#include "help_text.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto shortest_ttl = 10ms;

/// As they were typed; durations are read after CLI11 is done, so that their messages are ours.
struct typed {
  std::string name;
  std::optional<std::string> wait;
  std::string ttl = "30s";
  std::optional<std::string> max_hold;
  on_lost policy = on_lost::term;
  std::string url;
  std::string help_about;
  bool no_wait = false;
  bool verbose = false;
};

/// CLI11 knows nothing of the command after the --.
class run_formatter : public CLI::Formatter {
 public:
  std::string make_usage(CLI::App const*, std::string) const override {
    return "Usage: holdfast run [OPTIONS] NAME -- COMMAND [ARG...]\n";
  }
};

CLI::App* add_run(CLI::App& app, typed& to) {
  auto* const run = app.add_subcommand("run", "Run a command while holding a lock");
  run->formatter(std::make_shared<run_formatter>());
  run->add_option("NAME", to.name, "What is locked: any text; the key in Redis")->required();
  auto* const wait =
      run->add_option("--wait", to.wait, "Wait for a busy lock at most so long (default: for ever)");
  run->add_flag("--no-wait", to.no_wait, "Don't wait for a busy lock")->excludes(wait);
  run->add_option("--ttl", to.ttl,
                  "How long the lock outlives a holder that dies; renewed while the command runs "
                  "(default: 30s, at least 10ms)");
  run->add_option("--max-hold", to.max_hold,
                  "Hold the lock no longer; the command is ended as if it were lost");
  std::vector<std::pair<std::string, on_lost>> const policies{
      {"term", on_lost::term}, {"kill", on_lost::kill}, {"warn", on_lost::warn}};
  run->add_option("--on-lost", to.policy, "What a lost lock means for the command (default: term)")
      ->transform(CLI::CheckedTransformer(policies).description(""))
      ->option_text("term|kill|warn");
  run->add_option("--url", to.url, "The Redis to use; $HOLDFAST_URL keeps a password out of `ps`");
  run->add_flag("-v,--verbose", to.verbose, "Say what happens to the lock");
  for (auto* const option : {wait, run->get_option("--ttl"), run->get_option("--max-hold")}) {
    option->option_text("DURATION");
  }
  run->get_option("--url")->option_text("URL");
  run->get_option("NAME")->option_text(" ");
  run->footer(std::string{run_footer});
  return run;
}

std::chrono::milliseconds duration_of(std::string_view const option, std::string const& text) {
  try {
    return parse_duration(text);
  } catch (std::invalid_argument const& problem) {
    throw failure{usage, fmt::format("{}: {}", option, problem.what())};
  }
}

run_options checked(typed const& from, std::span<char* const> const command) {
  if (from.name.empty())
    throw failure{usage, "NAME is empty: give the lock a name, as in `holdfast run nightly -- …`"};
  if (command.empty()) {
    throw failure{usage, "no command: write it after --, as in `holdfast run nightly -- ./import.sh`"};
  }
  run_options run{.name = from.name, .command = command, .wait = {}, .policy = from.policy, .url = from.url};
  if (from.wait) run.wait = duration_of("--wait", *from.wait);
  if (from.no_wait) run.wait = 0ms;
  run.ttl = duration_of("--ttl", from.ttl);
  if (run.ttl < shortest_ttl) {
    throw failure{usage, fmt::format("--ttl: {} is too short; at least 10ms, better some seconds", from.ttl)};
  }
  if (from.max_hold) {
    run.max_hold = duration_of("--max-hold", *from.max_hold);
    if (run.max_hold == 0ms)
      throw failure{usage, "--max-hold: 0 would hold nothing; leave it out for no limit"};
  }
  return run;
}

std::string help_of(CLI::App& app, std::string const& about) {
  // App::help() would explain the command that was given: `help` itself.
  if (about.empty()) return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
  for (auto* const command : app.get_subcommands([](CLI::App*) { return true; })) {
    if (command->get_name() == about) return command->help();
  }
  throw failure{usage, fmt::format("no command {}; there are: run, help", output::quoted(about))};
}

/// Blames the right thing for `--ttl 5 minutes NAME`: CLI11 sees only words too many.
std::string explained(CLI::ParseError const& problem) {
  if (dynamic_cast<CLI::ExtrasError const*>(&problem) != nullptr) {
    return fmt::format("{} (one NAME, then -- and the command; a duration is one word, like 5m)",
                       problem.what());
  }
  return problem.what();
}

}  // namespace

arguments read_arguments(int const argc, char** const argv) {
  // All after the first -- is the command's, untouched, even if it looks like an option of ours.
  std::span<char*> const words{argv, static_cast<std::size_t>(argc)};
  auto const separator = std::ranges::find(words, std::string_view{"--"});
  auto const ours = static_cast<std::size_t>(separator - words.begin());
  auto const command = ours == words.size() ? std::span<char*>{} : words.subspan(ours + 1);

  typed given;
  CLI::App app{"Distributed locks on Redis: a command that runs on one host at a time", "holdfast"};
  app.set_version_flag("--version", "holdfast " HOLDFAST_VERSION);
  app.require_subcommand(0, 1);  // more than one would take the word after `help` for a command to run
  app.footer(std::string{main_footer});
  auto* const run = add_run(app, given);
  auto* const help = app.add_subcommand("help", "Explain holdfast, or one of its commands");
  help->add_option("COMMAND", given.help_about, "Which command");

  arguments result;
  auto const shown = [&](std::string text) {
    result.text = std::move(text);
    if (!result.text.ends_with('\n')) result.text += '\n';
    return result;
  };
  try {
    app.parse(static_cast<int>(ours), argv);
  } catch (CLI::CallForVersion const& version) {
    return shown(version.what());
  } catch (CLI::CallForHelp const&) {
    return shown(run->parsed() ? run->help() : help->parsed() ? help->help() : app.help());
  } catch (CLI::ParseError const& problem) {
    auto const* const where = run->parsed() ? "holdfast help run" : "holdfast help";
    throw failure{usage, fmt::format("{}; see `{}`", explained(problem), where)};
  }
  if (app.get_subcommands().empty())
    throw failure{usage, "no command given; there are: run, help; see `holdfast help`"};
  if (help->parsed()) return shown(help_of(app, given.help_about));
  result.run = checked(given, command);
  result.how_much = given.verbose ? output::detail::verbose : output::detail::normal;
  return result;
}

}  // namespace holdfast::cli
