#include "completion/completion.hpp"

#include "common/help_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::cli {
namespace completion {
namespace {

option option_of(declared_value const& from) {
  return {.names = from.names,
          .text = from.text,
          .value = from.shown,
          .choices = choices_in(from.shown),
          .repeats = from.repeats};
}

std::vector<option> options_of(std::vector<declared_value> const& all) {
  std::vector<option> made;
  made.reserve(all.size());
  for (auto const& value : all) made.push_back(option_of(value));
  return made;
}

operand operand_of(declared_value const& from, declared_command const& of, command_line const& line) {
  operand made{
      .name = from.names.front(), .is_lock = false, .is_files = false, .choices = choices_in(from.shown)};
  if (made.name == "COMMAND") made.choices = line.command_names();
  // Some take a lock, which may not exist yet; the other commands are about an existing one.
  constexpr std::array<std::string_view, 4> takers{runs_a_command, leads_a_command, "acquire", "hold"};
  made.is_files = made.name == some_files;
  made.is_lock = made.name == "NAME" && std::ranges::count(takers, of.name) == 0;
  return made;
}

std::string replaced(std::string text, std::string_view const mark, std::string_view const with) {
  for (auto position = text.find(mark); position != std::string::npos;
       position = text.find(mark, position + with.size())) {
    text.replace(position, mark.size(), with);
  }
  return text;
}

}  // namespace

model model_of(command_line const& line) {
  model made{.options = options_of(line.options()), .commands = {}};
  for (auto const& declared : line.commands()) {
    auto& command = made.commands.emplace_back();
    command.name = declared.name;
    command.text = declared.text;
    command.options = options_of(declared.options);
    for (auto const& argument : declared.operands) command.argument = operand_of(argument, declared, line);
  }
  return made;
}

std::string filled(std::string_view const text,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> const marks) {
  std::string result{text};
  for (auto const& [mark, with] : marks) result = replaced(std::move(result), mark, with);
  return result;
}

std::string single_quoted(std::string_view const text) {
  return '\'' + replaced(std::string{text}, "'", R"('\'')") + '\'';
}

std::vector<std::string> names_with_value(std::vector<option> const& options) {
  std::vector<std::string> names;
  for (auto const& option : options) {
    if (!option.value.empty()) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

}  // namespace completion

namespace {

using writer = std::string (*)(completion::model const&);
constexpr std::array<std::pair<std::string_view, writer>, 3> shells{
    {{"bash", completion::bash_script}, {"zsh", completion::zsh_script}, {"fish", completion::fish_script}}};

}  // namespace

void add_completion(command_line& line, std::string& shell) {
  auto command = line.add_command("completion", "Print the completion script for a shell");
  command.usage("holdfast completion SHELL");
  std::string names;
  for (auto const& [name, write] : shells) names.append(names.empty() ? "" : "|").append(name);
  command.choice("SHELL", shell, "Which shell", names);
  command.required("SHELL");
  command.footer(completion_footer);
}

std::string completion_script(command_line const& line, std::string_view const shell) {
  auto const* const found = std::ranges::find(shells, shell, &decltype(shells)::value_type::first);
  return found->second(completion::model_of(line));
}

}  // namespace holdfast::cli
