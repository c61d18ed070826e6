// `holdfast run --once-per` and the like at servers that answer late, otherwise than before, or not at all.
#include "holdfast_command.hpp"
#include "script/names.hpp"
#include "scripts/run.hpp"
#include "support/eventually.hpp"
#include "support/flaky_proxy.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <signal.h>

#include <atomic>
#include <filesystem>
#include <string>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;
using testing::Not;

words const yearly{"--once-per", "3650d"};  ///< a slot that doesn't end during a test

std::string const look_sha{holdfast::scripts::run::look::source.sha1};
std::string const note_sha{holdfast::scripts::run::note::source.sha1};

class once_per_fault : public testing::Test {
 protected:
  /// The exit code that the record has; empty: the run has no end there.
  std::string noted_exit() {
    return server.raw().command({"HGET", holdfast::names::last_run("job"), "exit"}).text;
  }

  temporary_folder const folder;
  redis_server server;
  flaky_proxy proxy{server.socket_path()};
};

// Answers that contradict each other came from slots that were computed differently each time.
TEST_F(once_per_fault, does_not_go_on_asking_when_the_job_is_due_only_without_the_lock) {
  std::atomic<int> looks = 0;
  auto const decision = proxy.decide_by([&looks](request const& r) {
    if (!r.has(look_sha)) return fate::pass();
    std::string const done =
        "*10\r\n$5\r\nowner\r\n$3\r\na:1\r\n$5\r\nbegan\r\n$16\r\n1780000000000000\r\n$5\r\nuntil\r\n"
        "$16\r\n1999999999999999\r\n$7\r\ntook_ms\r\n$1\r\n1\r\n$4\r\nexit\r\n$1\r\n0\r\n";
    return fate::answer("*3\r\n:1790000000000000\r\n:0\r\n" + (++looks % 2 == 1 ? "*0\r\n" : done));
  });
  auto job = holdfast_run(proxy.url(), yearly, "job", {"echo", "ran"});
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(job.out(), "");
  EXPECT_THAT(job.err(), HasSubstr("exit 0); next in "));
  EXPECT_EQ(looks, 2);
}

TEST_F(once_per_fault, does_not_start_a_job_whose_lock_was_lost_before_and_leaves_it_to_others) {
  std::atomic<pid_t> to_stop = 0;
  auto const decision = proxy.decide_by([&to_stop](request const& r) {
    if (auto const id = r.has(note_sha) ? to_stop.exchange(0) : 0; id != 0) kill(id, SIGSTOP);
    return fate::pass();
  });
  server.raw().command({"SCRIPT", "LOAD", std::string{holdfast::scripts::run::note::source.text}});
  server.raw().command({"SET", "job", "somebody", "PX", "60000"});
  words options = yearly;
  options.insert(options.end(), {"--wait", "60s", "--ttl", "1s"});
  auto job = holdfast_run(proxy.url(), options, "job", {"touch", folder / "ran"});
  to_stop = job.pid();
  server.raw().del("job");
  ASSERT_TRUE(eventually([&] { return to_stop == 0; })) << "the job is stopped when it was about to start";
  ASSERT_TRUE(eventually([&] { return !server.raw().exists("job"); }));
  job.signal(SIGCONT);
  EXPECT_EQ(job.wait(), 79);
  EXPECT_THAT(job.err(), HasSubstr("was lost before the command was started; it was not started"));
  EXPECT_FALSE(std::filesystem::exists(folder / "ran"));
  auto next = holdfast_run(server.url(), yearly, "job", {"echo", "ran"});
  EXPECT_EQ(next.wait(), 0);
  EXPECT_EQ(next.out(), "ran\n") << next.err();
}

TEST_F(once_per_fault, notes_the_end_when_the_server_is_ready_again) {
  std::atomic<int> notes = 0;
  auto const decision = proxy.decide_by([&notes](request const& r) {
    if (!r.has(note_sha)) return fate::pass();
    auto const number = ++notes;  // the first is of the beginning
    return number >= 2 && number <= 4 ? fate::error("BUSY Redis is busy running a script") : fate::pass();
  });
  auto job = holdfast_run(proxy.url(), yearly, "job", {"echo", "ran"});
  EXPECT_EQ(job.wait(), 0) << job.err();
  EXPECT_EQ(noted_exit(), "0");
  EXPECT_FALSE(server.raw().exists("job"));
}

TEST_F(once_per_fault, notes_the_end_at_maxmemory) {
  words options = yearly;
  options.emplace_back("--retry-failed");
  auto const go = folder / "go";
  auto job = holdfast_run(server.url(), options, "job",
                          shell("echo ready; until [ -e " + go + " ]; do sleep 0.05; done"));
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  server.raw().command({"CONFIG", "SET", "maxmemory", "1"});
  process{{"touch", go}}.wait();
  EXPECT_EQ(job.wait(), 0);
  EXPECT_EQ(job.err(), "");
  EXPECT_EQ(noted_exit(), "0");
  EXPECT_FALSE(server.raw().exists("job"));
  server.raw().command({"CONFIG", "SET", "maxmemory", "0"});
  auto next = holdfast_run(server.url(), options, "job", {"echo", "ran"});
  EXPECT_EQ(next.wait(), 0);
  EXPECT_EQ(next.out(), "");
}

// It is away for longer than one request waits for a connection.
TEST_F(once_per_fault, notes_the_end_when_the_server_is_back) {
  temporary_folder const folder;
  auto const go = folder / "go";
  auto job = holdfast_run(proxy.url(), yearly, "job",
                          shell("echo ready; until [ -e " + go + " ]; do sleep 0.05; done"));
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  proxy.refuse_connections(true);
  proxy.cut_all();
  process{{"touch", go}}.wait();
  EXPECT_TRUE(eventually([&] { return job.err().find("its end is not noted yet") != std::string::npos; }));
  EXPECT_TRUE(server.raw().exists("job"));
  proxy.refuse_connections(false);
  EXPECT_EQ(job.wait(), 0) << job.err();
  EXPECT_EQ(noted_exit(), "0");
  EXPECT_FALSE(server.raw().exists("job"));
}

TEST_F(once_per_fault, is_no_loss_of_the_lock_when_the_server_was_silent_until_its_ttl_was_over) {
  for (words options : {yearly, {"--keep"}, {}}) {
    server.raw().command({"FLUSHALL"});
    options.insert(options.end(), {"--ttl", "2s"});
    auto const go = folder / "go";
    auto job = holdfast_run(proxy.url(), options, "job",
                            shell("echo ready; until [ -e " + go + " ]; do sleep 0.05; done"));
    ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
    proxy.freeze();
    process{{"touch", go}}.wait();
    EXPECT_TRUE(eventually([&] { return !server.raw().exists("job"); }));
    proxy.thaw();
    EXPECT_EQ(job.wait(), 0);
    EXPECT_THAT(job.err(), Not(HasSubstr("was lost")));
    process{{"rm", go}}.wait();
  }
}

}  // namespace
