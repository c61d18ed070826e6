// Durations, Redis's patterns, and text for a terminal. An input is three lines: one duration, one pattern
// and one name.

#include <chrono>
#include <stdexcept>
#include <string>

#include "base/printable.hpp"
#include "common/duration.hpp"
#include "fuzz/fuzz.hpp"
#include "inspect/glob.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::fuzzing;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds most = 24h * 3650;

void check_duration(std::string_view text) {
  std::chrono::milliseconds read{};
  try {
    read = cli::parse_duration(text);
  } catch (std::invalid_argument const&) {
    return;
  }
  require(read >= 0ms && read <= most, "a duration is at most ten years");
  require(cli::parse_duration(std::to_string(read.count()) + "ms") == read,
          "so many milliseconds are the same");
  auto const shown = cli::parse_duration(cli::to_string(read));
  require(shown <= read && read - shown <= read / 24, "it is shown but for its smallest parts");
  require(cli::parse_duration(cli::to_string(shown)) == shown, "what is shown is shown again");
}

void check_pattern(std::string const& pattern, std::string const& name) {
  using namespace inspection;
  auto const fits = matches(pattern, name);
  auto const start = start_of(pattern);
  require(!fits || name.starts_with(start.text), "what matches begins as the pattern does");
  require(!start.complete || fits == (name == start.text), "a name alone is what it matches");
  require(!fits || matches("*" + pattern, "x" + name), "anything may stand before it");
  require(
      matches("*", name) && (pattern.find_first_not_of('*') != std::string::npos || pattern.empty() || fits),
      "stars match all");
  auto const literal = escaped(name);
  require(matches(literal, name) && matches(literal + "*", name + pattern), "an escaped name matches itself");
  require(start_of(literal).text == name && start_of(literal).complete, "an escaped name is no pattern");
}

void check_text(std::string_view text) {
  auto const shown = printable(text);
  require(printable(shown) == shown, "what is printable stays as it is");
  require(shown.find_first_of("\n\r\033") == std::string::npos, "it is one line without effects");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto rest = text_of(data, size);
  check_duration(take(rest));
  auto const pattern = take(rest).substr(0, 64);
  check_pattern(std::string{pattern}, std::string{rest.substr(0, 64)});
  check_text(rest);
  return 0;
}
