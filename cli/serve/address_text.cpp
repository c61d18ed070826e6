#include "serve/address_text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace holdfast::cli {

std::string address_text(sockaddr const* const address, std::size_t const size) {
  sockaddr_storage copy{};
  std::memcpy(&copy, address, std::min(size, sizeof copy));
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (copy.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in const&>(copy).sin_addr, text.data(), text.size());
  } else if (copy.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6 const&>(copy).sin6_addr, text.data(), text.size());
  } else {
    return "unix";
  }
  return text.data();
}

}  // namespace holdfast::cli
