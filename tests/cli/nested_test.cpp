// A `holdfast` in the command of another one.
#include "holdfast_command.hpp"
#include "support/independent_servers.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <string>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;

class nested : public testing::Test {
 protected:
  /// `holdfast run OUTER job -- holdfast run INNER job -- true`
  static process start(std::string const& url, words const& outer, words const& inner) {
    words command{HOLDFAST_CLI, "run"};
    command.insert(command.end(), inner.begin(), inner.end());
    command.insert(command.end(), {"job", "--", "true"});
    return holdfast_run(url, outer, "job", command);
  }
  static void expect_refused(process run) {
    EXPECT_EQ(run.wait(), 75) << run.err();
    EXPECT_THAT(run.err(), HasSubstr("you hold it"));
  }
  static void expect_run(process run) { EXPECT_EQ(run.wait(), 0) << run.err(); }

  redis_server const server;
};

TEST_F(nested, run_of_the_same_lock_is_refused_at_once_instead_of_waiting_for_itself) {
  expect_refused(start(server.url(), {}, {}));
  expect_refused(start(server.url(), {"--fair"}, {"--wait", "1h"}));
  expect_refused(start(server.url(), {"--wire", "redisson"}, {"--wire", "redisson"}));
  expect_refused(start(server.url(), {}, {"--once-per", "day"}));
}

TEST_F(nested, readers_run_together_and_writers_do_not) {
  expect_run(start(server.url(), {"--shared"}, {"--shared"}));
  expect_refused(start(server.url(), {"--shared"}, {"--exclusive"}));
  expect_refused(start(server.url(), {"--exclusive"}, {"--shared"}));
  expect_refused(start(server.url(), {"--exclusive"}, {"--exclusive"}));
}

TEST_F(nested, slots_are_refused_when_there_is_only_one) {
  expect_run(start(server.url(), {"--slots", "2"}, {"--slots", "2"}));
  server.raw().command({"FLUSHALL"});
  expect_refused(start(server.url(), {"--slots", "1"}, {"--slots", "1"}));
}

TEST_F(nested, run_of_a_lock_further_out_is_refused_too) {
  words const inner{HOLDFAST_CLI, "run", "job", "--", "true"};
  words deep{HOLDFAST_CLI, "run", "between", "--"};
  deep.insert(deep.end(), inner.begin(), inner.end());
  expect_refused(holdfast_run(server.url(), {}, "job", deep));
  words deeper{HOLDFAST_CLI, "run", "other names", "--"};
  deeper.insert(deeper.end(), deep.begin(), deep.end());
  expect_refused(holdfast_run(server.url(), {}, "job", deeper));
}

TEST_F(nested, slots_are_refused_when_outer_ones_have_them_all) {
  words const one{HOLDFAST_CLI, "run", "--slots", "2", "job", "--"};
  words two = one;
  two.insert(two.end(), {HOLDFAST_CLI, "run", "--slots", "2", "job", "--", "true"});
  expect_refused(holdfast_run(server.url(), {"--slots", "2"}, "job", two));
}

TEST_F(nested, run_without_tokens_does_not_hand_on_the_token_of_an_outer_lock) {
  auto run =
      holdfast_run(server.url(), {}, "outer",
                   {HOLDFAST_CLI, "run", "--wire", "redisson", "inner", "-c", "echo ${HOLDFAST_TOKEN-none}"});
  EXPECT_EQ(run.wait(), 0) << run.err();
  EXPECT_EQ(run.out(), "none\n");
}

TEST_F(nested, run_of_the_same_name_on_another_server_is_another_lock) {
  redis_server const other;
  expect_run(start(server.url(), {}, {"--url", other.url()}));
}

TEST_F(nested, run_after_the_end_of_the_outer_one_is_free) {
  auto first = holdfast_run(server.url(), {}, "job", shell("echo \"$HOLDFAST_OWNER\""));
  EXPECT_EQ(first.wait(), 0);
  auto owner = first.out();
  owner.pop_back();
  auto later =
      holdfast_command({"run", "job", "--", "true"},
                       {{"HOLDFAST_URL", server.url()}, {"HOLDFAST_NAME", "job"}, {"HOLDFAST_OWNER", owner}});
  expect_run(std::move(later));
}

TEST(nested_on_a_quorum, run_of_the_same_lock_is_refused) {
  independent_servers const servers{3};
  for (std::string const wire : {"plain", "redisson"}) {
    auto run = holdfast_run(servers.url(), {"--wire", wire}, "job",
                            {HOLDFAST_CLI, "run", "--wire", wire, "job", "--", "true"});
    EXPECT_EQ(run.wait(), 75) << run.err();
    EXPECT_THAT(run.err(), HasSubstr("you hold it"));
  }
}

}  // namespace
