// What becomes of the lock when holdfast itself is killed.
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/independent_servers.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <signal.h>
#include <unistd.h>

#include <string>

namespace {

using namespace holdfast::test;

/// With a ttl of an hour: whatever frees a lock here is no expiry.
class killed_holdfast : public testing::Test {
 protected:
  /// Kills a holdfast, and nothing else, when its command has printed the id of the process that matters.
  pid_t kill_during(std::string const& url, words options, std::string const& script) {
    options.insert(options.end(), {"--ttl", "1h"});
    auto job = holdfast_run(url, options, "job", shell(script));
    EXPECT_TRUE(eventually([&] { return job.out().ends_with('\n'); })) << job.err();
    auto const work = std::stoi(job.out());
    job.signal(SIGKILL);
    EXPECT_EQ(job.wait(), 128 + SIGKILL);
    return work;
  }
  bool comes_free() {
    return eventually([&] { return !redis.exists("job"); });
  }

  redis_server const server;
  raw_redis redis = server.raw();
};

TEST_F(killed_holdfast, has_its_lock_given_back_when_the_command_has_ended) {
  for (words const& options : {words{}, words{"--fair"}, words{"--wire", "redisson"}, words{"--exclusive"},
                               words{"--shared"}, words{"--on-lost=kill"}, words{"--once-per", "hour"}}) {
    auto const work = kill_during(server.url(), options, "echo $$; exec sleep 1000");
    EXPECT_TRUE(comes_free()) << testing::PrintToString(options);
    EXPECT_FALSE(is_alive(work));
    redis.command({"FLUSHALL"});
  }
  kill_during(server.url(), {"--slots", "2"}, "echo $$; exec sleep 1000");
  EXPECT_TRUE(comes_free());
  redis.command({"FLUSHALL"});
  kill_during(server.url(), {"--slots", "2", "--wire", "redisson"}, "echo $$; exec sleep 1000");
  EXPECT_TRUE(eventually([&] { return redis.get("job") == "2"; }));
}

TEST_F(killed_holdfast, has_its_lock_given_back_to_who_waits) {
  // The guard is there when the command is.
  auto job = holdfast_run(server.url(), {"--ttl", "1h"}, "job", shell("echo ready; exec sleep 1000"));
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; }));
  auto waiter = holdfast_run(server.url(), {}, "job", {"true"});
  ASSERT_TRUE(eventually([&] { return !redis.keys("*queue*").empty(); }));
  job.signal(SIGKILL);
  EXPECT_EQ(waiter.wait(wait_limit), 0) << waiter.err();
}

TEST_F(killed_holdfast, keeps_its_lock_while_a_child_of_the_command_is_at_work) {
  // It is killed a grace after it was asked to end, which is 5 s with this ttl.
  auto const work = kill_during(server.url(), {}, "trap '' TERM; echo $$; while :; do sleep 0.02; done");
  EXPECT_TRUE(outlives(redis, "job", work)) << "the lock was free first";
  EXPECT_TRUE(comes_free());
}

TEST_F(killed_holdfast, has_nothing_done_to_the_lock_of_the_next_holder) {
  auto job =
      holdfast_run(server.url(), {"--ttl", "1h"}, "job", shell("trap '' TERM; echo ready; sleep 1000"));
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; }));
  redis.command({"SET", "job", "somebody else"});
  auto const commands = [&] { return redis.calls_of("evalsha") + redis.calls_of("eval"); };
  auto const before = commands();
  job.signal(SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return commands() > before; })) << "nobody has looked";
  EXPECT_TRUE(always(200ms, [&] { return redis.get("job") == "somebody else"; }));
}

TEST_F(killed_holdfast, leaves_a_lock_that_is_to_be_kept_to_its_ttl) {
  auto const work = kill_during(server.url(), {"--keep"}, "echo $$; exec sleep 1000");
  EXPECT_TRUE(eventually([&] { return !is_alive(work); }));
  EXPECT_TRUE(always(500ms, [&] { return redis.exists("job"); }));
}

TEST_F(killed_holdfast, leaves_the_lock_to_its_ttl_when_the_command_goes_on) {
  auto const work = kill_during(server.url(), {"--on-lost=warn"}, "echo $$; exec sleep 1000");
  EXPECT_TRUE(always(500ms, [&] { return redis.exists("job") && is_alive(work); }));
  kill(work, SIGKILL);
}

TEST_F(killed_holdfast, has_told_its_history_that_the_lock_is_given_back) {
  struct {
    words killed;
    words next;
  } const cases[] = {{{"run"}, {"run"}},
                     {{"run", "--fair"}, {"run", "--fair"}},
                     {{"run", "--wire", "redisson"}, {"run", "--wire", "redisson"}},
                     {{"run", "--shared"}, {"run", "--exclusive"}},
                     {{"run", "--slots", "1"}, {"run", "--slots", "1"}},
                     {{"run", "--once-per", "hour"}, {"run"}},
                     {{"run", "--with", "other"}, {"run"}},
                     {{"lead"}, {"lead", "--once"}}};
  for (auto const& [killed, next] : cases) {
    temporary_folder const folder;
    auto const history = folder / "history";
    auto const start = [&](words arguments, std::string const& script) {
      for (auto const& each : words{"--history", history, "--ttl", "1h", "job", "--", "sh", "-c", script})
        arguments.push_back(each);
      return holdfast_command(arguments, {{"HOLDFAST_URL", server.url()}});
    };
    auto first = start(killed, "echo ready; exec sleep 1000");
    ASSERT_TRUE(eventually([&] { return first.out() == "ready\n"; })) << first.err();
    first.signal(SIGKILL);
    auto second = start(next, "true");
    ASSERT_EQ(second.wait(wait_limit), 0) << second.err();
    auto judge = holdfast_command({"judge", history});
    EXPECT_EQ(judge.wait(), 0) << testing::PrintToString(killed) << judge.out() << judge.err();
    redis.command({"FLUSHALL"});
  }
}

TEST_F(killed_holdfast, tells_nothing_in_its_history_of_a_lock_that_is_not_given_back) {
  for (auto const* const option : {"--keep", "--on-lost=warn"}) {
    temporary_folder const folder;
    auto const history = folder / "history";
    auto const work = kill_during(server.url(), {option, "--history", history}, "echo $$; exec sleep 1000");
    EXPECT_TRUE(always(300ms, [&] { return content_of(history).find("released") == std::string::npos; }));
    if (is_alive(work)) kill(work, SIGKILL);
    redis.command({"FLUSHALL"});
  }
}

TEST(killed_holdfast_elsewhere, has_its_lock_given_back_with_a_password_and_on_a_quorum) {
  auto const kill_and_try = [](std::string const& url) {
    temporary_folder const folder;
    auto const history = folder / "history";
    auto job =
        holdfast_run(url, {"--ttl", "1h", "--history", history}, "job", shell("echo ready; exec sleep 1000"));
    ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
    job.signal(SIGKILL);
    auto next = holdfast_run(url, {"--history", history}, "job", {"true"});
    EXPECT_EQ(next.wait(wait_limit), 0) << next.err();
    auto judge = holdfast_command({"judge", history});
    EXPECT_EQ(judge.wait(), 0) << judge.out() << judge.err();
  };
  auto const with_password = redis_server::make({.requirepass = "secret"});
  kill_and_try(with_password->url());
  independent_servers const quorum{3};
  kill_and_try(quorum.url());
}

}  // namespace
