#include "base/ids.hpp"

#include <sys/random.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace holdfast {
namespace {

constinit std::atomic<std::uint64_t (*)()> stand_in{nullptr};

template <std::size_t N>
std::array<unsigned char, N> random_bytes() {
  std::array<unsigned char, N> bytes{};
  if (auto* const source = stand_in.load(std::memory_order_relaxed); source != nullptr) {
    for (auto& byte : bytes) byte = static_cast<unsigned char>(source());
    return bytes;
  }
  std::size_t have = 0;
  while (have < N) {
    ssize_t const n = ::getrandom(bytes.data() + have, N - have, 0);
    if (n > 0) {
      have += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      throw std::system_error{errno, std::generic_category(), "getrandom"};
    }
  }
  return bytes;
}

}  // namespace

std::string make_uuid() {
  auto bytes = random_bytes<16>();
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);  // version 4: random
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);  // the variant of RFC 9562
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 0x0f];
  }
  return text;
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  for (auto const byte : random_bytes<8>()) seed = seed << 8 | byte;
  return seed;
}

void stand_in_for_randomness(std::uint64_t (*source)()) noexcept {
  stand_in.store(source, std::memory_order_relaxed);
}

}  // namespace holdfast
