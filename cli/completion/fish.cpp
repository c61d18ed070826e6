#include "completion/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace holdfast::cli::completion {
namespace {

constexpr std::string_view fish_head =
    R"(# Completion of holdfast for fish, written by `holdfast completion fish`.

# Succeeds where the words of command $argv[1] are typed, before a --; without an argument: where a command is.
function __holdfast_at
    set -l words (commandline -opc)
    set -e words[1]
    contains -- -- $words; and return 1
    for word in $words
        string match -q -- '-*' $word; and continue
        test "$word" = "$argv[1]"
        return
    end
    test -z "$argv[1]"
end

# Succeeds where command $argv[1] has its argument still to come; the others name its options with a value.
function __holdfast_wants
    __holdfast_at $argv[1]; or return 1
    set -l words (commandline -opc)
    set -l bare
    set -l is_value no
    for word in $words[2..-1]
        if test $is_value = yes
            set is_value no
        else if contains -- $word $argv[2..-1]
            set is_value yes
        else if not string match -q -- '-*' $word
            set -a bare $word
        end
    end
    test (count $bare) -eq 1 -a $is_value = no
end

# Names of locks that are held or waited for.
function __holdfast_locks
    set -l url
    set -l last
    for word in (commandline -opc)
        string match -q -- '--url=*' $word; and set url $word
        test "$last" = --url; and set url --url=$word
        test $word = --local; and set url --local
        set last $word
    end
    @LIST@ $url 2>/dev/null </dev/null
end

# Succeeds behind the -- of a command that runs another.
function __holdfast_behind_separator
    set -l words (commandline -opc)
    contains -- -- $words; and begin; contains -- @RUN@ $words; or contains -- @LEAD@ $words; end
end

# What the command line behind the -- can go on with.
function __holdfast_command
    set -l words (commandline -opc)
    set -l at (contains -i -- -- $words)
    set -l before (string escape -- $words[(math $at + 1)..-1])
    complete -C (string join ' ' -- $before (commandline -ct))
end

complete -c holdfast -f
complete -c holdfast -n __holdfast_behind_separator -a '(__holdfast_command)'
)";

std::string fish_quoted(std::string_view const text) {
  std::string result = "'";
  for (char const c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + '\'';
}

void add_fish_options(std::string& script, std::string_view const command,
                      std::vector<option> const& options) {
  for (auto const& option : options) {
    script += fmt::format("complete -c holdfast -n '__holdfast_at {}'", command);
    for (std::string_view name : option.names) {
      bool const is_long = name.starts_with("--");
      name.remove_prefix(is_long ? 2 : 1);
      script += fmt::format(" {} {}", is_long ? "-l" : "-s", name);
    }
    if (!option.value.empty()) script += option.value == a_file ? " -r -F" : " -x";
    if (!option.choices.empty()) script += fmt::format(" -a '{}'", fmt::join(option.choices, " "));
    script += fmt::format(" -d {}\n", fish_quoted(option.text));
  }
}

void add_argument(std::string& script, command const& command) {
  if (!command.argument) return;
  auto const& [name, is_lock, is_files, choices] = *command.argument;
  if (is_files) script += fmt::format("complete -c holdfast -n '__holdfast_at {}' -F\n", command.name);
  if (!is_lock && choices.empty()) return;
  script += fmt::format(
      "complete -c holdfast -n '__holdfast_wants {}' -a {}\n",
      fmt::join({command.name, fmt::format("{}", fmt::join(names_with_value(command.options), " "))}, " "),
      is_lock ? "'(__holdfast_locks)' -d lock" : fmt::format("'{}'", fmt::join(choices, " ")));
}

}  // namespace

std::string fish_script(model const& from) {
  auto script =
      filled(fish_head, {{"@LIST@", list_locks}, {"@RUN@", runs_a_command}, {"@LEAD@", leads_a_command}});
  script += "\n";
  add_fish_options(script, "", from.options);
  for (auto const& command : from.commands) {
    script += fmt::format("\ncomplete -c holdfast -n __holdfast_at -a {} -d {}\n", command.name,
                          fish_quoted(command.text));
    add_fish_options(script, command.name, command.options);
    add_argument(script, command);
  }
  return script;
}

}  // namespace holdfast::cli::completion
