#include "net/deployment_url.hpp"

#include <algorithm>
#include <array>
#include <boost/url/parse.hpp>
#include <boost/url/url.hpp>
#include <holdfast/error.hpp>
#include <optional>
#include <utility>

#include "net/server_address.hpp"
#include "net/url_text.hpp"

namespace holdfast::net {
namespace {

namespace urls = boost::urls;
using url_text::bad;

constexpr std::uint16_t sentinel_port = 26379;
constexpr std::uint16_t etcd_port = 2379;
constexpr std::string_view hidden{"***"};

struct scheme_of_many {
  std::string_view name;
  deployment_url::kind kind;
  std::string_view of_each;
};

constexpr std::array<scheme_of_many, 8> schemes{{
    {"redis+sentinel", deployment_url::kind::sentinel, "redis"},
    {"rediss+sentinel", deployment_url::kind::sentinel, "rediss"},
    {"redis+cluster", deployment_url::kind::cluster, "redis"},
    {"rediss+cluster", deployment_url::kind::cluster, "rediss"},
    {"redis+quorum", deployment_url::kind::quorum, "redis"},
    {"rediss+quorum", deployment_url::kind::quorum, "rediss"},
    {"etcd", deployment_url::kind::etcd, "redis"},
    {"etcds", deployment_url::kind::etcd, "rediss"},
}};

scheme_of_many const* find_scheme(std::string_view url) {
  auto const end = url.find("://");
  if (end == std::string_view::npos) return nullptr;
  std::string name{url.substr(0, end)};
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  auto const* const found = std::ranges::find(schemes, name, &scheme_of_many::name);
  return found == schemes.end() ? nullptr : found;
}

/// The parts of a URL with several hosts: `before`, one host and `after` make a URL of one server.
struct parts {
  std::string before;  ///< "redis://user:password@"
  std::vector<std::string> hosts;
  std::string after;  ///< "/path?parameters"
};

parts take_apart(std::string_view url, scheme_of_many const& scheme) {
  auto const rest = url.substr(scheme.name.size() + 3);
  auto const end = std::min(rest.find_first_of("/?#"), rest.size());
  auto const authority = rest.substr(0, end);
  auto const at_sign = authority.rfind('@');
  auto const list = at_sign == std::string_view::npos ? authority : authority.substr(at_sign + 1);
  parts result{
      .before = std::string{scheme.of_each} + "://" +
                std::string{at_sign == std::string_view::npos ? "" : authority.substr(0, at_sign + 1)},
      .hosts = {},
      .after = std::string{rest.substr(end)}};
  for (std::size_t begin = 0; begin <= list.size();) {
    auto const comma = std::min(list.find(',', begin), list.size());
    result.hosts.emplace_back(list.substr(begin, comma - begin));
    if (result.hosts.back().empty()) {
      bad("a host is missing; write " + std::string{scheme.name} + "://h1,h2,h3, say");
    }
    begin = comma + 1;
  }
  return result;
}

/// Removes and returns a parameter; nullopt when it isn't there.
std::optional<std::string> take(urls::url& url, std::string_view name) {
  auto parameters = url.params();
  auto const found = parameters.find({name.data(), name.size()});
  if (found == parameters.end()) return std::nullopt;
  auto value = std::string{(*found).value};
  if (value.empty()) bad("the parameter " + std::string{name} + " has no value");
  parameters.erase(found);
  if (parameters.find({name.data(), name.size()}) != parameters.end()) {
    bad("the parameter " + std::string{name} + " is given twice");
  }
  if (parameters.empty()) url.remove_query();
  return value;
}

endpoint reach(std::string const& host_port, char const* part) {
  auto const to = parse_url("redis://" + host_port);
  if (to.transport != endpoint::scheme::tcp || to.db != 0 || !to.password.empty()) {
    bad(std::string{part} + " is not of the form host:port");
  }
  return to;
}

std::map<std::string, std::string, std::less<>> read_nat(std::string_view text) {
  constexpr auto form = "the parameter nat is announced/reachable, each host:port, with commas between them";
  std::map<std::string, std::string, std::less<>> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    auto const comma = std::min(text.find(',', begin), text.size());
    auto const pair = text.substr(begin, comma - begin);
    auto const slash = pair.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == pair.size()) bad(form);
    auto const from = reach(std::string{pair.substr(0, slash)}, form);
    auto const to = reach(std::string{pair.substr(slash + 1)}, form);
    result.emplace(host_and_port(from.host, from.port), host_and_port(to.host, to.port));
    begin = comma + 1;
  }
  return result;
}

/// Removes and returns the first part of the path.
std::string take_master(urls::url& url) {
  auto segments = url.segments();
  if (segments.empty() || std::string{*segments.begin()}.empty()) {
    bad("the name of the master is missing; write redis+sentinel://h1,h2,h3/mymaster");
  }
  auto name = std::string{*segments.begin()};
  segments.erase(segments.begin());
  return name;
}

/// Removes and returns the path: what all keys begin with.
std::string take_prefix(urls::url& url) {
  auto prefix = url.path();
  url.set_path("");
  if (!prefix.empty()) prefix.erase(0, 1);
  if (prefix.find('\0') != std::string::npos) bad("the prefix contains a zero byte (%00)");
  if (!prefix.empty() && prefix.back() != '/') prefix += '/';
  return prefix;
}

/// Those of one kind of deployment, as they are listed in a message.
std::string_view parameters_of(deployment_url::kind const kind) {
  if (kind == deployment_url::kind::sentinel) return "nat, sentinel_user, sentinel_password, sentinel_tls, ";
  if (kind == deployment_url::kind::cluster) return "nat, ";
  return "";
}

/// The other parameters are for Redis.
void check_parameters_of_etcd(urls::url& url, bool tls) {
  for (auto const parameter : url.params()) {
    auto const name = std::string{parameter.key};
    if (name == "verify")
      bad("etcd's certificate is always checked; say whom to trust: etcds://host?ca=FILE");
    if (name != "ca" && name != "cert" && name != "key")
      bad("unknown parameter \"" + name + "\" of an etcd URL; allowed are ca, cert, key, with etcds://");
    if (!tls) bad("the parameter " + name + " needs etcds://");
  }
}

/// The URL for messages, without its passwords.
std::string masked(scheme_of_many const& scheme, parts const& cut, urls::url url) {
  auto text = std::string{scheme.name} + "://";
  if (url.has_userinfo()) {
    text += std::string{url.encoded_user()} + (url.has_password() ? ":" + std::string{hidden} : "") + "@";
  }
  for (auto const& host : cut.hosts) text += (&host == cut.hosts.data() ? "" : ",") + host;
  auto parameters = url.params();
  auto const secret = parameters.find("sentinel_password");
  if (secret != parameters.end()) parameters.replace(secret, {"sentinel_password", hidden});
  text += std::string{url.encoded_path()};
  if (url.has_query()) text += "?" + std::string{url.encoded_query()};
  return text;
}

std::string scheme_text(endpoint const& of) {
  return of.transport == endpoint::scheme::tls ? "rediss://" : "redis://";
}

endpoint server_at(endpoint like, std::string host, std::uint16_t port) {
  like.host = std::move(host);
  like.port = port;
  like.display = scheme_text(like) + host_and_port(like.host, like.port);
  return like;
}

void read_hosts(deployment_url& to, endpoint const& like, parts const& cut) {
  for (auto const& text : cut.hosts) {
    auto const host = reach(text, "what stands between the commas");
    auto const has_port = urls::parse_uri("redis://" + text)->has_port();
    auto port = host.port;
    if (!has_port && to.deployment == deployment_url::kind::sentinel) port = sentinel_port;
    if (!has_port && to.deployment == deployment_url::kind::etcd) port = etcd_port;
    auto next = server_at(like, host.host, port);
    auto const same = [&next](endpoint const& other) {
      return other.host == next.host && other.port == next.port;
    };
    if (std::ranges::none_of(to.hosts, same)) {
      to.hosts.push_back(std::move(next));
    } else if (to.deployment == deployment_url::kind::quorum) {
      bad("the server " + host_and_port(next.host, next.port) +
          " is given twice; each server of a quorum has one vote");
    }
  }
}

}  // namespace

std::string host_and_port(std::string const& host, std::uint16_t port) {
  return to_string(server_address{host, port});
}

endpoint deployment_url::announced(std::string const& host, std::uint16_t port) const {
  auto const known = nat.find(host_and_port(host, port));
  if (known == nat.end()) return server_at(server, host, port);
  auto const to = parse_url("redis://" + known->second);
  return server_at(server, to.host, to.port);
}

deployment_url parse_deployment_url(std::string_view given) {
  auto const* const scheme = find_scheme(given);
  if (scheme == nullptr) return {.deployment = deployment_url::kind::single, .server = parse_url(given)};

  auto const cut = take_apart(given, *scheme);
  auto const of_first = cut.before + cut.hosts.front() + cut.after;
  url_text::check_marks(std::string_view{of_first}.substr(of_first.find("://") + 3));
  auto const parsed = urls::parse_uri(of_first);
  if (!parsed || !url_text::is_path(parsed->encoded_path()))
    (void)parse_url(of_first);  // throws, with the reason
  urls::url url{*parsed};
  auto display = masked(*scheme, cut, url);

  deployment_url to{.deployment = scheme->kind, .server = {}};
  std::optional<std::string> user;
  std::optional<std::string> password;
  auto tls = scheme->of_each == "rediss";
  if (to.deployment == deployment_url::kind::sentinel) {
    to.master = take_master(url);
    user = take(url, "sentinel_user");
    password = take(url, "sentinel_password");
    if (user && !password) bad("the parameter sentinel_user needs sentinel_password");
    if (auto const own = take(url, "sentinel_tls")) tls = url_text::to_bool("sentinel_tls", *own);
  }
  if (to.deployment == deployment_url::kind::sentinel || to.deployment == deployment_url::kind::cluster) {
    if (auto const nat = take(url, "nat")) to.nat = read_nat(*nat);
  }
  if (to.deployment == deployment_url::kind::etcd) {
    to.prefix = take_prefix(url);
    check_parameters_of_etcd(url, tls);
  }
  to.server = parse_url({url.buffer().data(), url.buffer().size()}, parameters_of(to.deployment));
  if (to.deployment == deployment_url::kind::cluster && to.server.db != 0) {
    bad("a cluster has database 0 alone; leave the database out");
  }

  auto like = to.server;
  if (to.deployment == deployment_url::kind::sentinel) {
    like.user = user.value_or("");
    like.password = password.value_or("");
    like.db = 0;
    like.transport = tls ? endpoint::scheme::tls : endpoint::scheme::tcp;
  }
  read_hosts(to, like, cut);
  to.server.host.clear();
  to.server.display = std::move(display);
  return to;
}

}  // namespace holdfast::net
