#include "read_arguments.hpp"

#include "common/command.hpp"
#include "common/command_line.hpp"
#include "common/exit_codes.hpp"
#include "common/help_text.hpp"
#include "common/output.hpp"
#include "completion/completion.hpp"

#include <fmt/format.h>
#include <holdfast/version.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace holdfast::cli {
namespace {

/// With these commands the first -- ends holdfast's options: all words after it belong to the user's command,
/// unchanged. With others -- has its usual meaning: no more options.
bool takes_command(std::string_view const command) { return command == "run" || command == "lead"; }

/// Explains surplus words (a command without -- before it, or `--ttl 5 minutes NAME`), and options that look
/// like a name, or the other way round.
std::string explained(reading const& problem, std::string_view const command,
                      std::span<char* const> const own_words, bool const has_separator) {
  std::string_view const first{own_words[1]};
  if (!command.empty() && first.starts_with('-'))
    return fmt::format("{} stands before the command: options follow it, as in holdfast {} {}", first,
                       command, first);
  if (!takes_command(command)) return problem.text;
  if (problem.result == reading::outcome::missing && std::string_view{own_words.back()}.starts_with('-')) {
    return problem.text +
           fmt::format(" (one that begins with - stands between two --: holdfast {} -- -NAME -- COMMAND)",
                       command);
  }
  if (problem.result != reading::outcome::surplus) return problem.text;
  return problem.text +
         (has_separator ? " (one NAME, then -- and the command; a duration is one word, like 5m)"
                        : fmt::format(" (put -- before the command: holdfast {} NAME -- COMMAND)", command));
}

template <void (*Add)(command_line&, action&)>
void add(command_line& line, action& chosen, words_after const /*command*/) {
  Add(line, chosen);
}

struct declaration {
  std::string_view name;
  void (*declare)(command_line& line, action& chosen, words_after command);
};

/// In the order of the help.
constexpr std::array declarations{
    declaration{"run", add_run},
    declaration{"lead", add_lead},
    declaration{"ls", add<add_ls>},
    declaration{"inspect", add<add_inspect>},
    declaration{"release", add<add_release>},
    declaration{"watch", add<add_watch>},
    declaration{"leader", add<add_leader>},
    declaration{"doctor", add<add_doctor>},
    declaration{"top", add<add_top>},
    declaration{"serve", add<add_serve>},
    declaration{"acquire", add<add_acquire>},
    declaration{"renew", add<add_renew>},
    declaration{"hold", add<add_hold>},
    declaration{"judge", add<add_judge>},
};

/// Those that answer from the other declarations.
constexpr std::array<std::string_view, 2> about_commands{"completion", "help"};

/// The command that is given, if it is the first word. Then only its own options are declared: to declare
/// those of all commands was nine tenths of what the process did from main() until a command began.
declaration const* find_declaration(std::string_view const name) {
  auto const* const found = std::ranges::find(declarations, name, &declaration::name);
  return found == declarations.end() ? nullptr : found;
}

bool is_command(std::string_view const name) {
  return find_declaration(name) != nullptr || std::ranges::count(about_commands, name) != 0;
}

std::string all_names() {
  std::string names;
  for (auto const& each : declarations) names.append(each.name).append(", ");
  return names + fmt::format("{}", fmt::join(about_commands, ", "));
}

void require_command(std::string_view const name) {
  if (!is_command(name))
    throw failure{usage, fmt::format("no command {}; there are: {}", output::quoted(name), all_names())};
}

std::string help_of(command_line const& line, std::string const& about) {
  if (about.empty()) return line.help();
  require_command(about);
  return line.help_of(about);
}

using words_given = std::span<char* const>;

bool is_separator(char const* const word) { return std::string_view{word} == "--"; }

/// Whether a NAME that begins with - stands between that separator and another one.
bool has_name_behind(words_given const words, std::size_t const separator) {
  return separator + 2 < words.size() && words[separator + 1][0] == '-' && is_separator(words[separator + 2]);
}

/// `separator`: the index of the -- behind which the user's command stands, or the number of words.
arguments read_until(words_given const words, std::size_t const separator) {
  auto const has_separator = separator != words.size();
  auto const after = words.subspan(std::min(separator + 1, words.size()));
  arguments result;
  command_line line{"holdfast", "Distributed locks on Redis: a command that runs on one host at a time",
                    "holdfast " HOLDFAST_VERSION_STRING};
  line.footer(main_footer);
  std::string shell;
  if (words.size() > 1 && words[1][0] != '-') require_command(words[1]);
  auto const* const given = words.size() > 1 ? find_declaration(words[1]) : nullptr;
  if (given != nullptr) {
    given->declare(line, result.chosen, after);
  } else {
    for (auto const& each : declarations) each.declare(line, result.chosen, after);
    add_completion(line, shell);
  }
  std::string help_about;
  auto help = line.add_command("help", "Explain holdfast, or one of its commands");
  help.usage("holdfast help [COMMAND]");
  help.value("COMMAND", help_about, "Which command", "TEXT");

  auto const shown = [&](std::string text) {
    result.text = std::move(text);
    if (result.text.ends_with('\n')) result.text.pop_back();
    return result;
  };
  auto const own_words = words.first(separator);
  auto const read = line.read(own_words);
  auto const command = line.given();
  if (read.result == reading::outcome::answer) return shown(read.text);
  if (read.result != reading::outcome::done) {
    if (read.result == reading::outcome::missing && has_name_behind(words, separator))
      return read_until(words, separator + 2);
    auto const help_command =
        command.empty() || command == "help" ? std::string{"holdfast help"} : "holdfast help " + command;
    throw failure{
        usage, fmt::format("{}; see `{}`", explained(read, command, own_words, has_separator), help_command)};
  }
  if (command.empty()) {
    throw failure{usage, fmt::format("no command given; there are: {}; see `holdfast help`", all_names())};
  }
  if (command == "help") return shown(help_of(line, help_about));
  if (command == "completion") return shown(completion_script(line, shell));
  return result;
}

}  // namespace

arguments read_arguments(int const argc, char** const argv) {
  words_given const words{argv, static_cast<std::size_t>(argc)};
  bool const runs = words.size() > 1 && takes_command(words[1]);
  auto const first = runs ? std::ranges::find_if(words, is_separator) : words.end();
  return read_until(words, static_cast<std::size_t>(first - words.begin()));
}

}  // namespace holdfast::cli
