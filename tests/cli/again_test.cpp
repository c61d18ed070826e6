/// `holdfast run --again`: back to waiting for the lock.
#include "holdfast_command.hpp"
#include "run/repetition.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>

namespace {

using namespace holdfast::test;
using namespace std::chrono_literals;
using holdfast::cli::repetition;
using holdfast::cli::run_again;
using holdfast::cli::turn;
using testing::HasSubstr;

TEST(repetition, follows_only_what_it_is_for) {
  turn const ended{.ran = true};
  turn const lost{.code = 79, .ran = true, .lost = true};
  EXPECT_FALSE(repetition{run_again::no}.after(lost));
  EXPECT_FALSE(repetition{run_again::on_loss}.after(ended));
  EXPECT_TRUE(repetition{run_again::on_loss}.after(lost));
  EXPECT_TRUE(repetition{run_again::always}.after(ended));
  EXPECT_TRUE(repetition{run_again::always}.after(lost));
}

TEST(repetition, ends_with_a_signal_to_holdfast) {
  EXPECT_FALSE(repetition{run_again::always}.after({.ran = true, .told_to_end = true}));
  EXPECT_FALSE(repetition{run_again::on_loss}.after({.ran = true, .lost = true, .told_to_end = true}));
}

TEST(repetition, ends_where_the_first_turn_does_not_get_the_lock_and_not_where_a_later_one_does_not) {
  turn const without_lock{.code = 69};
  EXPECT_FALSE(repetition{run_again::always}.after(without_lock));
  repetition later{run_again::on_loss};
  ASSERT_TRUE(later.after({.ran = true, .lost = true}));
  EXPECT_TRUE(later.after(without_lock));
}

TEST(repetition, pauses_longer_and_longer_until_a_turn_was_long) {
  repetition more{run_again::always};
  turn const brief{.ran = true, .held_for = 1s};
  auto longest = 0ns;
  for (auto i = 0; i < 200; ++i) {
    auto const pause = more.after(brief).value();
    EXPECT_GE(pause, 1s);
    EXPECT_LE(pause, 30s);
    if (i == 0) {
      EXPECT_LE(pause, 2s);
    }
    longest = std::max(longest, pause);
  }
  EXPECT_GT(longest, 10s);
  EXPECT_LE(more.after({.ran = true, .held_for = 1min}).value(), 2s);
}

class again : public testing::Test {
 protected:
  /// Each turn leaves its token in a line.
  [[nodiscard]] process start(words const& options, std::string const& then) const {
    return holdfast_run(server.url(), options, "job",
                        shell("echo $HOLDFAST_TOKEN >> " + file() + "; " + then));
  }
  [[nodiscard]] std::string file() const { return (folder.path() / "turns").string(); }
  [[nodiscard]] bool turns(std::ptrdiff_t count) const {
    return eventually([&] {
      auto const text = content_of(file());
      return std::count(text.begin(), text.end(), '\n') >= count;
    });
  }
  void take_away() {
    auto command = holdfast_command({"release", "--force", "--yes", "--url", server.url(), "job"});
    EXPECT_EQ(command.wait(), 0) << command.err();
  }

  redis_server server;
  raw_redis redis = server.raw();
  temporary_folder folder;
};

constexpr auto works_on = "exec sleep 60";

TEST_F(again, after_a_loss_takes_the_lock_anew_and_runs_the_command) {
  auto job = start({"--again"}, works_on);
  ASSERT_TRUE(turns(1));
  take_away();
  ASSERT_TRUE(turns(2));
  EXPECT_THAT(job.err(), HasSubstr("lock \"job\": again in "));
  EXPECT_TRUE(redis.exists("job"));
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
  EXPECT_FALSE(redis.exists("job"));
}

TEST_F(again, is_not_asked_for_by_the_end_of_the_command) {
  auto job = start({"--again=on-loss"}, "exit 7");
  EXPECT_EQ(job.wait(), 7);
  EXPECT_TRUE(turns(1));
}

TEST_F(again, always_is_also_after_the_end_of_the_command_and_gives_the_lock_to_others_meanwhile) {
  auto job = start({"--again=always"}, "exit 7");
  ASSERT_TRUE(turns(1));
  ASSERT_TRUE(eventually([&] { return !redis.exists("job"); }));
  EXPECT_EQ(holdfast_run(server.url(), {}, "job", shell("exit 3")).wait(), 3);
  ASSERT_TRUE(turns(2));
  job.signal(SIGTERM);
  EXPECT_NE(job.wait(), 0);
  EXPECT_TRUE(eventually([&] { return !redis.exists("job"); }));
}

/// They come to holdfast when the guard has ended.
TEST_F(again, leaves_no_zombies_of_what_earlier_turns_left_in_the_background) {
  for (bool const while_it_waits : {false, true}) {
    auto const go = folder / "go";
    auto job = start({"--again=always"}, "(until [ -e " + go + " ]; do sleep 0.02; done) & echo $!");
    ASSERT_TRUE(eventually([&] { return job.err().find("again in") != std::string::npos; })) << job.err();
    auto const left = job.out().substr(0, job.out().find('\n'));
    if (while_it_waits) {
      EXPECT_TRUE(eventually(
          [&] { return !redis.command({"SET", "job", "somebody else", "NX", "PX", "60000"}).is_nil(); }));
      EXPECT_TRUE(eventually([&] { return redis.keys("*queue*").size() == 1; }));
    }
    EXPECT_TRUE(std::filesystem::exists("/proc/" + left));
    process{{"touch", go}}.wait();
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists("/proc/" + left); })) << while_it_waits;
    std::filesystem::remove(go);
  }
}

/// The child of what an earlier turn has left comes to holdfast when its parent ends: a loss of the next turn
/// is nothing to it.
TEST_F(again, spares_also_the_children_of_what_earlier_turns_left_in_the_background) {
  auto const go = folder / "go";
  auto const child = folder / "child";
  auto job =
      start({"--again=always", "--ttl", "3s"},
            "[ -e " + child + " ] && exec sleep 60; (sleep 60 & echo $! > " + child + "; until [ -e " + go +
                " ]; do sleep 0.02; done) & echo $!; until [ -s " + child + " ]; do sleep 0.02; done");
  ASSERT_TRUE(turns(2)) << job.err();
  auto const parent = job.out().substr(0, job.out().find('\n'));
  process{{"touch", go}}.wait();
  ASSERT_TRUE(eventually([&] { return !is_alive(std::stoi(parent)); }));
  take_away();
  ASSERT_TRUE(turns(3)) << job.err();
  auto const work = std::stoi(content_of(child));
  EXPECT_TRUE(is_alive(work));
  kill(work, SIGKILL);
}

TEST_F(again, ends_with_a_signal_that_the_command_obeys_with_success) {
  auto job = start({"--again=always"}, "trap 'exit 0' TERM; echo ready; while :; do sleep 0.02; done");
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; }));
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 0);
}

TEST_F(again, waits_out_a_server_that_is_gone) {
  auto job = start({"--again", "--ttl", "2s", "--wait-server", "100ms"}, works_on);
  ASSERT_TRUE(turns(1));
  server.kill9();
  ASSERT_TRUE(eventually([&] { return job.err().find("again in") != std::string::npos; })) << job.err();
  server.start();
  EXPECT_TRUE(turns(2)) << job.err();
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
}

TEST_F(again, needs_a_first_turn) {
  EXPECT_EQ(holdfast_run("redis+unix:///nonexistent/redis.sock", {"--again=always", "--wait", "0"}, "job",
                         shell("exit 0"))
                .wait(),
            69);
}

}  // namespace
