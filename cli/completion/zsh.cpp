#include "completion/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace holdfast::cli::completion {
namespace {

constexpr std::string_view zsh_head = R"zsh(#compdef holdfast
# Completion of holdfast for zsh, written by `holdfast completion zsh`.

# Names of locks that are held or waited for.
_holdfast_locks() {
  local -a url names
  # _arguments has put backslashes before the colons.
  [[ -z ${opt_args[--url]} ]] || url=(--url=${(Q)opt_args[--url]})
  ((!${+opt_args[--local]})) || url=(--local)
  names=(${(f)"$(@LIST@ $url 2>/dev/null </dev/null)"})
  _wanted locks expl lock compadd -a names
}
)zsh";

constexpr std::string_view zsh_tail = R"zsh(
_holdfast() {
  local curcontext=$curcontext context state state_descr line
  local -A opt_args
  # What follows -- is a command line of its own.
  local -i separator=${words[(i)--]}
  if ((separator < CURRENT)); then
    [[ -n ${(M)words[2,separator]:#(@RUN@|@LEAD@)} ]] || return 1
    words=("${(@)words[separator + 1,-1]}")
    ((CURRENT -= separator))
    _normal
    return
  fi
  _arguments -C -s \
@OPTIONS@    '1:command:_holdfast_commands' \
    '*::argument:->command' && return
  [[ $state == command ]] || return 1
  curcontext=${curcontext%:*:*}:holdfast-$words[1]:
  (($+functions[_holdfast_$words[1]])) || return 1
  _holdfast_$words[1]
}

if [[ $funcstack[1] == _holdfast ]]; then
  _holdfast "$@"
else
  compdef _holdfast holdfast
fi
)zsh";

/// Puts a backslash before each character of `special`.
std::string escaped(std::string_view const text, std::string_view const special) {
  std::string result;
  for (char const c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

/// An _arguments specification for each name. The names of one option exclude each other.
std::string specifications(std::vector<option> const& options) {
  std::string lines;
  for (auto const& option : options) {
    for (auto const& name : option.names) {
      auto spec = option.names.size() > 1 ? fmt::format("({})", fmt::join(option.names, " ")) : std::string{};
      if (option.repeats) spec += '*';
      spec += name;
      if (!option.value.empty() && name.starts_with("--")) spec += '=';
      spec += '[' + escaped(option.text, "[]\\") + ']';
      if (!option.choices.empty()) {
        spec +=
            fmt::format(":{}:({})", name.substr(name.find_first_not_of('-')), fmt::join(option.choices, " "));
      } else if (!option.value.empty()) {
        spec += fmt::format(":{}:{}", option.value, option.value == a_file ? "_files" : " ");
      }
      lines += "    " + single_quoted(spec) + " \\\n";
    }
  }
  return lines;
}

std::string argument_of(command const& command) {
  if (!command.argument) return {};
  auto const& [name, is_lock, is_files, choices] = *command.argument;
  if (is_files) return fmt::format("    '*:{}:_files' \\\n", name);
  std::string zsh_action = " ";
  if (is_lock) zsh_action = "_holdfast_locks";
  if (!choices.empty()) zsh_action = fmt::format("({})", fmt::join(choices, " "));
  return fmt::format("    '1:{}:{}' \\\n", name, zsh_action);
}

}  // namespace

std::string zsh_script(model const& from) {
  auto script = filled(zsh_head, {{"@LIST@", list_locks}});
  script += "\n_holdfast_commands() {\n  local -a commands=(\n";
  for (auto const& command : from.commands) {
    script += "    " + single_quoted(command.name + ':' + escaped(command.text, ":\\")) + '\n';
  }
  script += "  )\n  _describe -t commands command commands\n}\n";
  for (auto const& command : from.commands) {
    auto lines = specifications(command.options) + argument_of(command);
    lines.resize(lines.size() - std::string_view{" \\\n"}.size());
    script += fmt::format("\n_holdfast_{}() {{\n  _arguments -s \\\n{}\n}}\n", command.name, lines);
  }
  return script + filled(zsh_tail, {{"@RUN@", runs_a_command},
                                    {"@LEAD@", leads_a_command},
                                    {"@OPTIONS@", specifications(from.options)}});
}

}  // namespace holdfast::cli::completion
