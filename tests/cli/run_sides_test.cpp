// `holdfast run` as a reader, as a writer, in one of some slots, and on Redisson's wire.
#include "objects_of_java.hpp"

#include <signal.h>

#include <filesystem>
#include <iterator>

namespace {

using namespace holdfast::test;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace of_redisson = holdfast::names::redisson;

class run_sides : public objects_of_java {
 protected:
  /// A command that holds its lock for a minute.
  [[nodiscard]] process holding(words const& options, std::string const& name = "prices") const {
    return holdfast_run(server.url(), options, name, {"sleep", "60"});
  }
  [[nodiscard]] process brief(words const& options, std::string const& script = "exit 7") const {
    return holdfast_run(server.url(), options, "prices", shell(script));
  }
  bool has_holders(std::int64_t count) {
    return eventually([&] { return inspected("prices").at("holding") == count; });
  }
};

TEST_F(run_sides, lets_readers_run_together_and_a_writer_alone) {
  auto first = holding({"--shared"});
  auto second = holding({"--shared"});
  ASSERT_TRUE(has_holders(2));
  auto reader = brief({"--shared", "--no-wait"});
  EXPECT_EQ(reader.wait(), 7);
  auto writer = brief({"--exclusive", "--no-wait"});
  EXPECT_EQ(writer.wait(), 75);
  EXPECT_THAT(writer.err(), HasSubstr("lock \"prices\" on"));
  for (auto* const job : {&first, &second}) {
    job->signal(SIGTERM);
    EXPECT_EQ(job->wait(), 128 + SIGTERM);
  }
  EXPECT_FALSE(redis.exists("prices"));
  auto alone = holding({"--exclusive"});
  ASSERT_TRUE(has_holders(1));
  EXPECT_EQ(brief({"--shared", "--no-wait"}).wait(), 75);
}

TEST_F(run_sides, lets_no_reader_run_beside_a_command_without_a_side_nor_the_reverse) {
  auto reader = holding({"--shared"});
  ASSERT_TRUE(has_holders(1));
  EXPECT_EQ(brief({"--no-wait"}).wait(), 75);
  auto waiter = brief({});
  ASSERT_TRUE(eventually([&] { return inspected("prices").at("waiting") == 1; }));
  EXPECT_EQ(brief({"--shared", "--no-wait"}).wait(), 75) << "one that would write waits";
  reader.signal(SIGTERM);
  EXPECT_EQ(waiter.wait(), 7);
  auto alone = holding({});
  ASSERT_TRUE(has_holders(1));
  EXPECT_EQ(brief({"--shared", "--no-wait"}).wait(), 75);
}

TEST_F(run_sides, are_shown_as_they_hold_and_wait) {
  auto reader = holding({"--shared"});
  ASSERT_TRUE(has_holders(1));
  auto writer = holding({"--label", "writer"});
  ASSERT_TRUE(eventually([&] { return inspected("prices").at("waiting") == 1; }));
  auto late = holding({"--shared", "--label", "late"});
  ASSERT_TRUE(eventually([&] { return inspected("prices").at("waiting") == 2; }));
  auto const report = inspected("prices");
  EXPECT_EQ(report.at("kind"), "read_write");
  EXPECT_EQ(report.at("wire"), "plain");
  EXPECT_EQ(report.at("holders")[0].at("side"), "read");
  EXPECT_EQ(report.at("queue")[0].at("side"), "exclusive");
  EXPECT_EQ(report.at("queue")[1].at("side"), "read");
  auto page = start({"inspect", "prices"});
  EXPECT_EQ(page.wait(), 0);
  EXPECT_THAT(page.out(), AllOf(HasSubstr("readers only"), testing::ContainsRegex("'writer'\n"),
                                HasSubstr("'late', to read")));
}

TEST_F(run_sides, waits_for_java_and_is_waited_for) {
  write("prices", java);
  auto reader = holding({"--shared", "--wire", "redisson"});
  ASSERT_TRUE(eventually([&] { return inspected("prices").at("waiting") == 1; }));
  redis.del("prices");
  redis.command({"PUBLISH", of_redisson::rw_channel("prices"), "1"});
  ASSERT_TRUE(eventually([&] { return inspected("prices").at("holding") == 1; }));
  EXPECT_EQ(redis.command({"HGET", "prices", "mode"}).text, "read");
}

TEST_F(run_sides, gives_the_command_no_token_where_there_is_none) {
  auto const script = "echo \"$HOLDFAST_NAME ${HOLDFAST_TOKEN-none} $HOLDFAST_OWNER\"";
  auto reader = brief({"--shared"}, script);
  EXPECT_EQ(reader.wait(), 0);
  EXPECT_THAT(reader.out(), testing::MatchesRegex("prices [0-9]+ [0-9a-f-]{36}:[0-9]+:r\n"));
  auto of_redisson = brief({"--shared", "--wire", "redisson"}, script);
  EXPECT_EQ(of_redisson.wait(), 0);
  EXPECT_THAT(of_redisson.out(), testing::MatchesRegex("prices none [0-9a-f-]{36}:[0-9]+\n"));
  auto slot = brief({"--slots", "1"}, script);
  EXPECT_EQ(slot.wait(), 0);
  EXPECT_THAT(slot.out(), testing::MatchesRegex("prices [0-9]+ [0-9a-f-]{36}:[0-9]+\n"));
  redis.command({"FLUSHALL"});
  auto slot_of_redisson = brief({"--slots", "1", "--wire", "redisson"}, script);
  EXPECT_EQ(slot_of_redisson.wait(), 0);
  EXPECT_THAT(slot_of_redisson.out(), testing::MatchesRegex("prices none [0-9a-f]{32}\n"));
}

TEST_F(run_sides, runs_in_as_many_slots_as_there_are) {
  auto first = holding({"--slots", "2"});
  auto second = holding({"--slots", "2"});
  ASSERT_TRUE(has_holders(2));
  auto third = brief({"--slots", "2", "--no-wait"});
  EXPECT_EQ(third.wait(), 75);
  EXPECT_THAT(third.err(), AllOf(HasSubstr("slot of \"prices\" on"), HasSubstr("all 2 slots are taken by "),
                                 HasSubstr(" and another one")));
  auto waiter = brief({"--slots", "2"});
  ASSERT_TRUE(eventually([&] { return inspected("prices").at("waiting") == 1; }));
  first.signal(SIGTERM);
  EXPECT_EQ(waiter.wait(), 7);
  EXPECT_EQ(waiter.err(), "");
}

TEST_F(run_sides, waits_no_longer_for_a_slot_that_the_server_has_forgotten) {
  auto job = holding({"--slots", "1", "--ttl", "5m"});
  ASSERT_TRUE(has_holders(1));
  auto waiter = brief({"--slots", "1"});
  ASSERT_TRUE(eventually([&] { return inspected("prices").at("waiting") == 1; }));
  redis.command({"FLUSHALL"});
  EXPECT_EQ(waiter.wait(), 7);
}

TEST_F(run_sides, refuses_another_number_of_slots_unless_it_is_to_be_set) {
  EXPECT_EQ(brief({"--slots", "3"}).wait(), 7);
  auto more = brief({"--slots", "5"});
  EXPECT_EQ(more.wait(), 65);
  EXPECT_THAT(more.err(), testing::AllOf(testing::HasSubstr("slots of \"prices\" are 3, not 5"),
                                         testing::HasSubstr("--set-slots")));
  EXPECT_EQ(redis.get("{prices}:holdfast_permits"), "3");
  auto set = brief({"--slots", "5", "--set-slots"});
  EXPECT_EQ(set.wait(), 7);
  EXPECT_EQ(set.err(), "holdfast: slots of \"prices\" changed from 3 to 5\n");
  EXPECT_EQ(redis.get("{prices}:holdfast_permits"), "5");
  EXPECT_EQ(brief({"--slots", "5"}).err(), "");
}

TEST_F(run_sides, ends_at_once_by_a_signal_while_the_server_is_silent) {
  server.freeze();
  auto job = brief({"--slots", "2"});
  auto const threads = "/proc/" + std::to_string(job.pid()) + "/task";
  ASSERT_TRUE(eventually([&] { return std::distance(std::filesystem::directory_iterator{threads}, {}) > 1; }))
      << "the client's thread has begun";
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
  EXPECT_EQ(job.err(), "");
  server.thaw();
}

TEST_F(run_sides, ends_the_command_when_its_side_or_slot_is_taken_by_force) {
  for (words const& options : {words{"--shared"}, words{"--exclusive"}, words{"--slots", "1"}}) {
    words all{"--ttl", "6s"};
    all.insert(all.end(), options.begin(), options.end());
    auto job = holding(all);
    ASSERT_TRUE(has_holders(1));
    auto command = start({"release", "--force", "--yes", "--grace", "60s", "prices"});
    EXPECT_EQ(command.wait(), 0) << command.err();
    EXPECT_EQ(job.wait(), 79) << options.front() << job.err();
    redis.command({"FLUSHALL"});
  }
}

TEST_F(run_sides, locks_as_java_does_on_its_wire) {
  for (words const& options :
       {words{"--wire", "redisson"}, words{"--url", server.url() + "?wire=redisson"}}) {
    auto job = holding(options);
    ASSERT_TRUE(eventually([&] { return inspected("prices").at("kind") == "reentrant"; }));
    words no_wait{"--no-wait"};
    no_wait.insert(no_wait.end(), options.begin(), options.end());
    EXPECT_EQ(brief(no_wait).wait(), 75);
    job.signal(SIGTERM);
    EXPECT_EQ(job.wait(), 128 + SIGTERM);
    EXPECT_FALSE(redis.exists("prices"));
  }
}

TEST_F(run_sides, says_what_else_the_key_holds) {
  lock("prices");
  for (words const& options : {words{"--shared"}, words{"--exclusive"}, words{"--slots", "1"}, words{}}) {
    auto job = brief(options);
    EXPECT_EQ(job.wait(), 65) << job.err();
    EXPECT_THAT(job.err(), AllOf(HasSubstr("the key \"prices\" holds"), Not(HasSubstr("\n\n"))));
  }
}

}  // namespace
