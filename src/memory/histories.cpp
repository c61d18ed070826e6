// Histories and their judge, for tests: holdfast/testing.hpp.

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <holdfast/testing.hpp>
#include <system_error>

#include "judge/judge.hpp"

namespace holdfast::memory {
namespace {

std::string text_of(judging::finding const& found, judging::tables const& known) {
  auto text = found.text;
  for (auto const& at : found.excerpt) {
    text += "\n  " + judging::time_text(at.t - found.excerpt.front().t) + "  " +
            known.clients[at.client].uuid + "  " + at.text;
  }
  return text;
}

}  // namespace

std::vector<finding> judge(std::vector<std::string> const& histories) {
  judging::judge all{histories, {}};
  all.run();
  std::vector<finding> found;
  for (std::size_t i = 0; i != judging::promise_words.size(); ++i) {
    auto const* const shortest = all.result().violations.shortest(static_cast<judging::promise>(i));
    if (shortest == nullptr) continue;
    found.push_back(  // NOLINT(performance-inefficient-vector-operation): mostly none
        {.promise = std::string{judging::promise_words.at(i)}, .text = text_of(*shortest, all.known())});
  }
  return found;
}

history::history() : path_{(std::filesystem::temp_directory_path() / "holdfast-history-XXXXXX").string()} {
  auto const file = ::mkstemp(path_.data());
  if (file < 0) throw std::system_error{errno, std::generic_category(), path_};
  ::close(file);
}

history::~history() { ::unlink(path_.c_str()); }

}  // namespace holdfast::memory
