#include "net/url.hpp"

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <holdfast/error.hpp>
#include <optional>
#include <utility>

#include "base/printable.hpp"
#include "base/whole_number.hpp"
#include "net/url_text.hpp"

namespace holdfast::net {

// Messages quote only parts that can't be a piece of a misplaced password: never port, path or host.
void url_text::bad(std::string const& reason) { throw error{errc::bad_url, "URL: " + printable(reason)}; }

void url_text::check_marks(std::string_view rest) {
  auto const at_sign = rest.find('@');
  if (at_sign != std::string_view::npos &&
      (at_sign > rest.find_first_of("/?#") || rest.find('@', at_sign + 1) != std::string_view::npos)) {
    bad("'@' may stand only before the host; percent-encode @ / ? # % in user, password, paths and "
        "parameters "
        "(@ is %40, / is %2F, # is %23)");
  }
  if (rest.find('#') != std::string_view::npos) {
    bad("'#' has no meaning here; in a password or parameter it is written %23");
  }
}

bool url_text::to_bool(std::string const& name, std::string_view value) {
  if (value == "yes" || value == "true" || value == "1") return true;
  if (value == "no" || value == "false" || value == "0") return false;
  bad("the parameter " + name + " must be yes or no");
}

namespace {

using url_text::bad;
using url_text::to_bool;

namespace urls = boost::urls;
using namespace std::string_literals;

constexpr auto allowed_schemes =
    "redis://, rediss:// (TLS), redis+unix:// (socket), redis+sentinel://, redis+cluster:// or "
    "redis+quorum:// (several hosts), or etcd:// (docs/etcd.md)";
constexpr std::size_t longest_socket_path = 107;  // sun_path, with its end

/// Decodes a percent-encoded part; `part_name` names it in messages.
std::string decoded(urls::pct_string_view part, std::string const& part_name) {
  auto text = part.decode();
  if (text.find('\0') != std::string::npos) bad(part_name + " contains a zero byte (%00)");
  return text;
}

std::optional<int> to_number(std::string_view digits) {
  return digits.starts_with('-') ? std::nullopt : whole_number<int>(digits);
}

endpoint::scheme to_scheme(std::string_view text) {
  std::string name{text};
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  if (name == "redis") return endpoint::scheme::tcp;
  if (name == "rediss") return endpoint::scheme::tls;
  if (name == "redis+unix" || name == "unix") return endpoint::scheme::unix_socket;
  if (name == "memory") return endpoint::scheme::memory;
  auto const is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '.' || c == '-';
  };
  if (name.empty() || !std::ranges::all_of(name, is_plain)) bad("it must begin with "s + allowed_schemes);
  for (auto const* const later : {"sentinel", "cluster", "quorum"}) {
    if (name.starts_with("redis") && name.ends_with(later)) {
      bad(name + ":// names several servers, and here one is needed: redis://host");
    }
  }
  bad("unknown scheme " + name + "://; allowed are " + allowed_schemes);
}

urls::url_view parse(std::string_view text) {
  auto const parsed = urls::parse_uri({text.data(), text.size()});
  if (parsed && url_text::is_path(parsed->encoded_path())) return *parsed;
  auto const strange = std::ranges::find_if(text, [](char c) { return c <= ' ' || c > '~'; });
  if (strange != text.end()) bad("spaces and characters other than ASCII must be percent-encoded");
  bad("not of the form redis://[user:password@]host[:port][/db] (percent-encode special characters in user "
      "and "
      "password, put an IPv6 address in brackets, give the port as a number from 1 to 65535)");
}

void read_user(urls::url_view const& url, endpoint& to) {
  if (!url.has_userinfo()) return;
  to.user = decoded(url.encoded_user(), "the user");
  to.password = decoded(url.encoded_password(), "the password");
  if (to.password.empty()) {
    bad(to.user.empty()
            ? "the password before '@' is empty"
            : "a user without a password; write user:password@host, or :password@host for a password "
              "alone");
  }
}

void read_host(urls::url_view const& url, endpoint& to) {
  to.host = url.host_address();
  if (to.host.empty()) bad("the host is missing; write redis://localhost, say");
  if (printable(to.host) != to.host)
    bad("the host contains bytes that are in no name of a host, such as %00");
  if (!url.has_port()) return;
  auto const port = to_number(url.port());
  if (!port || *port < 1 || *port > 65535) bad("the port must be a number from 1 to 65535");
  to.port = static_cast<std::uint16_t>(*port);
}

void read_socket(urls::url_view const& url, endpoint& to) {
  if (!url.encoded_host().empty() || url.has_port()) {
    bad("a socket has no host; write three slashes: redis+unix:///run/redis/redis.sock");
  }
  to.path = decoded(url.encoded_path(), "the path of the socket");
  if (to.path.empty() || to.path.back() == '/') {
    bad("the path of the socket is missing; write redis+unix:///run/redis/redis.sock");
  }
  if (to.path.size() > longest_socket_path) {
    bad("the path of the socket is over " + std::to_string(longest_socket_path) + " bytes long");
  }
}

void read_name_in_memory(urls::url_view const& url, endpoint& to) {
  if (url.has_userinfo() || url.has_port() || !url.encoded_path().empty())
    bad("a deployment in memory has a name and nothing else: memory://orders");
  to.host = url.host_address();
}

void read_path_as_db(urls::url_view const& url, endpoint& to, bool& db_given) {
  std::string_view path = url.encoded_path();
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.empty()) return;
  auto const db = to_number(path);
  if (!db) bad("what follows the host is the number of a database, as in redis://localhost/0");
  to.db = *db;
  db_given = true;
}

wire to_wire(std::string_view value) {
  if (value == "plain") return wire::plain;
  if (value == "redisson") return wire::redisson;
  bad("the parameter wire must be plain or redisson");
}

cas to_cas(std::string_view value) {
  if (value == "auto") return cas::automatic;
  if (value == "native") return cas::native;
  if (value == "module") return cas::module;
  if (value == "lua") return cas::lua;
  bad("the parameter cas must be auto, native, module or lua");
}

void read_parameters(urls::url_view const& url, endpoint& to, bool db_given, std::string_view taken) {
  std::string seen = ",";
  for (auto const parameter : url.encoded_params()) {
    auto const name = decoded(parameter.key, "the name of a parameter");
    auto const value = decoded(parameter.value, "the parameter " + name);
    bool const of_tls = name == "ca" || name == "cert" || name == "key" || name == "verify";
    bool const of_all = name == "db" || name == "wire" || name == "cas" || name == "scripts";
    if (!of_all && !of_tls) {
      bad("unknown parameter \"" + name + "\"; allowed are db, wire, cas, scripts, " + std::string{taken} +
          "and with rediss:// ca, cert, key, verify");
    }
    if (of_tls && to.transport != endpoint::scheme::tls) bad("the parameter " + name + " needs rediss://");
    if (seen.find("," + name + ",") != std::string::npos) bad("the parameter " + name + " is given twice");
    seen += name + ",";
    if (value.empty()) bad("the parameter " + name + " has no value");
    if (name == "db") {
      auto const db = to_number(value);
      if (!db) bad("the parameter db must be a number, 0 or above");
      if (to.transport == endpoint::scheme::memory) bad("a deployment in memory has database 0 alone");
      if (db_given) bad("the database is given twice, after the host and as the parameter db");
      to.db = *db;
    }
    if (name == "wire") to.wire = to_wire(value);
    if (name == "cas") to.cas = to_cas(value);
    if (name == "scripts") to.scripts = to_bool(name, value) ? script_calls::automatic : script_calls::never;
    if (name == "ca") to.tls.ca = value;
    if (name == "cert") to.tls.cert = value;
    if (name == "key") to.tls.key = value;
    if (name == "verify") to.tls.verify = to_bool(name, value);
  }
  if (to.tls.cert.empty() != to.tls.key.empty()) bad("the parameters cert and key need each other");
  if (to.cas == cas::lua && to.scripts == script_calls::never)
    bad("cas=lua means scripts alone, and scripts=no means none: leave one of them out");
}

/// The URL with its password replaced.
std::string without_password(std::string text, urls::url_view const& url) {
  if (!url.has_password()) return text;
  auto const at_sign = text.find('@');
  auto const size = url.encoded_password().size();
  return text.replace(at_sign - size, size, "***");
}

}  // namespace

endpoint parse_url(std::string_view given, std::string_view taken) {
  if (given.empty()) bad("it is empty; write redis://localhost, say");
  std::string text{given};
  if (given.starts_with('/')) bad("a path alone; for a socket write redis+unix:///run/redis/redis.sock");
  if (given.find("://") == std::string_view::npos) text.insert(0, "redis://");
  auto const scheme_end = text.find("://");

  endpoint to;
  to.transport = to_scheme(std::string_view{text}.substr(0, scheme_end));
  url_text::check_marks(std::string_view{text}.substr(scheme_end + 3));
  auto const url = parse(text);
  read_user(url, to);
  bool db_given = false;
  if (to.transport == endpoint::scheme::unix_socket) {
    read_socket(url, to);
  } else if (to.transport == endpoint::scheme::memory) {
    read_name_in_memory(url, to);
  } else {
    read_host(url, to);
    read_path_as_db(url, to, db_given);
  }
  read_parameters(url, to, db_given, taken);
  to.display = without_password(text, url);
  return to;
}

}  // namespace holdfast::net
