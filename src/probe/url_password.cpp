#include "probe/url_password.hpp"

#include "net/deployment_url.hpp"

#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>
#include <holdfast/error.hpp>

#include <algorithm>
#include <cstddef>

namespace holdfast::probe {
namespace {

/// A URL of several servers is none that Boost.URL reads, so it is cut here, as net/deployment_url does it.
struct pieces {
  std::string_view scheme{};      ///< "redis://"; may be empty
  std::string_view user{};        ///< with the password, without the @
  std::string_view rest{};        ///< hosts and path
  std::string_view parameters{};  ///< behind the ?
};

pieces cut(std::string_view const url) {
  pieces found;
  auto const scheme_end = url.find("://");
  found.scheme = url.substr(0, scheme_end == std::string_view::npos ? 0 : scheme_end + 3);
  found.rest = url.substr(found.scheme.size());
  auto const question = std::min(found.rest.find('?'), found.rest.size());
  found.parameters = found.rest.substr(std::min(question + 1, found.rest.size()));
  found.rest = found.rest.substr(0, question);
  auto const at_sign = found.rest.substr(0, found.rest.find_first_of("/#")).rfind('@');
  if (at_sign == std::string_view::npos) return found;
  found.user = found.rest.substr(0, at_sign);
  found.rest.remove_prefix(at_sign + 1);
  return found;
}

/// The parameters of the sentinels' users, of which neither goes without the other.
bool is_secret(std::string_view const parameter) {
  return parameter.starts_with("sentinel_password=") || parameter.starts_with("sentinel_user=");
}

std::string without_secrets(std::string_view parameters) {
  std::string kept;
  while (!parameters.empty()) {
    auto const end = std::min(parameters.find('&'), parameters.size());
    auto const parameter = parameters.substr(0, end);
    if (!is_secret(parameter)) kept += (kept.empty() ? "?" : "&") + std::string{parameter};
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
  }
  return kept;
}

bool is_url(std::string const& text) {
  try {
    static_cast<void>(net::parse_deployment_url(text));
    return true;
  } catch (error const&) {
    return false;
  }
}

}  // namespace

bool has_password(std::string_view const url) { return cut(url).user.find(':') != std::string_view::npos; }

bool shows_password(std::string_view const url) {
  return has_password(url) || cut(url).parameters.find("sentinel_password=") != std::string_view::npos;
}

bool lacks_password(std::string_view const url) {
  auto const user = cut(url).user;
  return !user.empty() && user.find(':') == std::string_view::npos;
}

std::string with_password(std::string_view const url, std::string_view const password) {
  auto const found = cut(url);
  auto const encoded = boost::urls::encode({password.data(), password.size()}, boost::urls::unreserved_chars);
  auto made = std::string{found.scheme}.append(found.user) + ':' + encoded + '@' + std::string{found.rest};
  if (!found.parameters.empty()) made.append("?").append(found.parameters);
  return made;
}

std::string without_passwords(std::string_view const url) {
  if (!is_url(lacks_password(url) ? with_password(url, "any") : std::string{url})) return {};
  auto const found = cut(url);
  auto const user = found.user.substr(0, found.user.find(':'));
  return std::string{found.scheme}.append(user).append(user.empty() ? "" : "@").append(found.rest) +
         without_secrets(found.parameters);
}

}  // namespace holdfast::probe
