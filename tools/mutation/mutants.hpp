/// Which mutant runs: of a copy of the sources that tools/mutate has made, and of nothing else.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
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
/// Where it is written which test reaches which place, and which script: a folder, with a file for each test.
inline char const* const reached_folder = std::getenv("HOLDFAST_MUTANTS_REACHED");

/// What was noted in the test of that number, if any; tests are counted from one, what comes before them is none's.
using mark = std::atomic<unsigned>;
inline std::atomic<unsigned> test_number{1};
inline char reached_file[1024]{};

/// The programs that the test starts belong to it.
inline void begin_test(std::string name) {
  if (reached_folder == nullptr) return;
  for (auto& letter : name) letter = letter == '/' ? '~' : letter;
  ::setenv("HOLDFAST_MUTANTS_TEST", name.c_str(), 1);
  std::snprintf(reached_file, sizeof reached_file, "%s/%s", reached_folder, name.c_str());
  ++test_number;
}
inline bool const began_in_a_test = [] {
  if (auto const* const name = std::getenv("HOLDFAST_MUTANTS_TEST")) begin_test(name);
  return true;
}();

/// Writes the text down, once for each test; at once, as a program may end without its destructors, and without memory.
inline void note(mark& noted, std::string_view text) {
  if (reached_folder == nullptr) return;
  auto const now = test_number.load(std::memory_order_relaxed);
  if (noted.load(std::memory_order_relaxed) == now || noted.exchange(now) == now) return;
  char path[1024];
  std::snprintf(path, sizeof path, "%s/before", reached_folder);
  auto const file = ::open(now == 1 ? path : reached_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  char line[256];
  auto const size = std::snprintf(line, sizeof line, "%.*s\n", static_cast<int>(text.size()), text.data());
  if (::write(file, line, static_cast<std::size_t>(size)) < 0) std::abort();
  ::close(file);
}

inline bool on_at_run_time(int number) {
  if (reached_folder != nullptr) {
    static mark noted[4096]{};
    char text[16];
    auto const size = std::snprintf(text, sizeof text, "%d", number);
    note(noted[number], {text, static_cast<std::size_t>(size)});
  }
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
