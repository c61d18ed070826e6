#include "serve/token_tries.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr int wrong_at_once = 10;
constexpr auto forgotten_each = 6s;

/// A network gives each of its machines as many addresses of IPv6 as it likes: those that begin with the same
/// 64 bits are one.
std::string group_of(std::string_view const address) {
  std::string text{address};
  std::array<char, sizeof(in6_addr)> bits{};
  if (text.starts_with("::ffff:") || inet_pton(AF_INET6, text.c_str(), bits.data()) != 1) return text;
  return {bits.data(), bits.size() / 2};
}

}  // namespace

token_tries::time token_tries::wait_of(std::string_view const address, time const now) const {
  auto const known = forgotten_at_.find(group_of(address));
  if (known == forgotten_at_.end()) return 0s;
  return std::max<time>(known->second - now - (wrong_at_once - 1) * forgotten_each, 0s);
}

void token_tries::note_wrong(std::string_view const address, time const now) {
  auto group = group_of(address);
  if (forgotten_at_.size() >= most_addresses_ && !forgotten_at_.contains(group)) {
    std::erase_if(forgotten_at_, [now](auto const& each) { return each.second <= now; });
    if (forgotten_at_.size() >= most_addresses_)
      forgotten_at_.erase(
          std::ranges::min_element(forgotten_at_, {}, [](auto const& each) { return each.second; }));
  }
  auto& until = forgotten_at_.try_emplace(std::move(group), now).first->second;
  until = std::max(until, now) + forgotten_each;
}

}  // namespace holdfast::cli
