#include "serve/access.hpp"

#include "common/exit_codes.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <string>
#include <system_error>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t shortest_token = 16;
constexpr std::size_t most_sessions = 1'000;
constexpr auto session_time = 12h;
constexpr auto wrong_token_delay = 1s;
constexpr std::string_view bearer = "bearer ";  // in any case

std::string random_word() {
  std::array<unsigned char, 24> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::system_error{errno, std::generic_category(), "getrandom"};
  std::string word;
  for (auto const byte : bytes) word += fmt::format("{:02x}", byte);
  return word;
}

/// Takes as long for each text of the same length, so that its time tells nothing.
bool equal(std::string_view const a, std::string_view const b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool is_unsafe(http_request const& request) { return request.method != "GET" && request.method != "HEAD"; }

/// "example:7480" without the port.
std::string_view without_port(std::string_view const host) {
  if (host.starts_with('[')) {
    auto const end = host.find(']');
    return host.substr(0, end == std::string_view::npos ? end : end + 1);
  }
  return host.substr(0, host.find(':'));
}

/// Browsers send the cookies of all ports of a host to each: those of two servers on it must differ.
std::string cookie_name(http_request const& request) {
  auto const host = request.header("host");
  auto const port = host.substr(without_port(host).size());
  bool const is_number = port.size() > 1 && port.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return is_number ? fmt::format("holdfast_session_{}", port.substr(1)) : "holdfast_session";
}

std::string cookie_for(http_request const& request, std::string_view const id,
                       std::chrono::seconds const time) {
  return fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}{}", cookie_name(request), id,
                     time.count(), request.secure ? "; Secure" : "");
}

/// What the header `Authorization` has behind "Bearer". Nullopt: it has none; browsers send what a proxy
/// before this server asks for, too.
std::optional<std::string_view> token_in(http_request const& request) {
  auto const given = request.header("authorization");
  if (in_lower_case(given.substr(0, bearer.size())) != bearer) return std::nullopt;
  return given.substr(bearer.size());
}

/// Without its comment: a # that begins a word, as in the shell. Elsewhere it is a part of the word.
std::string_view without_comment(std::string_view const line) {
  for (auto at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  }
  return line;
}

bool has_token(http_request const& request) {
  return token_in(request) || (is_unsafe(request) && request.path == login_path);
}

}  // namespace

std::vector<named_token> read_tokens(std::string_view const text, std::string_view const place) {
  std::vector<named_token> tokens;
  std::istringstream lines{std::string{text}};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words{std::string{without_comment(line)}};
    named_token entry;
    std::string more;
    if (!(words >> entry.user)) continue;
    if (!(words >> entry.token)) entry = {.user = "admin", .token = entry.user};
    if (words >> more) throw failure{usage, fmt::format("{}: line {}: write USER TOKEN", place, number)};
    if (entry.token.size() < shortest_token) {
      throw failure{usage,
                    fmt::format("{}: line {}: the token is too short; take {} characters at least, from "
                                "`openssl rand -hex 24`",
                                place, number, shortest_token)};
    }
    tokens.push_back(std::move(entry));
  }
  if (tokens.empty()) throw failure{usage, fmt::format("{}: there is no token in it", place)};
  return tokens;
}

access_control::access_control(std::vector<named_token> tokens, std::vector<std::string> hosts)
    : tokens_{std::move(tokens)}, hosts_{std::move(hosts)}, own_csrf_{random_word()} {
  for (auto& host : hosts_) host = in_lower_case(host);
}

/// A name can be made to lead here by whoever has the domain; an address can't.
bool access_control::knows_host(std::string_view const host) const {
  auto const name = in_lower_case(without_port(host));
  in6_addr address{};
  if (name == "localhost" || std::ranges::count(hosts_, name) != 0) return true;
  if (name.size() > 2 && name.front() == '[' && name.back() == ']')
    return inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &address) == 1;
  return inet_pton(AF_INET, name.c_str(), &address) == 1;
}

std::optional<http_response> access_control::check_origin(http_request const& request) const {
  auto const host = request.header("host");
  if (!knows_host(host)) {
    return refuse(421,
                  "this server isn't called by that name: use its address, or start `holdfast serve` with "
                  "--host NAME");
  }
  auto const origin = request.header("origin");
  // A proxy before this server may speak TLS to browsers; where this server does, a page without it isn't
  // ours.
  bool const same_origin = origin == fmt::format("https://{}", host) ||
                           (!request.secure && origin == fmt::format("http://{}", host));
  if (!origin.empty() && !same_origin) return refuse(403, "the page of another site has sent this");
  // A link from another site to the page is fine; it gets no data.
  auto const site = request.header("sec-fetch-site");
  bool const from_here = site.empty() || site == "same-origin" || site == "none";
  bool const has_data = request.path.starts_with("/api/") || request.path == "/metrics";
  if (!from_here && (is_unsafe(request) || has_data))
    return refuse(403, "the page of another site has sent this");
  return std::nullopt;
}

named_token const* access_control::user_of(std::string_view const token) const {
  named_token const* found = nullptr;
  for (auto const& known : tokens_) {
    if (equal(known.token, token)) found = &known;
  }
  return found;
}

std::optional<visitor> access_control::recognize(http_request const& request, time const now) {
  if (tokens_.empty()) return visitor{.user = request.certificate, .csrf = own_csrf_};
  if (auto const token = token_in(request)) {
    auto const* const user = user_of(*token);
    if (user == nullptr) return std::nullopt;
    return visitor{.user = user->user};
  }
  std::erase_if(sessions_, [now](session const& each) { return each.ends < now; });
  auto const id = request.cookie(cookie_name(request));
  for (auto const& each : sessions_) {
    if (equal(each.id, id)) return visitor{.user = each.user, .csrf = each.csrf};
  }
  return std::nullopt;
}

std::optional<std::string> access_control::log_in(http_request const& request, std::string_view const token,
                                                  time const now) {
  auto const* const user = user_of(token);
  if (user == nullptr) return std::nullopt;
  if (sessions_.size() >= most_sessions) sessions_.pop_front();
  auto const& made = sessions_.emplace_back(
      session{.id = random_word(), .user = user->user, .csrf = random_word(), .ends = now + session_time});
  return cookie_for(request, made.id, session_time);
}

std::string access_control::log_out(http_request const& request) {
  auto const id = request.cookie(cookie_name(request));
  std::erase_if(sessions_, [id](session const& each) { return equal(each.id, id); });
  return cookie_for(request, {}, 0s);
}

bool access_control::is_meant(http_request const& request, visitor const& by) {
  if (!request.header("content-type").starts_with("application/json")) return false;
  return by.csrf.empty() || equal(request.header("x-holdfast-csrf"), by.csrf);
}

http_response access_control::refuse_token(http_request const& request, time const now) {
  auto response = refuse(401, "this needs a token: `Authorization: Bearer TOKEN`, or the page's own form");
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  // A browser without a session hasn't tried anything.
  if (!has_token(request)) return response;
  ++wrong_tokens_;
  tries_.note_wrong(request.peer, now);
  response.after = wrong_token_delay;
  return response;
}

std::optional<http_response> access_control::refuse_to_try(http_request const& request, time const now) {
  if (tokens_.empty() || !has_token(request)) return std::nullopt;
  auto const wait = std::chrono::ceil<std::chrono::seconds>(tries_.wait_of(request.peer, now));
  if (wait <= 0s) return std::nullopt;
  ++refused_tokens_;
  auto response = refuse(
      429, fmt::format("too many wrong tokens came from this address; the next one is looked at in {} s",
                       wait.count()));
  response.headers.emplace_back("Retry-After", std::to_string(wait.count()));
  return response;
}

}  // namespace holdfast::cli
