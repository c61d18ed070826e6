#include "completion.hpp"

#include "arguments.hpp"
#include "help_text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace holdfast::cli {
namespace completion {
namespace {

/// The words of "term|kill|warn": that is how the help of all our options names a choice.
std::vector<std::string> choices_in(std::string const& text) {
  auto words = CLI::detail::split(text, '|');
  return words.size() > 1 ? words : std::vector<std::string>{};
}

option option_of(CLI::Option const& from) {
  option made;
  for (auto const& name : from.get_snames()) made.names.push_back('-' + name);
  for (auto const& name : from.get_lnames()) made.names.push_back("--" + name);
  made.text = from.get_description();
  if (from.get_items_expected_max() > 0) made.value = from.get_option_text();
  made.choices = choices_in(made.value);
  return made;
}

std::vector<CLI::App const*> commands_of(CLI::App const& app) {
  return app.get_subcommands([](CLI::App const*) { return true; });
}

operand operand_of(CLI::Option const& from, CLI::App const& of, CLI::App const& app) {
  operand made{.name = from.get_name(true), .is_lock = false, .choices = choices_in(from.get_option_text())};
  if (made.name == "COMMAND") {
    for (auto const* const command : commands_of(app)) made.choices.push_back(command->get_name());
  }
  // A command is run under a lock that is to come; all others look at one that is there.
  made.is_lock = made.name == "NAME" && of.get_name() != runs_a_command;
  return made;
}

bool is_shown(CLI::Option const* const one) { return !one->get_group().empty(); }

std::vector<option> options_of(CLI::App const& app) {
  std::vector<option> options;
  for (auto const* const one : app.get_options(is_shown)) {
    if (one->nonpositional()) options.push_back(option_of(*one));
  }
  return options;
}

}  // namespace

model model_of(CLI::App const& app) {
  model made{.options = options_of(app), .commands = {}};
  for (auto const* const one : commands_of(app)) {
    auto& command = made.commands.emplace_back();
    command.name = one->get_name();
    command.text = one->get_description();
    command.options = options_of(*one);
    for (auto const* const argument : one->get_options(is_shown)) {
      if (argument->get_positional()) command.argument = operand_of(*argument, *one, app);
    }
  }
  return made;
}

std::string filled(std::string_view const text,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> const marks) {
  std::string result{text};
  for (auto const& [mark, with] : marks) {
    result = CLI::detail::find_and_replace(std::move(result), std::string{mark}, std::string{with});
  }
  return result;
}

std::string single_quoted(std::string_view const text) {
  return '\'' + CLI::detail::find_and_replace(std::string{text}, "'", R"('\'')") + '\'';
}

std::vector<std::string> names_with_value(std::vector<option> const& options) {
  std::vector<std::string> names;
  for (auto const& one : options) {
    if (!one.value.empty()) names.insert(names.end(), one.names.begin(), one.names.end());
  }
  return names;
}

}  // namespace completion

namespace {

using writer = std::string (*)(completion::model const&);
constexpr std::array<std::pair<std::string_view, writer>, 3> shells{
    {{"bash", completion::bash_script}, {"zsh", completion::zsh_script}, {"fish", completion::fish_script}}};

}  // namespace

CLI::App* add_completion(CLI::App& app, std::string& shell) {
  auto* const command = app.add_subcommand("completion", "Print the completion script for a shell");
  command->formatter(std::make_shared<usage_line>("holdfast completion SHELL"));
  std::vector<std::string> names;
  names.reserve(shells.size());
  for (auto const& [name, write] : shells) names.emplace_back(name);
  command->add_option("SHELL", shell, "Which shell")
      ->required()
      ->check(CLI::IsMember(names).description(""))
      ->option_text(CLI::detail::join(names, "|"));
  command->footer(std::string{completion_footer});
  return command;
}

std::string completion_script(CLI::App const& app, std::string_view const shell) {
  auto const* const found = std::ranges::find(shells, shell, &decltype(shells)::value_type::first);
  return found->second(completion::model_of(app));
}

}  // namespace holdfast::cli
