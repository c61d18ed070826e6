#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;
using testing::StartsWith;

/// The socket on which systemd hears of a service of Type=notify.
class notify_socket {
 public:
  /// A path, or an abstract name after a `@`.
  explicit notify_socket(std::string const& name) : file_{socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)} {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(name, address.sun_path);
    if (name.front() == '@') address.sun_path[0] = '\0';
    auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    if (bind(file_, reinterpret_cast<sockaddr const*>(&address), size) != 0)
      throw std::runtime_error{"can't bind " + name};
  }
  ~notify_socket() { close(file_); }
  notify_socket(notify_socket const&) = delete;
  notify_socket& operator=(notify_socket const&) = delete;

  /// The next message; empty if there is none at this moment.
  std::string next() {
    std::array<char, 4096> text{};
    auto const size = recv(file_, text.data(), text.size(), MSG_DONTWAIT);
    return size > 0 ? std::string{text.data(), static_cast<std::size_t>(size)} : std::string{};
  }

 private:
  int file_;
};

class service_manager : public testing::Test {
 protected:
  process start(std::string const& socket, words const& command) {
    words arguments{"run", "job", "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    return holdfast_command(arguments, {{"HOLDFAST_URL", server.url()}, {"NOTIFY_SOCKET", socket}});
  }
  static std::string message_of(notify_socket& manager) {
    std::string text;
    EXPECT_TRUE(eventually([&] { return !(text = manager.next()).empty(); }));
    return text;
  }

  redis_server server;
  raw_redis redis = server.raw();
  temporary_folder folder;
};

TEST_F(service_manager, is_told_that_the_service_is_ready_when_the_lock_is_acquired) {
  redis.command({"SET", "job", "somebody else", "PX", "60000"});
  auto const path = folder / "notify";
  notify_socket manager{path};
  auto job = start(path, {"true"});
  EXPECT_EQ(message_of(manager), "STATUS=waiting for lock \"job\" on " + server.url());
  ASSERT_TRUE(eventually([&] { return redis.keys("*:holdfast_queue").size() == 1; })) << job.err();
  EXPECT_EQ(manager.next(), "");
  redis.del("job");
  EXPECT_THAT(message_of(manager), StartsWith("READY=1\nSTATUS=lock \"job\" acquired, token "));
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(manager.next(), "");
}

TEST_F(service_manager, may_listen_on_an_abstract_socket) {
  auto const name = "@holdfast-test-" + std::to_string(getpid());
  notify_socket manager{name};
  auto job = start(name, {"true"});
  EXPECT_THAT(message_of(manager), StartsWith("STATUS=waiting"));
  EXPECT_THAT(message_of(manager), StartsWith("READY=1\n"));
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(job.err(), "");
}

TEST_F(service_manager, hears_from_holdfast_alone) {
  auto const path = folder / "notify";
  notify_socket const manager{path};
  auto job = start(path, shell("echo \"${NOTIFY_SOCKET-unset}\""));
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(job.out(), "unset\n");
}

TEST_F(service_manager, is_no_reason_to_fail_when_it_does_not_listen) {
  auto const path = folder / "nobody";
  auto job = start(path, {"true"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_THAT(job.err(),
              HasSubstr("the service manager can't be told (NOTIFY_SOCKET=" + path + "): No such file"));
}

}  // namespace
