#include "etcd/keys.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/printable.hpp"
#include "base/whole_number.hpp"
#include "engine/presence.hpp"

namespace holdfast::etcd::keys {
namespace {

constexpr std::string_view petition{"\nasked "};
/// No digit, so that no other place begins so.
constexpr std::string_view reads{"read-"};

std::string_view last_part(std::string_view key) { return key.substr(key.rfind('/') + 1); }

}  // namespace

std::string folder(std::string_view prefix, std::string_view name) {
  std::string all;
  all.reserve(prefix.size() + name.size() + 1);
  all.append(prefix).append(name).append(1, '/');
  return all;
}

std::string below(std::string_view folder, std::string_view word) {
  std::string key;
  key.reserve(folder.size() + word.size());
  return key.append(folder).append(word);
}

std::string end_of(std::string folder) {
  while (!folder.empty() && static_cast<unsigned char>(folder.back()) == 0xffU) folder.pop_back();
  if (folder.empty()) return std::string(1, '\0');  // of all keys
  folder.back() = static_cast<char>(static_cast<unsigned char>(folder.back()) + 1);
  return folder;
}

std::optional<std::string> name_before(std::string_view prefix, std::string_view key, std::string_view word) {
  auto const slash = key.rfind('/');
  if (slash == std::string_view::npos || slash <= prefix.size() || key.substr(slash + 1) != word)
    return std::nullopt;
  return std::string{key.substr(prefix.size(), slash - prefix.size())};
}

std::string digits_of(std::int64_t lease) {
  std::array<char, 16> digits{};
  auto const [end, failure] =
      std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<std::uint64_t>(lease), 16);
  return {digits.data(), end};
}

std::int64_t lease_in(std::string_view digits) {
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return static_cast<std::int64_t>(number);
}

std::string place(std::string_view folder, std::int64_t lease) { return below(folder, digits_of(lease)); }

std::string those_aside(std::string_view prefix, std::string_view name) {
  return std::string{prefix}.append(name).append(":holdfast_aside:");
}

std::string aside(std::string_view prefix, std::string_view name, std::int64_t lease) {
  return those_aside(prefix, name).append(digits_of(lease));
}

std::string reading_place(std::string_view folder, std::int64_t lease, std::string_view owner) {
  return below(folder, reads)
      .append(digits_of(lease))
      .append(1, '-')
      .append(owner.substr(owner.rfind(':') + 1));
}

std::vector<std::pair<std::string, std::string>> all_but_readers(std::string const& folder) {
  return all_but(folder, below(folder, reads));
}

std::vector<std::pair<std::string, std::string>> all_but(std::string const& folder,
                                                         std::string const& beginning) {
  return {{folder, beginning}, {end_of(beginning), end_of(folder)}};
}

bool is_readers(std::string_view key) { return last_part(key).starts_with(reads); }

std::string value(std::string_view owner, std::string const& label) {
  auto const self = engine::describe_self(label);
  std::string text{mark};
  text.append(owner)
      .append("\nhost ")
      .append(printable(self.host))
      .append("\npid ")
      .append(std::to_string(self.pid));
  text.append("\nprogram ").append(printable(self.program));
  if (!self.label.empty()) text.append("\nlabel ").append(printable(self.label));
  return text;
}

std::string owner_in(std::string_view value) {
  if (!value.starts_with(mark)) return {};
  value.remove_prefix(mark.size());
  return std::string{value.substr(0, value.find('\n'))};
}

process_info process_in(std::string_view value) {
  process_info found{.owner = owner_in(value)};
  if (found.owner.empty()) return found;
  while (!value.empty()) {
    auto const line = value.substr(0, value.find('\n'));
    value.remove_prefix(std::min(value.size(), line.size() + 1));
    auto const space = line.find(' ');
    if (space == std::string_view::npos) continue;
    auto const word = line.substr(0, space);
    auto const text = line.substr(space + 1);
    if (word == "host") found.host = text;
    if (word == "pid") found.pid = whole_number(text).value_or(0);
    if (word == "program") found.program = text;
    if (word == "label") found.label = text;
  }
  return found;
}

std::string wanted_back(std::string value, std::string_view by) {
  return is_wanted_back(value) ? value : value.append(petition).append(printable(by));
}

bool is_wanted_back(std::string_view value) {
  return !owner_in(value).empty() && value.find(petition) != std::string_view::npos;
}

}  // namespace holdfast::etcd::keys
