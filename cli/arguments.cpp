#include "arguments.hpp"

#include "completion.hpp"
#include "duration.hpp"
#include "exit_codes.hpp"
#include "help_text.hpp"
#include "output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string_view>

namespace holdfast::cli {
namespace {

std::string names_of(CLI::App const& app) {
  std::string names;
  for (auto const* const command : app.get_subcommands([](CLI::App const*) { return true; })) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

failure no_command(std::string_view const name, CLI::App const& app) {
  return {usage, fmt::format("no command {}; there are: {}", output::quoted(name), names_of(app))};
}

std::string help_of(CLI::App& app, std::string const& about) {
  // App::help() would explain the command that was given: `help` itself.
  if (about.empty()) return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
  for (auto* const command : app.get_subcommands([](CLI::App*) { return true; })) {
    if (command->get_name() == about) return command->help();
  }
  throw no_command(about, app);
}

/// Blames the right thing for `--ttl 5 minutes NAME`: CLI11 sees only words too many.
std::string explained(CLI::ParseError const& problem, CLI::App const* const command) {
  if (dynamic_cast<CLI::ExtrasError const*>(&problem) != nullptr && command != nullptr &&
      command->get_name() == "run") {
    return fmt::format("{} (one NAME, then -- and the command; a duration is one word, like 5m)",
                       problem.what());
  }
  return problem.what();
}

}  // namespace

std::chrono::milliseconds duration_of(std::string_view const option, std::string const& text) {
  try {
    return parse_duration(text);
  } catch (std::invalid_argument const& problem) {
    throw failure{usage, fmt::format("{}: {}", option, problem.what())};
  }
}

void require(bool const fine, std::string const& what) {
  if (!fine) throw failure{usage, what};
}

void add_json(CLI::App& command, bool& to) {
  command.add_flag("--json", to, "Print JSON, for programs (docs/cli-json.md)");
}

void add_name(CLI::App& command, std::string& to) {
  command.add_option("NAME", to, "The name of the lock: the key in Redis")->required()->option_text(" ");
}

void add_wire(CLI::App& command, std::string& to, std::string const& choices, std::string const& text) {
  command.add_option("--wire", to, text)
      ->check(CLI::IsMember(CLI::detail::split(choices, '|')).description(""))
      ->option_text(choices);
}

wire wire_of(std::string_view const text) {
  if (text == "plain") return wire::plain;
  return text == "redisson" ? wire::redisson : wire::automatic;
}

void add_common(CLI::App& command, common_options& to) {
  command
      .add_option("--url", to.url,
                  "The Redis to use, see `holdfast help run`; $HOLDFAST_URL keeps a password out of `ps`")
      ->option_text("URL");
  command.add_flag("-v,--verbose", to.verbose, "Say what happens");
}

void set_up(common_options const& how) {
  output::set_up(how.verbose ? output::detail::verbose : output::detail::normal);
}

arguments read_arguments(int const argc, char** const argv) {
  // Of `run`, all after the first -- is the command's, untouched, even if it looks like an option of ours.
  // For any other, -- is what it is everywhere: no more options.
  std::span<char*> const words{argv, static_cast<std::size_t>(argc)};
  bool const runs = words.size() > 1 && words[1] == std::string_view{"run"};
  auto const separator = runs ? std::ranges::find(words, std::string_view{"--"}) : words.end();
  auto const ours = static_cast<std::size_t>(separator - words.begin());
  auto const after = ours == words.size() ? std::span<char*>{} : words.subspan(ours + 1);

  arguments result;
  CLI::App app{"Distributed locks on Redis: a command that runs on one host at a time", "holdfast"};
  app.set_version_flag("--version", "holdfast " HOLDFAST_VERSION);
  app.require_subcommand(0, 1);  // more than one would take the word after `help` for a command to run
  app.footer(std::string{main_footer});
  add_run(app, result.chosen, after);
  add_ls(app, result.chosen);
  add_inspect(app, result.chosen);
  add_release(app, result.chosen);
  add_watch(app, result.chosen);
  add_doctor(app, result.chosen);
  add_top(app, result.chosen);
  std::string shell;
  auto* const completion = add_completion(app, shell);
  std::string help_about;
  auto* const help = app.add_subcommand("help", "Explain holdfast, or one of its commands");
  help->add_option("COMMAND", help_about, "Which command");

  auto const command = [&]() -> CLI::App* {
    auto const given = app.get_subcommands();
    return given.empty() ? nullptr : given.front();
  };
  auto const shown = [&](std::string text) {
    result.text = std::move(text);
    if (result.text.ends_with('\n')) result.text.pop_back();
    return result;
  };
  try {
    app.parse(static_cast<int>(ours), argv);
  } catch (CLI::CallForVersion const& version) {
    return shown(version.what());
  } catch (CLI::CallForHelp const&) {
    return shown(command() != nullptr ? command()->help() : app.help());
  } catch (CLI::ParseError const& problem) {
    auto const* const given = command();
    if (given == nullptr && words.size() > 1 && words[1][0] != '-') throw no_command(words[1], app);
    auto const where = given == nullptr || given == help ? std::string{"holdfast help"}
                                                         : "holdfast help " + given->get_name();
    throw failure{usage, fmt::format("{}; see `{}`", explained(problem, given), where)};
  }
  if (command() == nullptr) {
    throw failure{usage, fmt::format("no command given; there are: {}; see `holdfast help`", names_of(app))};
  }
  if (help->parsed()) return shown(help_of(app, help_about));
  if (completion->parsed()) return shown(completion_script(app, shell));
  return result;
}

}  // namespace holdfast::cli
