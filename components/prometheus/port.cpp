#include "port.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace holdfast::detail {
namespace {

std::error_code error_now() { return {errno, std::generic_category()}; }

std::error_code why_not_bindable(addrinfo const& to) {
  auto const probe = ::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return error_now();
  int const on = 1;  // as civetweb: connections that have ended are no hindrance
  (void)::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  std::error_code reason;
  if (::bind(probe, to.ai_addr, to.ai_addrlen) != 0 || ::listen(probe, 1) != 0) reason = error_now();
  ::close(probe);
  return reason;
}

}  // namespace

std::error_code why_not_bindable(std::string const& address) {
  auto const invalid = make_error_code(std::errc::invalid_argument);
  auto const colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return invalid;
  auto const port = address.substr(colon + 1);
  if (port.empty() || port.size() > 5 ||
      !std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; }))
    return invalid;
  auto host = address.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0 || found == nullptr) return invalid;
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> const all{found, ::freeaddrinfo};
  return why_not_bindable(*all);
}

}  // namespace holdfast::detail
