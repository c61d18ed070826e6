#include "holdfast_command.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

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

TEST_F(keep, shows_that_its_run_has_ended) {
  EXPECT_EQ(output_of({"--keep", "--ttl", "60s"}), "ran\n");
  auto inspect = holdfast_command({"inspect", "job"}, {{"HOLDFAST_URL", server.url()}});
  EXPECT_EQ(inspect.wait(), 0);
  EXPECT_THAT(inspect.out(), AllOf(HasSubstr("\nlast run  ran "), HasSubstr(", exit 0)\n"),
                                   HasSubstr("\ndone      kept until "), HasSubstr("; finished ")));
}

TEST_F(keep, is_released_by_force_at_once) {
  EXPECT_EQ(output_of({"--keep", "--ttl", "60s"}), "ran\n");
  // A grace of an hour that is not waited for.
  auto release = holdfast_command({"release", "--force", "--yes", "--grace", "1h", "job"},
                                  {{"HOLDFAST_URL", server.url()}});
  EXPECT_EQ(release.wait(), 0);
  EXPECT_THAT(release.err(),
              testing::MatchesRegex("holdfast: lock \"job\" was kept until [0-9: -]+; finished "
                                    "[0-9: -]+, exit 0: released\n"));
  EXPECT_FALSE(redis.exists("job"));
  EXPECT_EQ(output_of({"--no-wait"}), "ran\n");
}

}  // namespace
