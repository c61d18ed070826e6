#include "holdfast_command.hpp"
#include "support/independent_servers.hpp"

#include <gmock/gmock.h>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;

class run_quorum : public testing::Test {
 protected:
  process start(words const& options, words const& command) {
    return holdfast_run(masters.url(), options, "job", command);
  }

  independent_servers masters{3};
};

TEST_F(run_quorum, runs_the_command_under_a_majority_of_votes) {
  auto job = start({}, shell("test -n \"$HOLDFAST_TOKEN\""));
  EXPECT_EQ(job.wait(), 0) << job.err();
  for (auto const& master : masters) EXPECT_FALSE(master->raw().exists("job"));
}

TEST_F(run_quorum, works_with_a_minority_gone) {
  masters[1].kill9();
  auto job = start({}, {"true"});
  EXPECT_EQ(job.wait(), 0) << job.err();
}

TEST_F(run_quorum, runs_a_job_once_per_slot_whichever_minority_is_gone) {
  words const once{"--once-per", "3650d"};
  masters[0].kill9();
  auto first = start(once, shell("echo ran"));
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(first.out(), "ran\n");
  masters[0].start();  // without the record
  masters[1].kill9();
  auto next = start(once, shell("echo ran"));
  EXPECT_EQ(next.wait(), 0) << next.err();
  EXPECT_EQ(next.out(), "");
  EXPECT_THAT(next.err(), HasSubstr("s, exit 0); next in "));
}

TEST_F(run_quorum, does_not_run_a_job_once_per_slot_when_too_few_are_there) {
  masters[0].kill9();
  masters[2].kill9();
  auto job = start({"--once-per", "1h"}, {"true"});
  EXPECT_EQ(job.wait(), 69);
  EXPECT_THAT(job.err(), HasSubstr("and 2 are needed"));
}

TEST_F(run_quorum, says_which_servers_are_missing_when_too_few_are_there) {
  masters[0].kill9();
  masters[2].kill9();
  auto job = start({}, {"true"});
  EXPECT_EQ(job.wait(), 69);
  auto const message = job.err();
  EXPECT_THAT(message, HasSubstr("1 of 3 servers can be asked, and 2 are needed"));
  EXPECT_THAT(message, HasSubstr(masters[0].address()));
  EXPECT_THAT(message, HasSubstr(masters[2].address()));
}

TEST_F(run_quorum, refuses_what_servers_that_vote_dont_have) {
  for (auto const& options : {words{"--shared"}, words{"--slots", "2"}, words{"--fair"}}) {
    auto job = start(options, {"true"});
    EXPECT_EQ(job.wait(), 64);
    EXPECT_THAT(job.err(), HasSubstr("leave it out, or use redis://"));
  }
}

}  // namespace
