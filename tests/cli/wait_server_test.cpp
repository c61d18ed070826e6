/// `holdfast run`, `acquire` and `hold` while the server can't be reached.
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/flaky_proxy.hpp"
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

TEST_F(wait_server, is_done_by_acquire_and_hold_too) {
  for (auto const& options : {words{"--wait", "1m"}, words{"--no-wait", "--wait-server", "1m"},
                              words{"--wait", "1m", "--slots", "2"}}) {
    for (std::string const command : {"acquire", "hold"}) {
      server.stop();
      words arguments{command, "--url", server.url()};
      arguments.insert(arguments.end(), options.begin(), options.end());
      arguments.emplace_back("job");
      auto taker = holdfast_command(arguments, {}, "a line, and then the end of stdin\n");
      EXPECT_TRUE(always(700ms, [&] { return !taker.exit_code(); })) << taker.err();
      server.start();
      EXPECT_EQ(taker.wait(), 0) << command << taker.err();
      EXPECT_THAT(taker.out(), testing::ContainsRegex("^[0-9a-f]+")) << command;
    }
  }
  server.stop();
  EXPECT_EQ(holdfast_command({"acquire", "--url", server.url(), "--wait", "1h", "--wait-server", "0", "job"})
                .wait(),
            69);
}

TEST_F(wait_server, is_done_by_a_run_in_the_command_of_another_for_the_same_name) {
  server.stop();
  auto job = holdfast_command({"run", "--wait", "1m", "job", "--", "echo", "ran"},
                              {{"HOLDFAST_URL", server.url()},
                               {"HOLDFAST_NAME", "job"},
                               {"HOLDFAST_OWNER", "6f1c2d3e-0000-4000-8000-000000000000:1"}});
  EXPECT_TRUE(always(700ms, [&] { return !job.exit_code(); })) << job.err();
  server.start();
  EXPECT_EQ(job.wait(), 0) << job.err();
  EXPECT_EQ(job.out(), "ran\n");
}

TEST_F(wait_server, goes_with_no_wait) { is_waited_for_with({"--no-wait", "--wait-server", "1m"}); }

TEST_F(wait_server, may_be_less_than_the_wait_for_the_lock) {
  server.stop();
  auto job = start({"--wait", "1h", "--wait-server", "0"});
  EXPECT_EQ(job.wait(), 69);
}

TEST_F(wait_server, limits_the_time_of_a_server_that_is_silent) {
  server.freeze();
  auto job = start({"--wait-server", "300ms"});
  EXPECT_EQ(job.wait(), 69);
  EXPECT_THAT(job.err(), HasSubstr("no answer within 300ms for lock \"job\": the server is silent"));
  auto waiting = start({"--wait", "1ms"});
  EXPECT_EQ(waiting.wait(), 69);
  EXPECT_THAT(waiting.err(), HasSubstr("no answer within 1s1ms"));
  server.thaw();
}

TEST_F(wait_server, limits_the_time_of_a_server_that_loads_its_data) {
  flaky_proxy proxy{server.socket_path()};
  auto const decision = proxy.decide_by([](request const& r) {
    return r.has("job") ? fate::error("LOADING Redis is loading the dataset in memory") : fate::pass();
  });
  for (std::string const command : {"acquire", "hold"}) {
    auto taker = holdfast_command({command, "--url", proxy.url(), "--wait-server", "300ms", "job"});
    EXPECT_EQ(taker.wait(), 69);
    EXPECT_THAT(taker.err(), HasSubstr("no answer within 300ms"));
  }
}

TEST_F(wait_server, is_over_when_the_server_has_said_that_the_lock_is_busy) {
  server.raw().command({"SET", "job", "somebody", "PX", "60000"});
  for (auto const& kind : {words{}, words{"--fair"}, words{"--exclusive"}, words{"--with", "other"}}) {
    words options{"--wait-server", "200ms"};
    options.insert(options.end(), kind.begin(), kind.end());
    auto job = start(options);
    EXPECT_TRUE(always(700ms, [&] { return !job.exit_code(); })) << job.err();
  }
}

}  // namespace
