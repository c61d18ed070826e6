// The one test of the lowest layers with sockets: all on this machine.
#include "net/make_transport.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <holdfast/error.hpp>
#include <optional>
#include <thread>

#include "support/eventually.hpp"
#include "support/failure_of.hpp"
#include "support/transport_test.hpp"

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using holdfast::net::make_transport;
using holdfast::net::parse_url;
using holdfast::net::transport;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct plain_transport : holdfast::test::transport_test {
  tcp::socket server{io};

  std::string address() const { return "127.0.0.1:" + port(); }

  std::shared_ptr<transport> connected() {
    auto client = make_transport(io, parse_url(address()));
    EXPECT_EQ(connect(*client), "");
    server = acceptor.accept();
    return client;
  }

  std::string read_at_server(std::size_t n) {
    std::string bytes(n, '\0');
    bool done = false;
    asio::async_read(server, asio::buffer(bytes), [&](error_code, std::size_t) { done = true; });
    EXPECT_TRUE(run_until([&] { return done; }));
    return bytes;
  }

  /// The number of bytes that the server still receives; `ended_by`: how the connection ended for it.
  std::size_t read_to_the_end() {
    std::string bytes;
    std::optional<std::size_t> received;
    asio::async_read(server, asio::dynamic_buffer(bytes), [&](error_code failure, std::size_t n) {
      ended_by = failure;
      received = n;
    });
    EXPECT_TRUE(run_until([&] { return received.has_value(); }));
    return received.value_or(0);
  }
  error_code ended_by;
};

TEST_F(plain_transport, connects_reads_and_writes) {
  auto const client = connected();
  EXPECT_EQ(client->peer(), address());
  EXPECT_TRUE(client->direct());

  std::size_t written = 0;
  client->async_write("hello", [&](error_code, std::size_t n) { written = n; });
  EXPECT_EQ(read_at_server(5), "hello");
  EXPECT_TRUE(run_until([&] { return written == 5; }));

  asio::write(server, asio::buffer("world", 5));
  char buffer[16];
  std::size_t received = 0;
  client->async_read_some(buffer, sizeof buffer, [&](error_code, std::size_t n) { received = n; });
  EXPECT_TRUE(run_until([&] { return received > 0; }));
  EXPECT_EQ(std::string(buffer, received), "world");
}

TEST_F(plain_transport, writes_all_of_what_does_not_fit_at_once) {
  auto const client = connected();
  std::string const large(8 << 20, 'x');
  std::size_t written = 0;
  client->async_write(large, [&](error_code, std::size_t n) { written = n; });
  EXPECT_EQ(read_at_server(large.size()), large);
  EXPECT_TRUE(run_until([&] { return written == large.size(); }));
}

TEST_F(plain_transport, tries_to_write_without_blocking) {
  auto const client = connected();
  std::string const large(64 << 20, 'x');
  error_code failure;
  auto const written = client->try_write(large, failure);
  EXPECT_FALSE(failure);
  EXPECT_GT(written, 0u);
  EXPECT_LT(written, large.size());
  // The kernel may still move bytes to the other side, which makes room for more.
  EXPECT_TRUE(holdfast::test::eventually([&] { return client->try_write(large, failure) == 0; })) << "full";
  EXPECT_FALSE(failure);
}

TEST_F(plain_transport, reports_a_peer_that_hung_up) {
  auto const client = connected();
  EXPECT_EQ(failure_of_read(*client, [&] { server.close(); }), asio::error::eof);
}

TEST_F(plain_transport, aborts_what_is_under_way_when_it_is_closed) {
  auto const client = connected();
  auto const close_twice = [&] {
    client->close();
    client->close();
  };
  EXPECT_EQ(failure_of_read(*client, close_twice), asio::error::operation_aborted);
  error_code failure;
  EXPECT_EQ(client->try_write("x", failure), 0u);
  EXPECT_EQ(failure, asio::error::operation_aborted);
}

TEST_F(plain_transport, delivers_what_was_written_before_it_is_closed) {
  auto const client = connected();
  error_code failure;
  auto const written = client->try_write(std::string(64 << 20, 'x'), failure);
  client->close();
  EXPECT_EQ(read_to_the_end(), written);
  EXPECT_EQ(ended_by, asio::error::eof);
}

TEST_F(plain_transport, throws_away_what_has_not_arrived_when_it_is_reset) {
  auto const client = connected();
  error_code failure;
  auto const written = client->try_write(std::string(64 << 20, 'x'), failure);
  client->reset();
  client->reset();
  EXPECT_LT(read_to_the_end(), written);
  EXPECT_EQ(ended_by, asio::error::connection_reset);
}

/// Another process that has the open files of this one, until the object is destroyed.
class forked_child {
 public:
  /// `program`: executed by the child; null: the child stays a copy.
  explicit forked_child(char const* program = nullptr) : id_{::fork()} {
    if (id_ != 0) return;
    if (program != nullptr) ::execlp(program, program, "1000", nullptr);
    for (;;) ::pause();
  }
  ~forked_child() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  forked_child(forked_child const&) = delete;
  forked_child& operator=(forked_child const&) = delete;

 private:
  ::pid_t const id_;
};

TEST_F(plain_transport, is_reset_though_a_forked_child_has_it_too) {
  auto const client = connected();
  forked_child const child;
  error_code failure;
  auto const written = client->try_write(std::string(64 << 20, 'x'), failure);
  client->reset();
  EXPECT_LT(read_to_the_end(), written);
  EXPECT_EQ(ended_by, asio::error::connection_reset);
}

TEST_F(plain_transport, is_not_handed_on_to_programs_that_are_started) {
  auto const client = connected();
  forked_child const child{"sleep"};
  client->close();
  EXPECT_EQ(read_to_the_end(), 0u);
  EXPECT_EQ(ended_by, asio::error::eof);
}

TEST_F(plain_transport, can_be_closed_by_another_thread_that_writes) {
  auto const client = connected();
  char buffer[16];
  bool done = false;
  client->async_read_some(buffer, sizeof buffer, [&](error_code, std::size_t) { done = true; });
  std::jthread const writer{[&] {
    error_code failure;
    for (int i = 0; i < 100; ++i) (void)client->try_write("ping", failure);
    client->close();
  }};
  EXPECT_TRUE(run_until([&] { return done; }));
}

TEST_F(plain_transport, stays_alive_until_its_handlers_have_run) {
  auto client = connected();
  char buffer[16];
  bool done = false;
  client->async_read_some(buffer, sizeof buffer, [&](error_code, std::size_t) { done = true; });
  client->close();
  client.reset();
  EXPECT_TRUE(run_until([&] { return done; }));
}

TEST_F(plain_transport, says_where_it_could_not_connect) {
  auto const server_address = address();
  acceptor.close();
  auto const client = make_transport(io, parse_url(server_address));
  EXPECT_EQ(connect(*client), "connect to " + server_address + ": Connection refused");
}

TEST_F(plain_transport, tries_both_families_for_localhost) {
  tcp::acceptor ipv6_acceptor{io};
  error_code no_ipv6;
  ipv6_acceptor.open(tcp::v6(), no_ipv6);
  if (!no_ipv6) ipv6_acceptor.bind({asio::ip::address_v6::loopback(), 0}, no_ipv6);
  if (no_ipv6) GTEST_SKIP() << "this machine has no IPv6";
  ipv6_acceptor.listen();
  auto const ipv6_port = std::to_string(ipv6_acceptor.local_endpoint().port());
  auto const client = make_transport(io, parse_url("localhost:" + ipv6_port));
  EXPECT_EQ(connect(*client), "");
  EXPECT_EQ(client->peer(), "[::1]:" + ipv6_port);
}

TEST_F(plain_transport, tells_each_address_that_failed) {
  auto const closed = port();
  acceptor.close();
  auto const client = make_transport(io, parse_url("localhost:" + closed));
  EXPECT_THAT(connect(*client),
              AllOf(StartsWith("connect to localhost:" + closed + ": 127.0.0.1:" + closed + ": "),
                    HasSubstr("Connection refused; [::1]:" + closed + ": ")));
}

TEST_F(plain_transport, says_which_name_could_not_be_resolved) {
  auto const client = make_transport(io, parse_url("redis://name-of-nobody.invalid"));
  EXPECT_THAT(connect(*client), StartsWith("resolve name-of-nobody.invalid: "));
}

TEST_F(plain_transport, ends_at_once_when_it_is_closed_while_resolving) {
  auto const client = make_transport(io, parse_url("redis://name-of-nobody.invalid"));
  std::optional<std::string> outcome;
  client->async_connect([&](std::string const& failure) { outcome = failure; });
  client->close();
  EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
  EXPECT_THAT(*outcome, StartsWith("resolve name-of-nobody.invalid: "));
}

TEST_F(plain_transport, leaves_the_loop_alone_once_it_is_closed_while_resolving) {
  std::shared_ptr<transport> client;
  asio::io_context short_lived;
  client = make_transport(short_lived, parse_url("redis://name-of-nobody.invalid"));
  client->async_connect([](std::string const&) {});
  client->close();
  client.reset();
}

TEST_F(plain_transport, says_that_connecting_was_given_up) {
  auto const client = make_transport(io, parse_url(address()));
  std::optional<std::string> outcome;
  client->async_connect([&](std::string const& failure) { outcome = failure; });
  client->close();
  EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
  EXPECT_EQ(outcome, "connect to " + address() + ": Operation canceled");
}

TEST_F(plain_transport, connects_to_a_unix_socket) {
  auto pattern = (std::filesystem::temp_directory_path() / "holdfast-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  std::filesystem::path const folder = pattern;
  auto const path = (folder / "r.sock").string();
  auto const missing = make_transport(io, parse_url("redis+unix://" + path));
  EXPECT_EQ(connect(*missing), "connect to " + path + ": No such file or directory");

  asio::local::stream_protocol::acceptor local{io, path};
  auto const client = make_transport(io, parse_url("redis+unix://" + path));
  EXPECT_EQ(connect(*client), "");
  EXPECT_EQ(client->peer(), path);
  std::filesystem::remove_all(folder);
}

TEST_F(plain_transport, refuses_tls_files_that_cannot_be_read) {
  for (auto const* const parameters : {"ca=/no/such.pem", "cert=/no/such.pem&key=/no/such.key"}) {
    auto const refusal = holdfast::test::failure_of(
        [&] { (void)make_transport(io, parse_url("rediss://h?" + std::string{parameters})); });
    EXPECT_EQ(refusal.code, holdfast::errc::bad_url);
    EXPECT_THAT(refusal.message, AllOf(HasSubstr("/no/such.pem"), HasSubstr("No such file")));
  }
}

}  // namespace
