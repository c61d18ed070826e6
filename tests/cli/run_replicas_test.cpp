// `holdfast run --replicas` and `--fsynced`: a lock that counts only when replicas, or disks, have it too.
#include "holdfast_command.hpp"
#include "script/names.hpp"
#include "support/flaky_proxy.hpp"
#include "support/redis_server.hpp"
#include "support/rounds.hpp"
#include "support/sentinel_servers.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(run_replicas, holds_a_lock_that_replicas_have_too) {
  sentinel_servers servers{{.sentinels = 1}};
  auto const replica = servers.replica().socket_path();
  passes_in_one_round_of(5, [&] {  // the replicas must acknowledge it within a second
    auto run = holdfast_run(servers.master().url(), {"--replicas", "2", "--wait", "20s"}, "job",
                            shell("redis-cli -s " + replica + " exists job"));
    EXPECT_EQ(run.wait(), 0) << run.err();
    EXPECT_EQ(run.out(), "1\n");
  });
}

TEST(run_replicas, gives_a_lock_back_that_too_few_have) {
  redis_server const server;
  auto run = holdfast_run(server.url(), {"--replicas", "1"}, "job", {"echo", "it", "ran"});
  EXPECT_EQ(run.wait(), 69);
  EXPECT_THAT(run.out(), IsEmpty());
  EXPECT_THAT(run.err(), HasSubstr("0 of 1"));
  EXPECT_FALSE(server.raw().exists("job"));
}

TEST(run_replicas, runs_a_job_once_per_slot_only_when_they_know_of_the_run) {
  sentinel_servers servers{{.sentinels = 1}};
  auto const look = "redis-cli -s " + servers.replica().socket_path() + " exists '" +
                    holdfast::names::last_run("job") + "'";
  passes_in_one_round_of(5, [&] {  // the replicas must acknowledge it within a second
    servers.master().raw().del(holdfast::names::last_run("job"));
    auto run =
        holdfast_run(servers.master().url(), {"--replicas", "2", "--once-per", "3650d"}, "job", shell(look));
    EXPECT_EQ(run.wait(), 0) << run.err();
    EXPECT_EQ(run.out(), "1\n");
  });
}

TEST(run_replicas, takes_back_a_run_that_too_few_know_of) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  auto const answered = std::make_shared<std::atomic<int>>(0);
  proxy.decide([answered](request const& r) {
    if (r.name != "WAIT") return fate::pass();
    return fate::answer(++*answered == 1 ? ":1\r\n" : ":0\r\n");  // of the lock, and of the run
  });
  words const options{"--replicas", "1", "--once-per", "3650d"};
  auto run = holdfast_run(proxy.url(), options, "job", {"echo", "it", "ran"});
  EXPECT_EQ(run.wait(), 69);
  EXPECT_THAT(run.out(), IsEmpty());
  EXPECT_THAT(run.err(), HasSubstr("acknowledged by 0 of 1 replicas"));
  EXPECT_FALSE(server.raw().exists("job"));
  auto next = holdfast_run(server.url(), {"--once-per", "3650d"}, "job", {"echo", "it", "ran"});
  EXPECT_EQ(next.wait(), 0);
  EXPECT_EQ(next.out(), "it ran\n");
}

// Not every tested server knows WAITAOF, so the proxy replies.
TEST(run_replicas, asks_for_disks_too) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  auto const disks = [&](std::string const& words) {
    proxy.decide(
        [words](request const& r) { return r.name == "WAITAOF" ? fate::answer(words) : fate::pass(); });
  };
  disks("*2\r\n:1\r\n:0\r\n");
  auto run = holdfast_run(proxy.url(), {"--fsynced"}, "job", {"echo", "it", "ran"});
  EXPECT_EQ(run.wait(), 0) << run.err();
  EXPECT_EQ(run.out(), "it ran\n");
  disks("*2\r\n:0\r\n:0\r\n");
  auto refused = holdfast_run(proxy.url(), {"--fsynced"}, "job", {"echo", "it", "ran"});
  EXPECT_EQ(refused.wait(), 69);
  EXPECT_THAT(refused.out(), IsEmpty());
  EXPECT_THAT(refused.err(), HasSubstr("not on the server's disk"));
  EXPECT_FALSE(server.raw().exists("job"));
}

}  // namespace
