#include "engine/record.hpp"

#include <algorithm>
#include <utility>

#include "base/traceparent.hpp"
#include "base/whole_number.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

constexpr std::size_t uuid_size = 36;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_uuid_character(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || c == '-'; }

/// Of the acquisition with that owner id of Holdfast. Empty: it isn't among them.
std::string_view trace_among(std::string_view traces, std::string_view owner) noexcept {
  auto number = owner.substr(uuid_size + 1);
  number = number.substr(0, number.find(':'));
  while (!traces.empty()) {
    auto const word = traces.substr(0, traces.find(' '));
    traces.remove_prefix(std::min(word.size() + 1, traces.size()));
    auto const sign = word.find('=');
    if (sign == std::string_view::npos || word.substr(0, sign) != number) continue;
    auto const trace = word.substr(sign + 1);
    return is_traceparent(trace) ? trace : std::string_view{};
  }
  return {};
}

}  // namespace

std::string_view uuid_of(std::string_view owner) noexcept {
  if (owner.size() < uuid_size + 2 || owner[uuid_size] != ':') return {};
  auto const uuid = owner.substr(0, uuid_size);
  auto number = names::without_suffix(owner.substr(uuid_size + 1));
  if (number.ends_with(names::lasting_suffix)) number.remove_suffix(names::lasting_suffix.size());
  auto const fits = !number.empty() && std::all_of(uuid.begin(), uuid.end(), is_uuid_character) &&
                    std::all_of(number.begin(), number.end(), is_digit);
  return fits ? uuid : std::string_view{};
}

/// Records are written each 20 s, and so the first trace of a client is found by and by.
std::chrono::milliseconds client_record::lasts() const noexcept {
  return traces || is_missing() ? std::chrono::milliseconds{500} : std::chrono::seconds{20};
}

process_info client_record::of(std::string owner) const {
  auto info = process;
  if (traces && !uuid_of(owner).empty()) info.trace = trace_among(*traces, owner);
  info.owner = std::move(owner);
  return info;
}

client_record read_record(resp::reply const& record) {
  client_record read;
  if (!record.is_array()) return read;
  auto& info = read.process;
  for (std::size_t i = 0; i + 1 < record.size(); i += 2) {
    auto const& field = record[i].text;
    auto const& value = record[i + 1].text;
    if (field == "host") info.host = value;
    if (field == "program") info.program = value;
    if (field == "label") info.label = value;
    if (field == "pid") info.pid = leading_number(value, info.pid);
    if (field == "traces") read.traces = value;
  }
  return read;
}

process_info read_record(std::string_view owner, resp::reply const& record) {
  return read_record(record).of(std::string{owner});
}

}  // namespace holdfast::engine
