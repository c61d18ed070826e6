/// Which mutant runs: of a copy of the sources that tools/mutate has made, and of nothing else.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

namespace mutants {

inline int const chosen = [] {
  auto const* const number = std::getenv("HOLDFAST_MUTANT");
  return number == nullptr ? 0 : std::atoi(number);
}();
inline char const* const reached_file = std::getenv("HOLDFAST_MUTANTS_REACHED");

/// Writes that number down, once, as a program may end without its destructors.
inline void note_reached(int number) {
  static std::atomic<bool> noted[4096]{};
  if (noted[static_cast<std::size_t>(number)].exchange(true)) return;
  auto const line = std::to_string(number) + "\n";
  auto const file = ::open(reached_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (::write(file, line.data(), line.size()) < 0) std::abort();
  ::close(file);
}

inline bool on_at_run_time(int number) {
  if (reached_file != nullptr) note_reached(number);
  return chosen == number;
}
/// Whether the place with that number is broken. Never where the compiler computes.
constexpr bool on(int number) { return !std::is_constant_evaluated() && on_at_run_time(number); }

/// The script of that name: as it is, or as the file that HOLDFAST_MUTANT_SCRIPTS names has it. There a line `<name> <SHA-1>
/// <size>` precedes each text.
template <class Script>
Script script_of(char const* name, char const* sha1, char const* text) {
  static std::string const all = [] {
    auto const* const path = std::getenv("HOLDFAST_MUTANT_SCRIPTS");
    if (path == nullptr) return std::string{};
    std::ifstream file{path, std::ios::binary};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  }();
  std::string_view rest{all};
  while (!rest.empty()) {
    auto const head = rest.substr(0, rest.find('\n'));
    auto const first = head.find(' ');
    auto const second = head.find(' ', first + 1);
    auto const size = static_cast<std::size_t>(std::atoi(head.data() + second + 1));
    if (head.substr(0, first) == name)
      return {name, head.substr(first + 1, second - first - 1), rest.substr(head.size() + 1, size)};
    rest.remove_prefix(head.size() + 1 + size);
  }
  return {name, sha1, text};
}

}  // namespace mutants
