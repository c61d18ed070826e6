#include "net/url.hpp"

#include <gmock/gmock.h>

#include <holdfast/error.hpp>

#include "support/failure_of.hpp"

namespace {

using holdfast::errc;
using holdfast::net::endpoint;
using holdfast::net::parse_url;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using scheme = endpoint::scheme;

/// The message of the error of parse_url; empty when it accepts the URL.
std::string url_error(std::string_view url) {
  return holdfast::test::message_of(errc::bad_url, [&] { (void)parse_url(url); });
}

TEST(url, has_host_port_and_database) {
  auto const parsed = parse_url("redis://db.example:7000/3");
  EXPECT_EQ(parsed.transport, scheme::tcp);
  EXPECT_EQ(parsed.host, "db.example");
  EXPECT_EQ(parsed.port, 7000);
  EXPECT_EQ(parsed.db, 3);
  EXPECT_EQ(parsed.display, "redis://db.example:7000/3");
}

TEST(url, has_defaults) {
  for (auto const* const text : {"redis://localhost", "REDIS://localhost/", "localhost", "localhost:6379"}) {
    auto const parsed = parse_url(text);
    EXPECT_EQ(parsed.transport, scheme::tcp) << text;
    EXPECT_EQ(parsed.host, "localhost") << text;
    EXPECT_EQ(parsed.port, 6379) << text;
    EXPECT_EQ(parsed.db, 0) << text;
    EXPECT_EQ(parsed.user + parsed.password, "") << text;
  }
}

TEST(url, takes_ipv6_in_brackets) {
  EXPECT_EQ(parse_url("redis://[::1]:7000").host, "::1");
  EXPECT_EQ(parse_url("[::1]:7000").port, 7000);
  EXPECT_EQ(parse_url("[fe80::1]").host, "fe80::1");
  EXPECT_NE(url_error("::1"), "");
}

TEST(url, whose_scheme_is_no_word_is_refused_in_one_line) {
  EXPECT_EQ(url_error("redis\nquorum://h").find('\n'), std::string::npos);
  EXPECT_NE(url_error("redis\xff"
                      "cluster://h"),
            "");
}

TEST(url, takes_user_and_password_and_decodes_them) {
  auto const credentials = parse_url("redis://al%20ice:p%40ss%2F%3a@h");
  EXPECT_EQ(credentials.user, "al ice");
  EXPECT_EQ(credentials.password, "p@ss/:");
  auto const password = parse_url("redis://:secret@h:1/2");
  EXPECT_EQ(password.user, "");
  EXPECT_EQ(password.password, "secret");
  EXPECT_EQ(parse_url("u:a:b@h").password, "a:b");
}

TEST(url, hides_the_password_when_it_is_shown) {
  EXPECT_EQ(parse_url("redis://:secret@h:1/2").display, "redis://:***@h:1/2");
  EXPECT_EQ(parse_url("u:h@h").display, "redis://u:***@h");
  EXPECT_EQ(parse_url("rediss://u:p%40@h?verify=no").display, "rediss://u:***@h?verify=no");
  EXPECT_EQ(parse_url("redis+unix://:secret@/run/r.sock").display, "redis+unix://:***@/run/r.sock");
}

TEST(url, takes_a_socket) {
  auto const parsed = parse_url("redis+unix:///run/my%20redis.sock?db=4");
  EXPECT_EQ(parsed.transport, scheme::unix_socket);
  EXPECT_EQ(parsed.path, "/run/my redis.sock");
  EXPECT_EQ(parsed.db, 4);
  EXPECT_EQ(parse_url("unix:///r.sock").transport, scheme::unix_socket);
  EXPECT_EQ(parse_url("unix://u:p@/r.sock").user, "u");
}

TEST(url, takes_a_name_in_memory) {
  auto const parsed = parse_url("memory://orders-2?wire=redisson");
  EXPECT_EQ(parsed.transport, scheme::memory);
  EXPECT_EQ(parsed.host, "orders-2");
  EXPECT_EQ(parsed.display, "memory://orders-2?wire=redisson");
  EXPECT_EQ(parse_url("memory://").host, "");
  for (auto const* const more :
       {"memory://a/1", "memory://u:p@a", "memory://a:1", "memory://a?db=1", "memory:///"})
    EXPECT_THROW((void)parse_url(more), holdfast::error) << more;
}

TEST(url, takes_tls_parameters) {
  auto const parsed = parse_url("rediss://h:6380/1?ca=/etc/c++/ca.pem&cert=/a%26b.pem&key=/k.pem&verify=no");
  EXPECT_EQ(parsed.transport, scheme::tls);
  EXPECT_EQ(parsed.port, 6380);
  EXPECT_EQ(parsed.tls.ca, "/etc/c++/ca.pem");
  EXPECT_EQ(parsed.tls.cert, "/a&b.pem");
  EXPECT_EQ(parsed.tls.key, "/k.pem");
  EXPECT_FALSE(parsed.tls.verify);
  EXPECT_TRUE(parse_url("rediss://h?verify=yes").tls.verify);
  EXPECT_TRUE(parse_url("rediss://h").tls.verify);
}

TEST(url, says_how_locks_look) {
  EXPECT_EQ(parse_url("redis://h").wire, holdfast::wire::automatic);
  EXPECT_EQ(parse_url("redis://h/1?wire=plain").wire, holdfast::wire::plain);
  EXPECT_EQ(parse_url("rediss://h?verify=no&wire=redisson").wire, holdfast::wire::redisson);
  EXPECT_EQ(parse_url("redis+unix:///r.sock?wire=redisson&db=1").wire, holdfast::wire::redisson);
  EXPECT_EQ(parse_url("h?wire=redisson").wire, holdfast::wire::redisson);
}

TEST(url, names_the_wrong_part_and_what_is_allowed) {
  struct sample {
    char const* url;
    char const* part;
    char const* allowed;
  };
  for (auto const& [url, part, allowed] : {
           sample{"", "empty", "redis://"},
           {"http://h", "http://", "redis://, rediss://"},
           {"://h", "begin", "redis://"},
           {"redis://", "host", "redis://localhost"},
           {"redis://:6379", "host", "redis://localhost"},
           {"redis://h:0", "port", "1 to 65535"},
           {"redis://h:65536", "port", "1 to 65535"},
           {"redis://h:99999999999", "port", "1 to 65535"},
           {"redis://h:x", "port", "1 to 65535"},
           {"redis://h:", "port", "1 to 65535"},
           {"redis://h/x", "database", "number"},
           {"redis://h/-1", "database", "number"},
           {"redis://h/1/2", "database", "number"},
           {"redis://h/99999999999", "database", "number"},
           {"redis://h?db=x", "db", "number"},
           {"redis://h/1?db=1", "twice", "db"},
           {"redis://h?db=1&db=2", "db", "twice"},
           {"redis://h?db", "db", "no value"},
           {"redis://h?timeout=1", "\"timeout\"",
            "db, wire, cas, scripts, and with rediss:// ca, cert, key, verify"},
           {"redis://h?wire=jedis", "wire", "plain or redisson"},
           {"redis://h?wire=redisson&wire=plain", "wire", "twice"},
           {"redis://h?ca=/x", "ca", "rediss://"},
           {"rediss://h?verify=maybe", "verify", "yes or no"},
           {"rediss://h?cert=/x", "cert", "key"},
           {"redis://h#1", "#", "%23"},
           {"redis://u@h", "password", "user:password@host"},
           {"redis://u:@h", "password", "user:password@host"},
           {"redis://:@h", "password", "empty"},
           {"redis+unix://run/r.sock", "socket", "redis+unix:///run"},
           {"redis+unix:///", "path", "redis+unix:///run"},
           {"redis+unix://", "path", "redis+unix:///run"},
           {"/run/r.sock", "path", "redis+unix:///run"},
           {"redis://h h", "spaces", "percent-encoded"},
           {"redis://h%00", "host", "no name of a host"},
           {"redis://h%0a", "host", "no name of a host"},
           {"redis://h?%0aERROR=1", "parameter", R"("\x0aERROR")"},
           {"redis+unix:///a%00b", "path", "zero byte"},
       }) {
    EXPECT_THAT(url_error(url), AllOf(HasSubstr(part), HasSubstr(allowed))) << url;
  }
  EXPECT_THAT(url_error("unix:///" + std::string(107, 'x')), HasSubstr("107 bytes"));
}

TEST(url, has_nothing_but_a_slash_behind_host_and_port) {
  for (auto const* const text : {"redis://[::1]3", "redis://[::]@h", "redis://localhost:1x", "[::1]x"}) {
    EXPECT_THAT(url_error(text), HasSubstr("not of the form")) << text;
  }
}

TEST(url, of_several_servers_is_refused_where_one_is_needed) {
  for (auto const* const name : {"redis+sentinel", "redis+cluster", "redis+quorum", "rediss+cluster"}) {
    EXPECT_THAT(url_error(std::string{name} + "://h1,h2/0"),
                AllOf(HasSubstr("names several servers"), HasSubstr(name)));
  }
}

TEST(url, never_shows_a_password_in_an_error) {
  for (auto const* const url :
       {"redis://:secret", "redis://u:secret", "redis://:secret@", "redis://:secret@h:x", "redis://secret@h",
        "redis://:se@secret@h", "redis://:se/secret@h", "redis://:se?secret@h", "redis://:se?secret=1@h",
        "redis://:se#secret@h", "redis://:se cret-secret@h", "redis://u:%zzsecret@h", "u:secret://@h",
        "http://u:secret@h", "redis://:secret@h/x", "redis://:secret@h?x=y", "redis+unix://:secret@h/x"}) {
    EXPECT_THAT(url_error(url), AllOf(Not(""), Not(HasSubstr("secret")))) << url;
  }
}

}  // namespace
