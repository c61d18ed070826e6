#include "engine/record.hpp"

#include <algorithm>

#include "base/whole_number.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

constexpr std::size_t uuid_size = 36;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_uuid_character(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || c == '-'; }

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

process_info read_record(std::string_view owner, resp::reply const& record) {
  process_info info{.owner = std::string{owner}};
  if (!record.is_array()) return info;
  for (std::size_t i = 0; i + 1 < record.size(); i += 2) {
    auto const& field = record[i].text;
    auto const& value = record[i + 1].text;
    if (field == "host") info.host = value;
    if (field == "program") info.program = value;
    if (field == "label") info.label = value;
    if (field == "pid") info.pid = leading_number(value, info.pid);
  }
  return info;
}

}  // namespace holdfast::engine
