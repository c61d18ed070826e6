#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/rounds.hpp"

#include <gmock/gmock.h>

#include <signal.h>

#include <string>
#include <utility>
#include <vector>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;

class wait : public testing::Test {
 protected:
  void SetUp() override { redis.command({"SET", "job", "somebody else", "PX", "60000"}); }

  process start(words const& options) { return holdfast_run(server.url(), options, "job", {"echo", "ran"}); }

  /// The queue in Redis shows that a client waits.
  [[nodiscard]] bool has_waiter() { return redis.keys("*:holdfast_queue").size() == 1; }

  redis_server server;
  raw_redis redis = server.raw();
};

TEST_F(wait, does_not_happen_with_no_wait) {
  auto job = start({"--no-wait"});
  EXPECT_EQ(job.wait(), 75);
  EXPECT_THAT(job.err(), testing::AllOf(HasSubstr("holdfast: lock \"job\" on " + server.url() + " is busy: "),
                                        HasSubstr("held by unknown (somebody else); didn't wait\n")));
  EXPECT_EQ(job.out(), "");
  EXPECT_THAT(redis.keys(), testing::ElementsAre("job"));
}

TEST_F(wait, ends_with_75_when_its_time_is_up) {
  auto job = start({"--wait", "200ms"});
  EXPECT_EQ(job.wait(), 75);
  EXPECT_THAT(job.err(), HasSubstr("held by unknown (somebody else); waited 200ms\n"));
  EXPECT_EQ(job.out(), "");
  EXPECT_TRUE(eventually([&] { return redis.keys() == words{"job"}; }));
}

TEST_F(wait, tells_in_the_end_who_held_the_lock) {
  redis.del("job");
  auto holder = holdfast_run(server.url(), {"--label", "nightly import"}, "job", shell("exec sleep 60"));
  ASSERT_TRUE(eventually([&] { return redis.keys("holdfast_client:*").size() == 1; })) << holder.err();
  auto job = start({"--wait", "100ms"});
  EXPECT_EQ(job.wait(), 75);
  EXPECT_THAT(job.err(),
              testing::ContainsRegex("is busy: held for [0-9]+ m?s by .* pid " +
                                     std::to_string(holder.pid()) + " 'nightly import'; waited 100ms\n"));
}

TEST_F(wait, names_the_holder_from_the_first_moment) {
  redis.del("job");
  auto holder = holdfast_run(server.url(), {"--label", "nightly import"}, "job", shell("exec sleep 60"));
  ASSERT_TRUE(eventually([&] { return redis.exists("job"); })) << holder.err();
  EXPECT_EQ(redis.keys("holdfast_client:*").size(), 1u) << "the record is there before the lock";
  auto job = start({"--no-wait"});
  EXPECT_EQ(job.wait(), 75);
  EXPECT_THAT(job.err(),
              HasSubstr(" pid " + std::to_string(holder.pid()) + " 'nightly import'; didn't wait"));
}

TEST_F(wait, is_silent_in_a_log_and_tells_with_verbose_whom_it_waits_for) {
  auto silent = start({});
  auto job = start({"-v"});
  EXPECT_TRUE(eventually([&] {
    return job.err().find("waiting for lock \"job\": held by unknown (somebody else)") != std::string::npos;
  })) << job.err();
  redis.command({"SET", "job", "the next one", "PX", "60000"});
  EXPECT_TRUE(eventually([&] {
    return job.err().find("waiting for lock \"job\": held by unknown (the next one)") != std::string::npos;
  })) << job.err();
  EXPECT_EQ(silent.err(), "");
  redis.del("job");
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(silent.wait(), 0);
}

TEST_F(wait, does_not_happen_for_a_counter_which_is_no_lock) {
  redis.command({"SET", "job", "3"});
  for (auto const& options : {words{}, words{"--wait", "1m"}, words{"--no-wait"}}) {
    auto job = start(options);
    EXPECT_EQ(job.wait(), 65);
    EXPECT_THAT(job.err(), HasSubstr("the key \"job\" holds the number 3, which never expires: a counter"));
  }
  EXPECT_TRUE(eventually([&] { return redis.keys() == words{"job"}; }));
}

TEST_F(wait, for_a_key_that_never_expires_says_so) {
  redis.command({"SET", "job", "immortal"});
  auto limited = start({"--wait", "200ms"});
  EXPECT_EQ(limited.wait(), 75);
  EXPECT_THAT(limited.err(), HasSubstr("held by unknown (immortal); its key never expires; waited 200ms\n"));
  auto job = start({});
  EXPECT_TRUE(eventually([&] {
    return job.err().find(
               "its key never expires, so this wait ends only when somebody deletes the key, or --wait is "
               "over") != std::string::npos;
  })) << job.err();
  redis.del("job");
  EXPECT_EQ(job.wait(), 0);
}

TEST_F(wait, ends_with_the_lock_when_it_comes_free) {
  auto job = start({"--wait", "30s"});
  ASSERT_TRUE(eventually([&] { return has_waiter(); }));
  redis.del("job");
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(job.out(), "ran\n");
}

TEST_F(wait, with_fair_is_in_the_order_of_asking) {
  temporary_folder folder;
  std::vector<process> jobs;
  for (char const* const number : {"1", "2", "3", "4"}) {
    jobs.push_back(holdfast_run(server.url(), {"--fair"}, "job",
                                shell("echo " + (number + (" >> " + (folder / "order"))))));
    ASSERT_TRUE(eventually([&] {
      return std::cmp_equal(redis.command({"ZCARD", "{job}:holdfast_queue"}).integer, jobs.size());
    })) << jobs.back().err();
  }
  redis.del("job");
  for (auto& job : jobs) EXPECT_EQ(job.wait(), 0) << job.err();
  EXPECT_EQ(content_of(folder / "order"), "1\n2\n3\n4\n");
}

TEST_F(wait, lasts_for_ever_by_default) {
  auto job = start({});
  ASSERT_TRUE(eventually([&] { return has_waiter(); }));
  redis.del("job");
  EXPECT_EQ(job.wait(), 0);
}

TEST_F(wait, is_ended_by_a_signal_and_leaves_nothing_in_redis) {
  for (int const number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    auto job = start({});
    ASSERT_TRUE(eventually([&] { return has_waiter(); }));
    job.signal(number);
    EXPECT_EQ(job.wait(), 128 + number);
    EXPECT_EQ(job.out(), "");
    EXPECT_TRUE(eventually([&] { return redis.keys() == words{"job"}; })) << number;
    EXPECT_EQ(redis.get("job"), "somebody else");
  }
}

TEST_F(wait, is_not_ended_by_signals_meant_for_the_command) {
  auto job = start({});
  ASSERT_TRUE(eventually([&] { return has_waiter(); }));
  job.signal(SIGUSR1);
  job.signal(SIGWINCH);
  redis.del("job");
  EXPECT_EQ(job.wait(), 0);
}

TEST_F(wait, ends_soon_after_the_holder_was_killed) {
  passes_in_one_round_of(5, [&] {
    redis.del("job");
    temporary_folder folder;
    auto holder = holdfast_run(server.url(), {"--ttl", "2s"}, "job",
                               shell("echo $$ > " + (folder / "pid") + "; exec sleep 60"));
    ASSERT_TRUE(eventually([&] { return content_of(folder / "pid").ends_with('\n'); }));
    auto next = start({});
    ASSERT_TRUE(eventually([&] { return has_waiter() || next.exit_code(); }));
    holder.signal(SIGKILL);
    EXPECT_EQ(next.wait(), 0);
    EXPECT_EQ(next.out(), "ran\n");
    EXPECT_FALSE(is_alive(std::stoi(content_of(folder / "pid")))) << "the command outlived its lock";
  });
}

}  // namespace
