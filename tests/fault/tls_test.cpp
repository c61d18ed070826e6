/// TLS with a private certificate authority, with right and wrong certificates.
#include "fault.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace holdfast::test {
namespace {

class tls : public fault {
 protected:
  tls() : fault{{.transport = server_transport::tls}} {}

  [[nodiscard]] std::string url(std::string const& host, std::string const& parameters) const {
    return "rediss://" + host + ":" + std::to_string(server_.port()) + parameters;
  }
  static failure try_to_connect(std::string const& url, std::chrono::milliseconds within = 20s) {
    return failure_of([&] {
      client redis{url, {.connect_timeout = within}};
      redis.connect();
    });
  }
};

TEST_F(tls, locks_and_hands_over) {
  client first_client{server_.url(), with_long_timeouts()};
  client second_client{url("localhost", "?ca=" + server_.ca_file()), with_long_timeouts()};
  mutex first{first_client, "orders"};
  mutex second{second_client, "orders"};
  auto lease = first.acquire();
  waiter next{second};
  ASSERT_TRUE(eventually([&] { return second_client.stats().waits == 1; }));
  EXPECT_EQ(lease.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_EQ(next.take().release(), release_result::released);
}

TEST_F(tls, serves_many_threads_on_one_connection) {
  client redis{server_.url(), with_long_timeouts()};
  std::vector<std::jthread> threads;
  for (auto i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      mutex m{redis, "orders:" + std::to_string(i % 3)};
      for (auto round = 0; round < 50; ++round) EXPECT_EQ(m.acquire().release(), release_result::released);
    });
  }
  threads.clear();
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(tls, refuses_a_certificate_of_an_unknown_authority) {
  auto const f = try_to_connect(url("127.0.0.1", ""));
  EXPECT_EQ(f.code, errc::unreachable) << f;
  EXPECT_TRUE(f.mentions("certificate")) << f;
}

TEST_F(tls, refuses_a_certificate_for_another_host) {
  auto const f = try_to_connect(url("127.0.0.2", "?ca=" + server_.ca_file()));
  EXPECT_EQ(f.code, errc::unreachable) << f;
}

TEST_F(tls, accepts_any_certificate_when_told_not_to_verify) {
  EXPECT_EQ(try_to_connect(url("127.0.0.1", "?verify=no")).code, std::error_code{});
}

TEST_F(tls, shows_its_own_certificate_to_a_server_that_asks_for_one) {
  raw_.command({"CONFIG", "SET", "tls-auth-clients", "yes"});
  auto const stranger = redis_server::with({.transport = server_transport::tls});
  for (auto const* const version : {"TLSv1.3", "TLSv1.2"}) {
    SCOPED_TRACE(version);
    raw_.command({"CONFIG", "SET", "tls-protocols", version});
    auto const without_certificate = try_to_connect(server_.url());
    EXPECT_EQ(without_certificate.code, errc::unreachable) << without_certificate;
    EXPECT_TRUE(without_certificate.mentions("cert=FILE&key=FILE")) << without_certificate;
    auto const untrusted =
        try_to_connect(server_.url() + "&cert=" + stranger.cert_file() + "&key=" + stranger.key_file());
    EXPECT_EQ(untrusted.code, errc::unreachable) << untrusted;
    EXPECT_TRUE(untrusted.mentions("doesn't trust cert=" + stranger.cert_file())) << untrusted;
    auto const trusted =
        try_to_connect(server_.url() + "&cert=" + server_.cert_file() + "&key=" + server_.key_file());
    EXPECT_EQ(trusted.code, std::error_code{}) << trusted;
  }
}

TEST_F(tls, names_a_file_that_cannot_be_read) {
  auto const f = try_to_connect(url("127.0.0.1", "?ca=/nonexistent/ca.crt"));
  EXPECT_EQ(f.code, errc::bad_url) << f;
  EXPECT_TRUE(f.mentions("/nonexistent/ca.crt")) << f;
}

TEST_F(tls, fails_against_a_server_without_it) {
  auto const plain = redis_server::with({.transport = server_transport::tcp});
  auto const f =
      try_to_connect("rediss://127.0.0.1:" + std::to_string(plain.port()) + "?ca=" + server_.ca_file(), 2s);
  EXPECT_EQ(f.code, errc::unreachable) << f;
}

TEST_F(tls, survives_the_end_of_its_connections) {
  client redis{server_.url(), with_long_timeouts()};
  mutex m{redis, "orders"};
  for (auto round = 0; round < 5; ++round) {
    auto lease = m.acquire();
    raw_.kill_clients("normal");
    EXPECT_EQ(lease.release(), release_result::released);
  }
  EXPECT_TRUE(nothing_left_behind());
}

client* client_at_exit = nullptr;
raw_redis* server_at_exit = nullptr;

/// Registered before the client is used, and so before anything that OpenSSL registers.
void connect_again_at_exit() {
  server_at_exit->command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  auto const connected = failure_of([] { client_at_exit->connect(); }).code == std::error_code{};
  ::_exit(connected ? 0 : 3);
}

TEST_F(tls, connects_once_more_while_the_process_exits) {
  std::fflush(nullptr);  // otherwise the child writes it again
  auto const child = ::fork();
  if (child == 0) {
    server_at_exit = &raw_;
    client redis{server_.url(), with_long_timeouts()};
    client_at_exit = &redis;
    std::atexit(connect_again_at_exit);
    redis.connect();
    std::exit(2);
  }
  auto status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace holdfast::test
