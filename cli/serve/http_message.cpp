#include "serve/http_message.hpp"

#include "show/json.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace holdfast::cli {
namespace {

constexpr std::pair<std::string_view, std::string_view> headers_of_all[]{
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

}  // namespace

std::span<std::pair<std::string_view, std::string_view> const> safe_headers() noexcept {
  return headers_of_all;
}

void http_request::set_target(std::string_view const target) {
  auto const question = target.find('?');
  path = target.substr(0, question);
  if (question != std::string_view::npos) query = target.substr(question + 1);
}

void http_request::add_header(std::string_view const name, std::string_view const value) {
  auto const [place, is_first] = headers.insert_or_assign(in_lower_case(name), std::string{value});
  if (!is_first && place->first == "host") place->second.clear();
}

std::string_view http_request::header(std::string_view const name) const {
  auto const found = headers.find(name);
  return found == headers.end() ? std::string_view{} : std::string_view{found->second};
}

std::optional<std::string> http_request::parameter(std::string_view const name) const {
  for (std::string_view rest{query}; !rest.empty();) {
    auto const parameter = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), parameter.size() + 1));
    auto const equals = parameter.find('=');
    if (parameter.substr(0, equals) != name) continue;
    return equals == std::string_view::npos ? std::string{} : percent_decoded(parameter.substr(equals + 1));
  }
  return std::nullopt;
}

std::string_view http_request::cookie(std::string_view const name) const {
  for (auto rest = header("cookie"); !rest.empty();) {
    auto cookie = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), cookie.size() + 1));
    cookie.remove_prefix(std::min(cookie.find_first_not_of(' '), cookie.size()));
    auto const equals = cookie.find('=');
    if (equals != std::string_view::npos && cookie.substr(0, equals) == name)
      return cookie.substr(equals + 1);
  }
  return {};
}

std::string in_lower_case(std::string_view const text) {
  std::string lower{text};
  for (auto& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

std::optional<std::string> percent_decoded(std::string_view const text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i != text.size(); ++i) {
    if (text[i] == '+') {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      unsigned code = 0;
      auto const digits = text.substr(i + 1, 2);
      auto const [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
      if (problem != std::errc{} || end != digits.data() + 2) return std::nullopt;
      decoded += static_cast<char>(code);
      i += 2;
    }
  }
  return decoded;
}

http_response answer_with(std::string text, std::string_view const type) {
  return {.type = type, .body = std::make_shared<std::string const>(std::move(text))};
}

http_response refuse(int const status, std::string_view const why) {
  auto response = answer_with(json{}.set("error", why).line());
  response.status = status;
  return response;
}

}  // namespace holdfast::cli
