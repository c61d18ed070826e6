// The command line: read, or refused in one line with the exit code of a wrong use. Nothing is executed: what
// the commands do isn't even linked in. An input is one word a line.

#include <cstdlib>
#include <string>

#include "common/exit_codes.hpp"
#include "fuzz/fuzz.hpp"
#include "read_arguments.hpp"

#include <holdfast/error.hpp>

namespace {

using namespace holdfast;
using namespace holdfast::fuzzing;

/// What became of it: a text that was asked for, the refusal, or nothing for a command that could begin.
std::string read(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  auto const count = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  try {
    auto const arguments = cli::read_arguments(count, pointers.data());
    require(arguments.text.empty() == static_cast<bool>(arguments.chosen), "there is a text, or a command");
    return arguments.text;
  } catch (cli::failure const& problem) {
    require(problem.code() == cli::usage, "a wrong use has its exit code");
    require(*problem.what() != '\0', "it is explained");
    return problem.what();
  } catch (error const& problem) {
    require(cli::exit_code_for(problem.code()) == cli::usage, "what the library refuses is a wrong use");
    return problem.what();
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*words*/) {
  // No configuration of this machine.
  for (auto const* const name : {"HOME", "XDG_CONFIG_HOME", "HOLDFAST_CONFIG_DIR", "HOLDFAST_URL"})
    setenv(name, "/nowhere", 1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::vector<std::string> words{"holdfast"};
  for (auto rest = text_of(data, size); !rest.empty();) {
    auto const word = take(rest);
    words.emplace_back(word.substr(0, word.find('\0')));
  }
  auto const first = read(words);
  constexpr std::size_t each = 8;  // of so many inputs one: it takes as long as the first time
  require(size % each != 0 || read(words) == first, "the same words mean the same");
  return 0;
}
