/// `holdfast run` while the server can't be reached.
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <chrono>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;
using steady = std::chrono::steady_clock;

class wait_server : public testing::Test {
 protected:
  process start(words const& options) { return holdfast_run(server.url(), options, "job", {"echo", "ran"}); }

  /// Starts the command while the server is away, which comes a moment later.
  void is_waited_for_with(words const& options) {
    server.stop();
    auto job = start(options);
    EXPECT_TRUE(always(700ms, [&] { return !job.exit_code(); })) << job.err();
    server.start();
    EXPECT_EQ(job.wait(), 0) << job.err();
    EXPECT_EQ(job.out(), "ran\n");
  }

  redis_server server;
};

TEST_F(wait_server, is_done_for_all_of_the_time_of_wait) {
  server.stop();
  auto const begun = steady::now();
  auto job = start({"--wait", "1500ms"});
  EXPECT_EQ(job.wait(), 69);
  EXPECT_GE(steady::now() - begun, 1500ms);
  EXPECT_THAT(job.err(), testing::AllOf(HasSubstr("redis.sock"), HasSubstr("; gave up after ")));
  server.start();
  is_waited_for_with({"--wait", "1m"});
}

TEST_F(wait_server, is_done_for_slots_and_for_cron_jobs_too) {
  is_waited_for_with({"--wait", "1m", "--slots", "2"});
  is_waited_for_with({"--wait", "1m", "--once-per", "hour"});
}

TEST_F(wait_server, goes_with_no_wait) { is_waited_for_with({"--no-wait", "--wait-server", "1m"}); }

TEST_F(wait_server, may_be_less_than_the_wait_for_the_lock) {
  server.stop();
  auto job = start({"--wait", "1h", "--wait-server", "0"});
  EXPECT_EQ(job.wait(), 69);
}

}  // namespace
