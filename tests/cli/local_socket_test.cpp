#include "server/local_socket.hpp"

#include "common/exit_codes.hpp"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "support/sanitizers.hpp"

namespace {

/// A TCP port of the loopback address whose server never accepts.
class silent_listener {
 public:
  silent_listener() {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, plain(), sizeof address_), 0);
    EXPECT_EQ(listen(listener_, 0), 0);
    socklen_t size = sizeof address_;
    EXPECT_EQ(getsockname(listener_, plain(), &size), 0);
  }
  ~silent_listener() {
    for (int const client : clients_) close(client);
    close(listener_);
  }
  silent_listener(silent_listener const&) = delete;
  silent_listener& operator=(silent_listener const&) = delete;

  /// A queue with a backlog of 0 has room for one; the kernel drops what comes after it.
  void fill_queue() {
    for (int i = 0; i < 4; ++i) {
      clients_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      static_cast<void>(connect(clients_.back(), plain(), sizeof address_));
    }
  }
  [[nodiscard]] std::uint16_t port() const { return ntohs(address_.sin_port); }

 private:
  sockaddr* plain() { return reinterpret_cast<sockaddr*>(&address_); }

  int listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address_{};
  std::vector<int> clients_{};
};

TEST(local_socket, finds_a_server_that_is_too_busy_to_accept) {
  silent_listener server;
  EXPECT_TRUE(holdfast::cli::listens_on_ipv4_loopback(server.port()));
  server.fill_queue();
  EXPECT_TRUE(holdfast::cli::listens_on_ipv4_loopback(server.port()));
}

TEST(local_socket, does_not_take_a_server_that_it_can_not_ask_for_none) {
  if (holdfast::test::under_address_sanitizer) GTEST_SKIP() << "which needs descriptors itself";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none{before};
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  std::string reason;
  try {
    static_cast<void>(holdfast::cli::listens_on_unix("/nowhere/redis.sock"));
  } catch (holdfast::cli::failure const& problem) {
    reason = problem.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(reason,
              testing::HasSubstr("can't tell whether one runs at /nowhere/redis.sock: Too many open"));
  EXPECT_FALSE(holdfast::cli::listens_on_unix("/nowhere/redis.sock"));
}

TEST(local_socket, finds_nobody_where_connections_are_refused) {
  auto const port = silent_listener{}.port();
  EXPECT_FALSE(holdfast::cli::listens_on_ipv4_loopback(port));
  EXPECT_FALSE(holdfast::cli::listens_on_ipv6_loopback(port));
}

}  // namespace
