#include "inspect/last_run.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/whole_number.hpp"
#include "inspect/bounded.hpp"

namespace holdfast::inspection {
namespace {

/// A whole number that isn't negative, and means something; nullopt for anything else, such as the empty
/// text.
std::optional<std::int64_t> count_in(std::string const& text) {
  auto const number = whole_number(text);
  return number && *number >= 0 && *number <= most_of_a_number ? number : std::nullopt;
}

}  // namespace

std::optional<run_info> read_run(resp::reply const& fields) {
  if (!fields.is_array()) return std::nullopt;
  run_info run;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    auto const& field = fields[i].text;
    auto const& value = fields[i + 1].text;
    auto const number = count_in(value);
    if (field == "owner") run.process.owner = value;
    if (field == "host") run.process.host = value;
    if (field == "label") run.process.label = value;
    if (field == "pid") run.process.pid = number.value_or(0);
    if (!number) continue;
    if (field == "token") run.token = *number;
    if (field == "began") run.began = run_info::time_point{std::chrono::microseconds{*number}};
    if (field == "took_ms") run.took = bounded_ms(*number);
    if (field == "exit") run.exit_code = static_cast<int>(*number);
    if (field == "until" && *number > 0)
      run.counts_until = run_info::time_point{std::chrono::microseconds{*number}};
  }
  if (run.process.owner.empty() || run.began == run_info::time_point{}) return std::nullopt;
  return run;
}

}  // namespace holdfast::inspection
