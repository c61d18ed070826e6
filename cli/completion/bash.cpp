#include "completion/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace holdfast::cli::completion {
namespace {

constexpr std::string_view bash_head =
    R"(# Completion of holdfast for bash, written by `holdfast completion bash`.
)";

constexpr std::string_view bash_tail = R"(
# The words up to the cursor as they were typed, into `words`: bash splits at = and : too.
_holdfast_read_words() {
  local line=${COMP_LINE:0:COMP_POINT} i word rest
  words=()
  for ((i = 0; i <= COMP_CWORD; i++)); do
    rest=${line#"${line%%[![:space:]]*}"}
    word=${COMP_WORDS[i]}
    [[ $rest == "$word"* ]] || word=$rest # the cursor stands inside it
    if [[ ${#words[@]} -eq 0 || $rest != "$line" ]]; then
      words+=("$word")
    else
      words[-1]+=$word
    fi
    line=${rest:${#word}}
  done
}

# Offers those lines of stdin that begin with the word $1, quoted in its way.
_holdfast_offer() {
  local typed=$1 quote='' breaks=${COMP_WORDBREAKS//[^:=]/} before='' line
  if [[ $typed == [\"\']* ]]; then
    quote=${typed:0:1}
    typed=${typed:1}
  fi
  # Without -r: it takes the backslashes out.
  # shellcheck disable=SC2162
  [[ $quote == \' ]] || IFS= read typed <<<"$typed"
  # Up to the last of these bash takes it for words before.
  [[ $quote || ! $breaks ]] || before=${typed%"${typed##*["$breaks"]}"}
  while IFS= read -r line; do
    [[ $line == "$typed"* ]] || continue
    line=${line#"$before"}
    case $quote in
      \') line=${line//\'/\'\\\'\'} ;;
      \")
        line=${line//\\/\\\\}
        line=${line//\"/\\\"}
        line=${line//\$/\\\$}
        line=${line//\`/\\\`}
        ;;
      *) [[ ! $line ]] || printf -v line %q "$line" ;;
    esac
    COMPREPLY+=("$line")
  done
}

# Completes the command line that begins at COMP_WORDS[$1].
_holdfast_behind_separator() {
  local cur=${COMP_WORDS[COMP_CWORD]}
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "$1"
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}

_holdfast() {
  local words cur word command='' option='' operands=0 url=() i
  COMPREPLY=()
  _holdfast_read_words
  cur=${words[-1]}
  for word in "${words[@]:1:${#words[@]}-2}"; do
    if [[ $option ]]; then
      [[ $option != --url ]] || url=("--url=${word//[\"\'\\]/}")
      option=''
      continue
    fi
    case $word in
      --)
        [[ $command == @RUN@ || $command == @LEAD@ ]] || return
        for ((i = 1; i < COMP_CWORD; i++)); do
          [[ ${COMP_WORDS[i]} != -- ]] || break
        done
        _holdfast_behind_separator $((i + 1))
        return
        ;;
      --url=*) url=("${word//[\"\'\\]/}") ;;
      --local) url=("$word") ;;
      -*) ! _holdfast_takes_value "$command" "$word" || option=$word ;;
      *) if [[ $command ]]; then ((++operands)); else command=$word; fi ;;
    esac
  done

  if [[ $option ]]; then
    _holdfast_offer "$cur" < <(_holdfast_choices "$command" "$option" "$cur")
  elif [[ $cur == --*=* ]]; then
    option=${cur%%=*}
    _holdfast_offer "$cur" < <(_holdfast_choices "$command" "$option" "${cur#*=}" | sed "s/^/$option=/")
  elif [[ $cur == -* ]]; then
    _holdfast_offer "$cur" < <(_holdfast_options "$command")
  elif ((operands == 0)) || [[ $command == @JUDGE@ ]]; then
    _holdfast_offer "$cur" < <(_holdfast_operands "$command" "${url[@]}")
  fi
}

complete -F _holdfast holdfast
)";

std::string lines(std::vector<std::string> const& words) {
  return fmt::format("printf '%s\\n' {}", fmt::join(words, " "));
}

void add_options(std::string& script, std::string_view const command, std::vector<option> const& options) {
  std::vector<std::string> names;
  for (auto const& option : options) names.insert(names.end(), option.names.begin(), option.names.end());
  script += fmt::format("    {}) {} ;;\n", single_quoted(command), lines(names));
}

std::string options_function(model const& from) {
  std::string script = "\n# The options of a command.\n_holdfast_options() {\n  case $1 in\n";
  add_options(script, "", from.options);
  for (auto const& command : from.commands) add_options(script, command.name, command.options);
  return script + "  esac\n}\n";
}

std::string values_function(model const& from) {
  std::string script =
      "\n# Does option $2 of command $1 take a value?\n_holdfast_takes_value() {\n  case \"$1 $2\" in\n";
  for (auto const& command : from.commands) {
    for (auto const& name : names_with_value(command.options)) {
      script += fmt::format("    '{} {}') return 0 ;;\n", command.name, name);
    }
  }
  return script + "    *) return 1 ;;\n  esac\n}\n";
}

std::string choices_function(model const& from) {
  std::string script =
      "\n# The values of option $2 of command $1, where they are few, or files that begin with $3.\n"
      "_holdfast_choices() {\n  case \"$1 $2\" in\n";
  for (auto const& command : from.commands) {
    for (auto const& option : command.options) {
      if (option.choices.empty() && option.value != a_file) continue;
      auto const values = option.value == a_file ? R"(compgen -f -- "$3")" : lines(option.choices);
      for (auto const& name : option.names)
        script += fmt::format("    '{} {}') {} ;;\n", command.name, name, values);
    }
  }
  return script + "  esac\n}\n";
}

std::string operands_function(model const& from) {
  std::string script =
      "\n# What command $1 takes besides options; the rest of the arguments says which Redis to ask.\n"
      "_holdfast_operands() {\n  case $1 in\n";
  std::vector<std::string> commands;
  commands.reserve(from.commands.size());
  for (auto const& command : from.commands) commands.push_back(command.name);
  script += fmt::format("    '') {} ;;\n", lines(commands));
  for (auto const& [name, text, options, argument] : from.commands) {
    if (!argument) continue;
    if (argument->is_lock) {
      script += fmt::format("    {}) {} \"${{@:2}}\" 2>/dev/null </dev/null ;;\n", name, list_locks);
    } else if (!argument->choices.empty()) {
      script += fmt::format("    {}) {} ;;\n", name, lines(argument->choices));
    } else if (argument->is_files) {
      script += fmt::format("    {}) compgen -f -- \"${{words[-1]}}\" ;;\n", name);
    }
  }
  return script + "  esac\n}\n";
}

}  // namespace

std::string bash_script(model const& from) {
  return std::string{bash_head} + options_function(from) + values_function(from) + choices_function(from) +
         operands_function(from) +
         filled(bash_tail,
                {{"@RUN@", runs_a_command}, {"@LEAD@", leads_a_command}, {"@JUDGE@", reads_files}});
}

}  // namespace holdfast::cli::completion
