// The commands of the module, in this process, over keys in memory (module_server): each call is answered
// once; one that is refused has changed nothing; what it makes ends by itself. An input is a call a line, its
// words separated by spaces, with ~ for a space in a word: TAKE is HOLDFAST.TAKE, and SET, ZADD, HSET and
// RPUSH put something there before.

#include <charconv>

#include "fuzz/fuzz.hpp"
#include "fuzz/module_server.hpp"

namespace {

using namespace holdfast::fuzzing;
using namespace holdfast::fuzzing::module_server;
using holdfast::server::abi::no_expiry;

double score_in(std::string const& text) {
  double score = 0;
  std::from_chars(text.data(), text.data() + text.size(), score);
  return score == score ? score : 0;
}

/// The server's own commands, as far as a test needs them. False: it is another one.
bool put(std::vector<std::string> const& words) {
  auto const& command = words.front();
  auto& all = keys();
  if (words.size() == 2 && command == "DEL") return all.erase(words[1]), true;
  if (words.size() == 3 && command == "SET") return all[words[1]] = {.data = words[2]}, true;
  if (words.size() == 3 && command == "RPUSH") return all[words[1]] = {.data = list{words[2]}}, true;
  if (words.size() != 4 || (command != "ZADD" && command != "HSET")) return false;
  auto& data = all[words[1]].data;
  if (command == "ZADD") {
    if (!std::holds_alternative<sorted_set>(data)) data = sorted_set{};
    std::get<sorted_set>(data)[words[3]] = score_in(words[2]);
  } else {
    if (!std::holds_alternative<hash>(data)) data = hash{};
    std::get<hash>(data)[words[2]] = words[3];
  }
  return true;
}

void run(std::vector<std::string> words) {
  if (put(words)) return;
  auto& name = words.front();
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  if (name != "cas" && name != "cad") name.insert(0, "holdfast.");
  advance_clock();
  auto const before = keys();
  auto const ended = call(words);
  require(ended != outcome::refused || keys() == before, "what is refused has changed nothing");
  for (auto const& [key, value] : keys())
    require(value.expires != no_expiry || before.contains(key), "what was made ends by itself");
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*words*/) {
  load();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  keys().clear();
  constexpr int most_calls = 32;
  auto rest = text_of(data, size);
  for (int i = 0; i != most_calls && !rest.empty(); ++i) {
    auto line = take(rest);
    if (line.empty()) continue;
    std::vector<std::string> words;
    // An empty word stands between two spaces, or at the end.
    for (auto more = true; more;) {
      more = line.find(' ') != std::string_view::npos;
      words.emplace_back(take(line, ' '));
      std::ranges::replace(words.back(), '~', ' ');
    }
    run(std::move(words));
  }
  return 0;
}
