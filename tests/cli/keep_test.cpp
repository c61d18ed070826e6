#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <signal.h>

#include <string>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;

class kept_lock : public testing::Test {
 protected:
  process start(words const& options, std::string const& script = "echo ran") {
    return holdfast_run(server.url(), options, "job", shell(script));
  }
  /// Runs a command to its end; returns its output on stdout and stderr.
  std::string output_of(words const& options, int code = 0) {
    auto job = start(options);
    EXPECT_EQ(job.wait(), code) << job.err();
    return job.out() + job.err();
  }

  redis_server server;
  raw_redis redis = server.raw();
};

using keep = kept_lock;
using once_per = kept_lock;

TEST_F(keep, leaves_the_lock_to_its_ttl) {
  EXPECT_EQ(output_of({"--keep", "--ttl", "60s"}), "ran\n");
  EXPECT_GT(redis.pttl("job"), 30'000);
  EXPECT_LE(redis.pttl("job"), 60'000);
  EXPECT_THAT(output_of({"--no-wait"}, 75), HasSubstr("is busy"));
}

TEST_F(keep, lets_others_in_when_the_ttl_is_over) {
  EXPECT_EQ(output_of({"--keep", "--ttl", "3s"}), "ran\n");
  EXPECT_EQ(output_of({"--wait", "20s"}), "ran\n");
}

TEST_F(keep, gives_back_what_was_taken_for_nothing) {
  auto job = holdfast_run(server.url(), {"--keep"}, "job", {"./no-such-command"});
  EXPECT_EQ(job.wait(), 127);
  EXPECT_FALSE(redis.exists("job"));
}

TEST_F(once_per, runs_the_first_and_silently_skips_the_next) {
  EXPECT_EQ(output_of({"--once-per", "1h"}), "ran\n");
  EXPECT_EQ(output_of({"--once-per", "1h"}), "");
  EXPECT_THAT(output_of({"--once-per", "1h", "--verbose"}),
              AllOf(HasSubstr("skipped: lock \"job\""), HasSubstr("is busy: held for")));
}

TEST_F(once_per, counts_from_the_start) {
  auto job = start({"--once-per", "1h"}, "sleep 0.3");
  EXPECT_EQ(job.wait(), 0);
  EXPECT_LE(redis.pttl("job"), 3'600'000 - 300);
  EXPECT_GT(redis.pttl("job"), 3'500'000);
}

TEST_F(once_per, gives_the_lock_back_after_a_run_that_was_longer) {
  auto job = start({"--once-per", "100ms"}, "sleep 0.2");
  EXPECT_EQ(job.wait(), 0);
  EXPECT_FALSE(redis.exists("job"));
}

TEST_F(once_per, counts_a_command_that_fails) {
  EXPECT_EQ(start({"--once-per", "1h"}, "exit 3").wait(), 3);
  EXPECT_EQ(output_of({"--once-per", "1h"}), "");
}

TEST_F(once_per, does_not_count_a_command_that_can_not_be_started) {
  auto job = holdfast_run(server.url(), {"--once-per", "1h"}, "job", {"./no-such-command"});
  EXPECT_EQ(job.wait(), 127);
  EXPECT_EQ(output_of({"--once-per", "1h"}), "ran\n");
}

TEST_F(once_per, counts_a_run_that_was_killed) {
  auto job = start({"--once-per", "1h"}, "echo ready; exec sleep 60");
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  job.signal(SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  EXPECT_GT(redis.pttl("job"), 3'500'000);
}

TEST_F(once_per, waits_for_the_end_of_the_period_if_told_to_wait) {
  EXPECT_EQ(output_of({"--once-per", "300ms"}), "ran\n");
  EXPECT_EQ(output_of({"--once-per", "300ms", "--wait", "20s"}), "ran\n");
}

TEST_F(once_per, notices_a_loss_as_soon_as_without_it) {
  auto job = start({"--once-per", "1h", "--ttl", "3s"}, "echo ready; exec sleep 60");
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  redis.del("job");
  EXPECT_EQ(job.wait(), 79);
}

}  // namespace
