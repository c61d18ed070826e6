// The command on etcd.

#include "members.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

namespace holdfast::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

words command(std::string const& verb, words rest) {
  words all{HOLDFAST_CLI, verb, "--url", shared_etcd().url("cli")};
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

TEST(etcd_command, runs_under_a_lock) {
  process run{command("run", {"nightly", "--", "sh", "-c", "echo token $HOLDFAST_TOKEN"})};
  EXPECT_EQ(run.wait(), 0) << run.err();
  EXPECT_THAT(run.out(), HasSubstr("token "));
  EXPECT_THAT(shared_etcd().keys("cli/nightly/"), IsEmpty());
}

TEST(etcd_command, finds_a_lock_of_another_run_busy) {
  process first{command("run", {"busy", "--", "sleep", "30"})};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("cli/busy/").size() == 1; }));
  process second{command("run", {"--no-wait", "busy", "--", "true"})};
  EXPECT_EQ(second.wait(), 75) << second.err();
}

TEST(etcd_command, does_not_wait_for_the_lock_under_which_it_runs) {
  words inner{HOLDFAST_CLI, "run", "--url", shared_etcd().url("cli"), "outer", "--", "true"};
  words rest{"outer", "--"};
  rest.insert(rest.end(), inner.begin(), inner.end());
  process run{command("run", rest)};
  EXPECT_EQ(run.wait(), 75) << run.err();
  EXPECT_THAT(run.err(), HasSubstr("wait for yourself"));
}

TEST(etcd_command, refuses_what_is_not_there) {
  for (auto const& rest : {words{"--shared", "x", "--", "true"}, words{"--keep", "x", "--", "true"},
                           words{"--once-per", "1h", "x", "--", "true"}}) {
    process run{command("run", rest)};
    EXPECT_EQ(run.wait(), 64) << run.err();
    EXPECT_THAT(run.err(), HasSubstr("etcd"));
  }
  for (auto const& each : {words{"ls"}, words{"doctor"}, words{"inspect", "x"}, words{"acquire", "x"},
                           words{"release", "x", "--force"}, words{"leader", "x"}}) {
    process other{command(each[0], {each.begin() + 1, each.end()})};
    EXPECT_EQ(other.wait(), 64) << other.err();
    EXPECT_THAT(other.err(), HasSubstr("etcd"));
  }
}

}  // namespace
}  // namespace holdfast::test
