// `holdfast run` as the first process of a container: the kernel leaves out the default actions of signals.
#include "full_pipe.hpp"
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/flaky_proxy.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <signal.h>
#include <unistd.h>

#include <string>

namespace {

using namespace holdfast::test;
using namespace std::chrono_literals;

std::string const in_container = "unshare --pid --fork --mount-proc --kill-child ";

class first_process : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || process{shell(in_container + "true")}.wait() != 0)
      GTEST_SKIP() << "needs the right to make a namespace of processes";
  }

  /// `arguments`: behind "holdfast run".
  static process start(std::string const& arguments) {
    return process{shell("exec " + in_container + HOLDFAST_CLI + " run " + arguments)};
  }
  /// Sends SIGTERM to holdfast.
  static void terminate(process const& container) {
    auto const id = std::to_string(container.pid());
    auto const children = "/proc/" + id + "/task/" + id + "/children";
    ASSERT_TRUE(eventually([&] { return !content_of(children).empty(); }));
    kill(std::stoi(content_of(children)), SIGTERM);
  }

  redis_server server;
};

TEST_F(first_process, ends_by_a_signal_while_the_server_is_silent) {
  for (std::string const options : {"", "--slots 2", "--once-per hour", "--with-slots 2:other"}) {
    flaky_proxy proxy{server.socket_path()};
    proxy.freeze();
    auto container = start("--wait-server 1h --url " + proxy.url() + " " + options + " job -- true");
    ASSERT_TRUE(eventually([&] { return proxy.connections() > 0; })) << options;
    terminate(container);
    EXPECT_EQ(container.wait(), 128 + SIGTERM) << options;
  }
}

TEST_F(first_process, ends_by_a_signal_while_nobody_reads_its_messages) {
  temporary_folder const folder;
  full_pipe const messages{folder / "messages"};
  auto container = start("--url " + server.url() + " job -- /no/such/program 2> " + (folder / "messages"));
  EXPECT_TRUE(always(1s, [&] { return !container.exit_code(); }));
  terminate(container);
  EXPECT_EQ(container.wait(), 128 + SIGTERM);
}

}  // namespace
