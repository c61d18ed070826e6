#include "wire/redisson/permit_id.hpp"

#include <charconv>
#include <cstdint>

#include "base/whole_number.hpp"

namespace holdfast::recipes::redisson {
namespace {

constexpr std::size_t id_bytes = 16;
constexpr std::size_t uuid_length = 36;

std::optional<std::string> from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t position = 0; position + 1 < digits.size(); position += 2) {
    unsigned byte = 0;
    auto const* const end = digits.data() + position + 2;
    if (auto const [rest, bad] = std::from_chars(digits.data() + position, end, byte, 16);
        bad != std::errc{} || rest != end) {
      return std::nullopt;
    }
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace

std::string permit_id(std::string_view owner) {
  std::string digits;
  for (auto const digit : owner.substr(0, uuid_length)) {
    if (digit != '-') digits += digit;
  }
  auto bytes = from_hex(digits).value_or("");
  bytes.resize(id_bytes);
  auto number = leading_number<std::uint64_t>(owner.substr(std::min(owner.size(), uuid_length + 1)));
  unsigned carry = 0;
  for (auto position = id_bytes; position-- > id_bytes / 2; number >>= 8) {
    carry += static_cast<unsigned char>(bytes[position]) + static_cast<unsigned>(number & 0xff);
    bytes[position] = static_cast<char>(carry & 0xff);
    carry >>= 8;
  }
  return bytes;
}

std::string shown(std::string_view permit_id) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * permit_id.size());
  for (auto const byte : permit_id) {
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 0x0f];
  }
  return text;
}

std::optional<std::string> read_permit_id(std::string_view text) {
  if (text.size() != 2 * id_bytes) return std::nullopt;
  return from_hex(text);
}

}  // namespace holdfast::recipes::redisson
