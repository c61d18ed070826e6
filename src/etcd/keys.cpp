#include "etcd/keys.hpp"

#include <array>
#include <charconv>

#include "base/printable.hpp"
#include "engine/presence.hpp"

namespace holdfast::etcd::keys {
namespace {

constexpr std::string_view mark{"holdfast "};

}  // namespace

std::string folder(std::string_view prefix, std::string_view name) {
  std::string all;
  all.reserve(prefix.size() + name.size() + 1);
  all.append(prefix).append(name).append(1, '/');
  return all;
}

std::string end_of(std::string folder) {
  folder.back() = '/' + 1;
  return folder;
}

std::string place(std::string_view folder, std::int64_t lease) {
  std::array<char, 16> digits{};
  auto const [end, failure] =
      std::to_chars(digits.data(), digits.data() + digits.size(), static_cast<std::uint64_t>(lease), 16);
  std::string key{folder};
  key.append(digits.data(), end);
  return key;
}

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

}  // namespace holdfast::etcd::keys
