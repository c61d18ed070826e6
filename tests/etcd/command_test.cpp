// The command on etcd.

#include "members.hpp"
#include "support/eventually.hpp"
#include "support/line_process.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <csignal>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
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

TEST(etcd_command, lists_and_inspects_locks_as_on_redis) {
  process run{command("run", {"--label", "import 7", "listed", "--", "sleep", "60"})};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("cli/listed/").size() == 1; }));
  process list{command("ls", {"list*"})};
  EXPECT_EQ(list.wait(), 0) << list.err();
  EXPECT_THAT(list.out(),
              AllOf(HasSubstr("WAITING"), ContainsRegex("listed +exclusive +[^ ]+:[0-9]+ +import 7"),
                    HasSubstr("etcd\n")));
  process names{command("ls", {"--names"})};
  EXPECT_EQ(names.wait(), 0) << names.err();
  EXPECT_THAT(names.out(), HasSubstr("listed\n"));
  process waiter{command("run", {"listed", "--", "true"})};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("cli/listed/").size() == 2; }));
  process page{command("inspect", {"listed"})};
  EXPECT_EQ(page.wait(), 0) << page.err();
  EXPECT_THAT(page.out(),
              AllOf(ContainsRegex("wire +etcd"), ContainsRegex("label +import 7"),
                    ContainsRegex("lease +[0-9a-f]+"), ContainsRegex("waiting +1"),
                    ContainsRegex("1[.] .* pid [0-9]+ .*, token [0-9]+, lease [0-9a-f]+, dead in")));
  process object{command("inspect", {"--json", "listed"})};
  EXPECT_EQ(object.wait(), 0) << object.err();
  EXPECT_THAT(object.out(),
              AllOf(HasSubstr(R"("kind":"exclusive","type":"key")"), HasSubstr(R"("wire":"etcd")"),
                    ContainsRegex(R"re("ttl_ms":[0-9]+,"lease":"[0-9a-f]+","token":[0-9]+\}\])re"),
                    ContainsRegex(R"re("queue":\[\{.*"lease":"[0-9a-f]+","token":[0-9]+\}\])re")));
  process free{command("inspect", {"nobody"})};
  EXPECT_EQ(free.wait(), 1) << free.err();
  EXPECT_THAT(free.out(), HasSubstr("free: nobody holds it"));
}

TEST(etcd_command, takes_a_lock_by_force_from_a_run_that_is_asked) {
  process run{command("run", {"forced", "--", "sleep", "60"})};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("cli/forced/").size() == 1; }));
  process release{command("release", {"--force", "--yes", "--grace", "20s", "--json", "forced"})};
  EXPECT_EQ(release.wait(), 0) << release.err();
  EXPECT_THAT(release.out(), HasSubstr(R"("result":"released_by_holder")"));
  EXPECT_EQ(run.wait(), 79) << run.err();
  process again{command("release", {"--force", "--yes", "--json", "forced"})};
  EXPECT_EQ(again.wait(), 0) << again.err();
  EXPECT_THAT(again.out(), HasSubstr(R"("result":"not_held")"));
}

TEST(etcd_command, leaves_keys_of_others_alone_when_it_releases_by_force) {
  shared_etcd().ctl({"put", "cli/settings/size", "7"});
  process other{command("release", {"--force", "--yes", "--foreign", "settings"})};
  EXPECT_EQ(other.wait(), 65) << other.err();
  EXPECT_THAT(other.err(), HasSubstr("cli/settings/size"));
  EXPECT_EQ(shared_etcd().keys("cli/settings/").size(), 1);
  shared_etcd().ctl({"del", "cli/settings/size"});
}

TEST(etcd_command, watches_a_lock) {
  words all{"/usr/bin/env"};
  for (auto const& each : command("watch", {"watched", "--interval", "20ms"})) all.push_back(each);
  line_process watch{all};
  EXPECT_THAT(watch.read_line(), HasSubstr("free"));
  process run{command("run", {"watched", "--", "sleep", "60"})};
  EXPECT_THAT(watch.read_line(), HasSubstr("acquired by"));
  run.signal(SIGTERM);
  (void)run.wait();
  EXPECT_THAT(watch.read_line(), HasSubstr("released by"));
}

TEST(etcd_command, runs_readers_together_and_a_writer_alone) {
  process first{command("run", {"--shared", "rates", "--", "sleep", "60"})};
  process second{command("run", {"--shared", "rates", "--", "sleep", "60"})};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("cli/rates/").size() == 2; }));
  for (auto const& side : {words{"--exclusive"}, words{}}) {
    words rest = side;
    rest.insert(rest.end(), {"--no-wait", "rates", "--", "true"});
    process writer{command("run", rest)};
    EXPECT_EQ(writer.wait(), 75) << writer.err();
  }
  process page{command("inspect", {"rates"})};
  EXPECT_EQ(page.wait(), 0) << page.err();
  EXPECT_THAT(page.out(), AllOf(HasSubstr("read_write: readers only"), ContainsRegex("holders +2")));
  process list{command("ls", {"rat*"})};
  EXPECT_EQ(list.wait(), 0) << list.err();
  EXPECT_THAT(list.out(), ContainsRegex("rates +read_write"));
  process force{command("release", {"--force", "--yes", "--grace", "20s", "rates"})};
  EXPECT_EQ(force.wait(), 0) << force.err();
  EXPECT_EQ(first.wait(), 79) << first.err();
  EXPECT_EQ(second.wait(), 79) << second.err();
}

TEST(etcd_command, reads_within_a_command_that_reads) {
  words const inner{HOLDFAST_CLI, "run",    "--url", shared_etcd().url("cli"),
                    "--shared",   "nested", "--",    "true"};
  words rest{"--shared", "nested", "--"};
  rest.insert(rest.end(), inner.begin(), inner.end());
  process reads{command("run", rest)};
  EXPECT_EQ(reads.wait(), 0) << reads.err();
  rest = {"nested", "--"};
  rest.insert(rest.end(), inner.begin(), inner.end());
  process writes{command("run", rest)};
  EXPECT_EQ(writes.wait(), 75) << writes.err();
}

TEST(etcd_command, leads_and_shows_who_leads) {
  process nobody{command("leader", {"scheduler"})};
  EXPECT_EQ(nobody.wait(), 1) << nobody.err();
  words all{"/usr/bin/env"};
  for (auto const& each : command("leader", {"--watch", "--json", "scheduler"})) all.push_back(each);
  line_process watch{all};
  EXPECT_THAT(watch.read_line(), HasSubstr(R"("value":null)"));
  process lead{command("lead", {"--value", "a:1", "scheduler", "--", "sleep", "60"})};
  EXPECT_THAT(watch.read_line(), HasSubstr(R"("value":"a:1")"));
  process other{command("lead", {"--value", "b:2", "--once", "scheduler", "--", "sleep", "60"})};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("cli/scheduler/").size() == 2; }));
  process leader{command("leader", {"scheduler"})};
  EXPECT_EQ(leader.wait(), 0) << leader.err();
  EXPECT_EQ(leader.out(), "a:1\n");
  process page{command("inspect", {"scheduler"})};
  EXPECT_EQ(page.wait(), 0) << page.err();
  EXPECT_THAT(page.out(), AllOf(HasSubstr("led, in the format of"), HasSubstr("a:1")));
  process force{command("release", {"--force", "--yes", "scheduler"})};
  EXPECT_EQ(force.wait(), 65) << force.err();
  EXPECT_THAT(force.err(), HasSubstr("--foreign"));
  lead.signal(SIGTERM);
  EXPECT_EQ(lead.wait(), 128 + SIGTERM) << lead.err();
  EXPECT_THAT(watch.read_line(), HasSubstr(R"("value":"b:2")"));
}

TEST(etcd_command, says_that_nobody_answers) {
  closed_port const nobody;
  auto const url = "etcd://127.0.0.1:" + std::to_string(nobody.number());
  for (auto const& each : {words{"ls"}, words{"inspect", "x"}, words{"doctor"}}) {
    words all{HOLDFAST_CLI};
    all.insert(all.end(), each.begin(), each.end());
    all.insert(all.end(), {"--url", url});
    process other{all};
    EXPECT_EQ(other.wait(), 69) << each.front() << other.err();
  }
}

TEST(etcd_command, runs_as_many_at_a_time_as_there_are_slots) {
  process first{command("run", {"--slots", "2", "license", "--", "sleep", "60"})};
  process second{command("run", {"--slots", "2", "license", "--", "sleep", "60"})};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("cli/license/permit-").size() == 2; }));
  process third{command("run", {"--slots", "2", "--no-wait", "license", "--", "true"})};
  EXPECT_EQ(third.wait(), 75) << third.err();
  EXPECT_THAT(third.err(), AllOf(HasSubstr("all 2 slots are taken by"), HasSubstr("and another one")));
  process other{command("run", {"--slots", "3", "--no-wait", "license", "--", "true"})};
  EXPECT_EQ(other.wait(), 65) << other.err();
  EXPECT_THAT(other.err(), HasSubstr("2, not 3"));
  process list{command("ls", {"licen*"})};
  EXPECT_EQ(list.wait(), 0) << list.err();
  EXPECT_THAT(list.out(), ContainsRegex("license +permits .*2 of 2 out"));
  process page{command("inspect", {"license"})};
  EXPECT_EQ(page.wait(), 0) << page.err();
  EXPECT_THAT(page.out(), HasSubstr("permits: a semaphore"));
  process waiter{command("run", {"--slots", "2", "license", "--", "echo", "it ran"})};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("cli/license/permit-").size() == 3; }));
  first.signal(SIGTERM);
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
  EXPECT_THAT(waiter.out(), HasSubstr("it ran"));
  process more{command("run", {"--slots", "3", "--set-slots", "license", "--", "true"})};
  EXPECT_EQ(more.wait(), 0) << more.err();
  EXPECT_THAT(more.err(), HasSubstr("changed from 2 to 3"));
  shared_etcd().ctl({"del", "cli/license/size"});
}

TEST(etcd_command, runs_under_several_locks) {
  process both{command("run", {"--with", "second", "first", "--", "sh", "-c", "echo token $HOLDFAST_TOKEN"})};
  EXPECT_EQ(both.wait(), 0) << both.err();
  EXPECT_THAT(both.out(), ContainsRegex("token [0-9]"));
  words const inner{HOLDFAST_CLI, "run", "--url", shared_etcd().url("cli"), "second", "--", "true"};
  words rest{"--with", "second", "first", "--"};
  rest.insert(rest.end(), inner.begin(), inner.end());
  process within{command("run", rest)};
  EXPECT_EQ(within.wait(), 75);
  EXPECT_THAT(within.err(), HasSubstr("you hold it"));
  process holds{command("run", {"second", "--", "sleep", "30"})};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("cli/second/").size() == 1; }));
  process tries{command("run", {"--no-wait", "--with", "second", "first", "--", "true"})};
  EXPECT_EQ(tries.wait(), 75) << tries.err();
  EXPECT_THAT(shared_etcd().keys("cli/first/"), IsEmpty());
}

TEST(etcd_command, refuses_what_is_not_there) {
  for (auto const& rest :
       {words{"--with-shared", "y", "x", "--", "true"}, words{"--with-slots", "2:y", "x", "--", "true"},
        words{"--keep", "x", "--", "true"}, words{"--once-per", "1h", "x", "--", "true"}}) {
    process run{command("run", rest)};
    EXPECT_EQ(run.wait(), 64) << run.err();
    EXPECT_THAT(run.err(), HasSubstr("etcd"));
  }
  for (auto const& each :
       {words{"ls", "--wire", "redisson"}, words{"inspect", "x", "--wire", "redisson"},
        words{"release", "x", "--force", "--wire", "redisson"}, words{"release", "x", "--owner", "y"},
        words{"acquire", "x"}, words{"renew", "x", "--owner", "y"}, words{"doctor", "--deadlocks"},
        words{"leader", "--hand-over", "y", "x"}}) {
    process other{command(each[0], {each.begin() + 1, each.end()})};
    EXPECT_EQ(other.wait(), 64) << other.err();
    EXPECT_THAT(other.err(), HasSubstr("etcd"));
  }
}

TEST(etcd_command, says_what_there_is_in_place_of_leases_without_a_process) {
  for (auto const& each :
       {words{"acquire", "x"}, words{"renew", "x", "--owner", "y"}, words{"release", "x", "--owner", "y"}}) {
    process other{command(each[0], {each.begin() + 1, each.end()})};
    EXPECT_EQ(other.wait(), 64) << other.err();
    EXPECT_THAT(other.err(), HasSubstr("`holdfast run"));
  }
}

}  // namespace
}  // namespace holdfast::test
