// Histories: judged, or refused with file and line. Clients write to one file in any order, which makes no
// difference. Any text that is written into a line is read from it.

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <set>
#include <string>

#include "fuzz/fuzz.hpp"
#include "history/lines.hpp"
#include "support/written_history.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::fuzzing;

/// A file in memory, always the same one: to make one and to remove it takes longer than to judge it.
class file {
 public:
  [[nodiscard]] std::string const& with(std::string_view text) const {
    require(::ftruncate(descriptor_, 0) == 0 &&
                ::pwrite(descriptor_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
            "it is written");
    return path_;
  }

 private:
  int descriptor_ = ::memfd_create("history", MFD_CLOEXEC);
  std::string path_ = "/proc/self/fd/" + std::to_string(descriptor_);
};

/// Empty: it can't be judged.
std::string verdict_on(std::string_view text) {
  static file const history;
  try {
    return test::verdict_on({history.with(text)},
                            {.uncertainty = 1000, .hosts = judging::merge::hosts::several});
  } catch (judging::unreadable const& problem) {
    require(text.empty() || std::string_view{problem.what()}.find("line ") != std::string_view::npos,
            "it says where");
    return {};
  }
}

/// The lines of one client behind those of the other, their headers first. Empty where that may make a
/// difference: in histories of several machines, and between events at the same time.
std::string permuted(std::string_view text) {
  std::string headers;
  std::map<std::string, std::string> lines_of;
  std::set<std::int64_t> times;
  std::string machine;
  judging::object fields;
  while (!text.empty()) {
    auto const line = take(text);
    if (!fields.read(line).empty()) return {};
    auto const text_in = [&](std::string_view key) {
      auto const* const found = fields.find(key, judging::object::type::text);
      return found == nullptr ? std::string{} : found->text;
    };
    if (!times.insert(fields.find("t", judging::object::type::number)->number).second) return {};
    auto const is_header = text_in("e") == "client";
    if (is_header && !headers.empty() && machine != text_in("boot")) return {};
    if (is_header) machine = text_in("boot");
    (is_header ? headers : lines_of[text_in("c")]).append(line).append("\n");
  }
  for (auto const& [client, lines] : lines_of) headers += lines;
  return headers;
}

void check_line(std::string_view text) {
  history::lines line;
  std::array const names{text, text.substr(text.size() / 2)};
  line.begin(history::event::asked, time_point{std::chrono::nanoseconds{7}});
  line.add("text", text).add("names", std::span{names}).end();
  std::string_view const written = line.text();
  require(written.find('\n') == written.size() - 1, "it is one line");
  judging::object fields;
  require(fields.read(written.substr(0, written.size() - 1)).empty(), "it is read");
  auto const* const found = fields.find("text", judging::object::type::text);
  require(found != nullptr && found->text == text, "a text is read as it was written");
  auto const* const list = fields.find("names", judging::object::type::list);
  require(list != nullptr && std::ranges::equal(list->list, names), "so is a list");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const text = text_of(data, size);
  check_line(text.substr(0, 200));
  auto const verdict = verdict_on(text);
  if (verdict.empty()) return 0;
  auto const other = permuted(text);
  require(other.empty() || verdict_on(other) == verdict,
          "the order of the clients' lines makes no difference");
  return 0;
}
