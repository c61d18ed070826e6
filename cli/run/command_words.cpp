#include "run/command_words.hpp"

#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "common/output.hpp"

#include <fmt/format.h>

namespace holdfast::cli {

using namespace std::chrono_literals;

words_after command_of(command_words& from, words_after const words, std::string_view const example) {
  if (!from.shell) {
    if (!words.empty()) return words;
    throw failure{usage, fmt::format("no command: write it after --, as in `holdfast {}`", example)};
  }
  if (!words.empty()) throw failure{usage, "--command: there is a command after --, too; leave one out"};
  if (from.shell->empty()) throw failure{usage, "--command: it is empty"};
  static char shell[]{"sh"};
  static char option[]{"-c"};
  from.shell_words = {shell, option, from.shell->data()};
  return from.shell_words;
}

on_lost policy_of(std::string const& text, std::string_view const allowed) {
  if (text == "term") return on_lost::term;
  if (text == "kill") return on_lost::kill;
  if (text == "warn" && allowed.ends_with("warn")) return on_lost::warn;
  throw failure{usage, fmt::format("--on-lost: {} is not one of {}", output::quoted(text), allowed)};
}

std::chrono::milliseconds max_hold_of(std::optional<std::string> const& text) {
  if (!text) return 0ms;
  auto const limit = duration_of("--max-hold", *text);
  if (limit == 0ms) throw failure{usage, "--max-hold: 0 would hold nothing; leave it out for no limit"};
  return limit;
}

}  // namespace holdfast::cli
