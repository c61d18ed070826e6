/// The hash slot of a key: one of a cluster's 16384.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace holdfast {

constexpr std::uint16_t hash_slots = 16384;

namespace detail {

/// CRC-16/XMODEM: polynomial 0x1021, initial value 0, as in the Redis Cluster specification.
constexpr auto crc16_table = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte != table.size(); ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit != 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021 : 0);
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

}  // namespace detail

/// The part of the key that the slot is computed from: the text between the first `{` and the first `}` after
/// it; the whole key when there is no such pair, or nothing in it.
constexpr std::string_view hash_tag(std::string_view key) noexcept {
  auto const open = key.find('{');
  if (open == std::string_view::npos) return key;
  auto const close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

constexpr std::uint16_t hash_slot(std::string_view key) noexcept {
  std::uint16_t crc = 0;
  for (char const c : hash_tag(key)) {
    auto const index = static_cast<std::uint8_t>((crc >> 8) ^ static_cast<std::uint8_t>(c));
    crc = static_cast<std::uint16_t>((crc << 8) ^ detail::crc16_table[index]);
  }
  return crc % hash_slots;
}

}  // namespace holdfast
