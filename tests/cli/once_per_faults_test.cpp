// `holdfast run --once-per` and the like at servers that answer late, otherwise than before, or not at all.
#include "holdfast_command.hpp"
#include "script/names.hpp"
#include "scripts/run.hpp"
#include "support/eventually.hpp"
#include "support/flaky_proxy.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <string>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;

words const yearly{"--once-per", "3650d"};  ///< a slot that doesn't end during a test

std::string const look_sha{holdfast::scripts::run::look::source.sha1};
std::string const note_sha{holdfast::scripts::run::note::source.sha1};

class once_per_fault : public testing::Test {
 protected:
  /// The exit code that the record has; empty: the run has no end there.
  std::string noted_exit() {
    return server.raw().command({"HGET", holdfast::names::last_run("job"), "exit"}).text;
  }

  redis_server server;
  flaky_proxy proxy{server.socket_path()};
};

// Answers that contradict each other came from slots that were computed differently each time.
TEST_F(once_per_fault, does_not_go_on_asking_when_the_job_is_due_only_without_the_lock) {
  std::atomic<int> looks = 0;
  proxy.decide([&looks](request const& r) {
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

TEST_F(once_per_fault, notes_the_end_when_the_server_is_ready_again) {
  std::atomic<int> notes = 0;
  proxy.decide([&notes](request const& r) {
    if (!r.has(note_sha)) return fate::pass();
    auto const number = ++notes;  // the first is of the beginning
    return number >= 2 && number <= 4 ? fate::error("BUSY Redis is busy running a script") : fate::pass();
  });
  auto job = holdfast_run(proxy.url(), yearly, "job", {"echo", "ran"});
  EXPECT_EQ(job.wait(), 0) << job.err();
  EXPECT_EQ(noted_exit(), "0");
  EXPECT_FALSE(server.raw().exists("job"));
}

// It is away for longer than one request waits for a connection.
TEST_F(once_per_fault, notes_the_end_when_the_server_is_back) {
  temporary_folder const folder;
  auto const go = folder / "go";
  words options = yearly;
  options.emplace_back("--verbose");
  auto job = holdfast_run(proxy.url(), options, "job",
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

}  // namespace
