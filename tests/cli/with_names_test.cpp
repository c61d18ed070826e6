// `holdfast run NAME --with …`: several names, all or none, each in its own way.
#include "objects_of_java.hpp"
#include "support/leftovers.hpp"

#include <signal.h>

#include <fstream>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;

class run_with : public objects_of_java {
 protected:
  [[nodiscard]] process brief(words const& options, std::string const& name) const {
    return holdfast_run(server.url(), options, name, shell("exit 7"));
  }
  /// `account` to write, `rates` to read, one of two slots of `api`; until the process is told to end.
  [[nodiscard]] process all_three(words const& more = {}, std::string const& script = "exec sleep 60") const {
    words options{"--with-shared", "rates", "--with-slots", "2:api"};
    options.insert(options.end(), more.begin(), more.end());
    return holdfast_run(server.url(), options, "account", shell("echo ready; " + script));
  }
  static bool has_begun(process& job) {
    return eventually([&] { return job.out().starts_with("ready\n"); });
  }
  bool is_free() {
    return nothing_left_behind([&] {
      auto left = leftover_keys(redis);
      // Their number stays, and for a while the note that it was set.
      std::erase_if(left, [](std::string const& key) {
        return key == "{api}:holdfast_permits" || key.starts_with("{api}:holdfast_done:");
      });
      return left;
    });
  }
};

TEST_F(run_with, holds_each_name_as_a_run_of_that_name_alone_does) {
  auto job = all_three();
  ASSERT_TRUE(has_begun(job)) << job.err();
  EXPECT_EQ(inspected("account").at("holding"), 1);
  EXPECT_EQ(inspected("rates").at("holders")[0].at("side"), "read");
  EXPECT_EQ(inspected("api").at("holding"), 1);
  EXPECT_EQ(inspected("api").at("permits"), 2);
  EXPECT_EQ(brief({"--no-wait"}, "account").wait(), 75);
  EXPECT_EQ(brief({"--no-wait"}, "rates").wait(), 75);
  EXPECT_EQ(brief({"--no-wait", "--shared"}, "rates").wait(), 7);
  EXPECT_EQ(brief({"--no-wait", "--slots", "2", "--with-shared", "rates"}, "api").wait(), 7);
  auto busy = brief({"--no-wait", "--with", "account", "--with", "free too"}, "free");
  EXPECT_EQ(busy.wait(), 75);
  EXPECT_THAT(busy.err(), AllOf(HasSubstr(R"(lock "free" with "account" and "free too" on )"),
                                HasSubstr("is busy: held ")));
  EXPECT_FALSE(redis.exists("free"));
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM) << job.err();
  EXPECT_TRUE(is_free());
}

TEST_F(run_with, waits_for_the_last_of_its_names) {
  auto writer = holdfast_run(server.url(), {"--exclusive"}, "rates", shell("echo ready; exec sleep 60"));
  ASSERT_TRUE(has_begun(writer));
  auto job = all_three({}, "exit 7");
  ASSERT_TRUE(eventually([&] { return inspected("rates").at("waiting") == 1; })) << job.err();
  writer.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 7) << job.err();
  EXPECT_TRUE(is_free());
}

TEST_F(run_with, refuses_another_number_of_slots_than_others_gave) {
  EXPECT_EQ(brief({"--slots", "3"}, "api").wait(), 7);
  auto other = all_three();
  EXPECT_EQ(other.wait(), 65);
  EXPECT_THAT(other.err(), HasSubstr("slots of \"api\" are 3, not 2"));
  EXPECT_EQ(all_three({"--set-slots"}, "exit 7").wait(), 7);
}

TEST_F(run_with, tells_the_command_of_all_its_locks) {
  auto job = all_three({}, R"(env | grep '^HOLDFAST_[NOT]' | sort)");
  EXPECT_EQ(job.wait(), 0) << job.err();
  EXPECT_THAT(job.out(), testing::MatchesRegex("ready\n"
                                               "HOLDFAST_NAME=account\n"
                                               "HOLDFAST_OUTER_1=([0-9a-f-]+:[0-9]+):r rates\n"
                                               "HOLDFAST_OUTER_2=[0-9a-f-]+:[0-9]+ api\n"
                                               "HOLDFAST_OWNER=[0-9a-f-]+:[0-9]+\n"
                                               "HOLDFAST_TOKEN=[0-9]+\n"));
  for (std::string const inner : {"account", "--with rates more", "--slots 1 --set-slots api"}) {
    auto nested = all_three({}, HOLDFAST_CLI " run " + inner + " -- true");
    EXPECT_EQ(nested.wait(), 75) << inner << nested.err();
    EXPECT_THAT(nested.err(), HasSubstr("you hold it"));
  }
  EXPECT_EQ(all_three({}, HOLDFAST_CLI " run --with-shared rates --slots 2 api -- true").wait(), 0);
}

TEST_F(run_with, ends_the_command_when_one_of_its_names_is_lost) {
  for (std::string const name : {"account", "rates", "api"}) {
    auto job = all_three();
    ASSERT_TRUE(has_begun(job)) << job.err();
    auto release = start({"release", "--force", "--yes", "--grace", "60s", name});
    EXPECT_EQ(release.wait(), 0) << release.err();
    EXPECT_EQ(job.wait(), 79) << name << job.err();
    EXPECT_THAT(job.err(), HasSubstr(R"(lock "account" with "rates" and "api" lost)"));
    EXPECT_TRUE(is_free());
  }
}

TEST_F(run_with, has_all_names_given_back_when_holdfast_is_killed) {
  auto job = all_three({"--ttl", "1h"});
  ASSERT_TRUE(has_begun(job)) << job.err();
  job.signal(SIGKILL);
  EXPECT_EQ(job.wait(), 128 + SIGKILL);
  EXPECT_TRUE(is_free());
}

TEST_F(run_with, keeps_all_names_that_are_to_be_kept) {
  EXPECT_EQ(brief({"--keep", "--ttl", "1h", "--with", "rates"}, "account").wait(), 7);
  EXPECT_EQ(brief({"--no-wait"}, "account").wait(), 75);
  EXPECT_EQ(brief({"--no-wait"}, "rates").wait(), 75);
}

TEST_F(run_with, runs_a_job_once_in_each_slot_of_the_clock) {
  EXPECT_EQ(brief({"--once-per", "month", "--with-shared", "rates"}, "account").wait(), 7);
  auto again = brief({"--once-per", "month", "--with-shared", "rates"}, "account");
  EXPECT_EQ(again.wait(), 0);
  EXPECT_THAT(again.err(), HasSubstr("\"account\" ran "));
}

TEST_F(run_with, takes_part_in_circles_by_each_of_its_names) {
  temporary_folder const folder;
  auto const nested = [&](words const& outer, std::string const& name, std::string const& inner) {
    return holdfast_run(
        server.url(), outer, name,
        shell("until [ -e " + (folder / "begin") +
              " ]; do sleep 0.05; done; exec " HOLDFAST_CLI " run --detect-deadlock " + inner + " -- true"));
  };
  auto one = nested({}, "a", "b");
  auto other = nested({"--with", "b"}, "c", "d --with a");
  ASSERT_TRUE(eventually([&] { return redis.exists("a") && redis.exists("b"); }));
  std::ofstream{folder / "begin"};
  // Which one began last is chance.
  auto const codes = std::pair{one.wait(), other.wait()};
  EXPECT_THAT(codes, testing::AnyOf(testing::Pair(0, 75), testing::Pair(75, 0))) << one.err() << other.err();
  EXPECT_THAT(one.err() + other.err(), HasSubstr("deadlock: "));
}

}  // namespace
