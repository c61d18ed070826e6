#include "locks_of_others.hpp"
#include "support/terminal_window.hpp"

#include <signal.h>

namespace {

using namespace holdfast::test;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class release : public raw_locks {
 protected:
  process force(words const& more) const {
    words all{"release", "--force"};
    all.insert(all.end(), more.begin(), more.end());
    return start(all);
  }
  [[nodiscard]] words on_terminal() const {
    return {HOLDFAST_CLI, "release", "--force", "--grace", "50ms", "--url", server.url(), "orders"};
  }
};

TEST_F(release, wants_force) {
  hold("orders");
  auto command = start({"release", "orders"});
  EXPECT_EQ(command.wait(), 64);
  EXPECT_THAT(command.err(), AllOf(HasSubstr("add --force"), HasSubstr("holdfast inspect NAME")));
  EXPECT_TRUE(redis.exists("orders"));
}

TEST_F(release, wants_yes_where_nobody_can_be_asked) {
  hold("orders");
  auto command = force({"orders"});
  EXPECT_EQ(command.wait(), 64);
  EXPECT_THAT(command.err(), HasSubstr("add --yes"));
  EXPECT_TRUE(redis.exists("orders"));
}

TEST_F(release, deletes_the_lock_of_a_holder_that_does_not_answer) {
  hold("orders");
  auto command = force({"--yes", "--grace", "50ms", "orders"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.err(), HasSubstr("lock \"orders\" was deleted: web-3 pid 812 'nightly import' did not "
                                       "give it back in 50ms, and may still be at work"));
  EXPECT_EQ(command.out(), "");
  EXPECT_FALSE(redis.exists("orders"));
}

TEST_F(release, is_heard_by_holdfast_run) {
  temporary_folder folder;
  auto job =
      holdfast_run(server.url(), {}, "orders", shell("echo $$ > " + (folder / "pid") + "; exec sleep 60"));
  ASSERT_TRUE(eventually([&] { return content_of(folder / "pid").ends_with('\n'); }));
  auto command = force({"--yes", "--grace", "60s", "orders"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.err(), HasSubstr("which was asked to stop"));
  EXPECT_EQ(job.wait(), 79);
  EXPECT_FALSE(is_alive(std::stoi(content_of(folder / "pid"))));
  EXPECT_FALSE(redis.exists("orders"));
}

TEST_F(release, says_that_a_holder_may_be_at_work_whose_ttl_was_over_first) {
  auto job = holdfast_run(server.url(), {"--ttl", "3s", "--on-lost=warn"}, "orders",
                          shell("echo ready; exec sleep 60"));
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  auto command = force({"--yes", "--grace", "60s", "orders"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.err(), AllOf(HasSubstr("its ttl was over before it was seen to be given back"),
                                   HasSubstr("may still be at work")));
  EXPECT_FALSE(job.exit_code()) << "its command works on";
}

TEST_F(release, says_that_a_frozen_holder_may_go_on_when_its_ttl_was_over) {
  auto job = holdfast_run(server.url(), {"--ttl", "3s"}, "orders", shell("echo ready; exec sleep 60"));
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  job.signal(SIGSTOP);
  auto command = force({"--yes", "--json", "--grace", "60s", "orders"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_EQ(json::parse(command.out()).at("result"), "expired");
}

TEST_F(release, works_at_maxmemory) {
  hold("orders");
  auto job = holdfast_run(server.url(), {}, "reports", shell("echo ready; exec sleep 60"));
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  auto deleting = force({"--yes", "--grace", "50ms", "orders"});
  EXPECT_EQ(deleting.wait(), 0) << deleting.err();
  EXPECT_FALSE(redis.exists("orders"));
  auto asking = force({"--yes", "--grace", "60s", "reports"});
  EXPECT_EQ(asking.wait(), 0) << asking.err();
  EXPECT_EQ(job.wait(), 79);
  EXPECT_FALSE(redis.exists("reports"));
}

TEST_F(release, has_nothing_to_do_for_a_free_lock) {
  auto command = force({"orders"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.err(), HasSubstr("lock \"orders\" is not held"));
}

TEST_F(release, says_what_a_foreign_key_is_and_deletes_it_only_with_foreign) {
  redis.command({"SET", "orders", "redsync's value"});
  auto refused = force({"--yes", "orders"});
  EXPECT_EQ(refused.wait(), 65);
  EXPECT_THAT(refused.err(), AllOf(HasSubstr("which Holdfast did not write"),
                                   HasSubstr("\"redsync's value\""), HasSubstr("add --foreign")));
  EXPECT_TRUE(redis.exists("orders"));
  auto allowed = force({"--yes", "--foreign", "orders"});
  EXPECT_EQ(allowed.wait(), 0);
  EXPECT_FALSE(redis.exists("orders"));
}

TEST_F(release, never_deletes_what_is_no_lock) {
  redis.command({"HSET", "orders", "field", "value"});
  auto command = force({"--yes", "--foreign", "orders"});
  EXPECT_EQ(command.wait(), 65);
  EXPECT_THAT(command.err(), HasSubstr("the key \"orders\" holds a hash, which is not a lock"));
  EXPECT_TRUE(redis.exists("orders"));
}

TEST_F(release, gives_permits_without_a_lease_back_for_who_took_them) {
  auto const owner = std::string{uuid} + ":1:l";
  auto const ends = std::to_string((micros_ago(0) / 1'000) + 3'153'600'000'000);
  redis.command({"ZADD", "orders", "-3", "holdfast_permits:4", ends, owner, "8000000000000002", owner + ":p",
                 ends, std::string{other_uuid} + ":1:l"});
  redis.command({"PEXPIRE", "orders", "3153600000000"});
  auto page = start({"inspect", "orders"});
  EXPECT_EQ(page.wait(), 0);
  EXPECT_THAT(page.out(), AllOf(HasSubstr("permits: a semaphore\n"), HasSubstr("web-3 pid 812"),
                                HasSubstr("until somebody gives back the permits without a lease"),
                                HasSubstr(", 2 permits")));
  auto command = force({"--yes", "--owner", owner, "orders"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.err(),
              HasSubstr("permits of \"orders\" were given back for web-3 pid 812 'nightly import', "
                        "which took them without a lease and wasn't asked"));
  EXPECT_EQ(redis.command({"ZSCORE", "orders", "holdfast_permits:4"}).text, "-1");
}

TEST_F(release, prints_one_object_as_json) {
  hold("orders");
  auto command = force({"--yes", "--json", "--grace", "0", "orders"});
  EXPECT_EQ(command.wait(), 0);
  auto const report = json::parse(command.out());
  EXPECT_EQ(report.at("name"), "orders");
  EXPECT_EQ(report.at("result"), "deleted");
  EXPECT_EQ(report.at("holder").at("pid"), 812);
  auto again = force({"--json", "orders"});
  EXPECT_EQ(again.wait(), 0);
  EXPECT_EQ(json::parse(again.out()),
            json::parse(R"({"name": "orders", "result": "not_held", "holder": null})"));
}

TEST_F(release, asks_on_a_terminal_and_does_what_it_is_told) {
  for (std::string const yes : {"y\n", "Y\n", "yes\n"}) {
    hold("orders");
    terminal_window command{on_terminal()};
    ASSERT_TRUE(eventually([&] { return command.seen().ends_with("? [y/N] "); }));
    EXPECT_THAT(
        command.seen(),
        testing::MatchesRegex("Release \"orders\", held for 4. s by web-3 pid 812 'nightly import'\\? .*"));
    EXPECT_TRUE(redis.exists("orders"));
    command.type(yes);
    EXPECT_EQ(command.wait(), 0);
    EXPECT_FALSE(redis.exists("orders"));
  }
  for (std::string const no : {"\n", "n\n", "what?\n", "\x04"}) {
    hold("orders");
    terminal_window command{on_terminal()};
    ASSERT_TRUE(command.shows("[y/N]"));
    command.type(no);
    EXPECT_EQ(command.wait(), 75);
    EXPECT_THAT(command.seen(), HasSubstr("was left alone"));
    EXPECT_TRUE(redis.exists("orders"));
  }
}

TEST_F(release, means_the_holder_that_it_asked_about) {
  hold("orders");
  terminal_window command{on_terminal()};
  ASSERT_TRUE(command.shows("[y/N]"));
  hold("orders", std::string{other_uuid} + ":1");
  command.type("y\n");
  EXPECT_EQ(command.wait(), 75);
  EXPECT_THAT(command.seen(), HasSubstr("held by somebody else now"));
  EXPECT_TRUE(redis.exists("orders"));
}

TEST_F(release, shows_names_and_labels_that_can_do_nothing_to_the_terminal) {
  hold("orders");
  redis.command({"HSET", holdfast::names::client_record(uuid), "label", "\x1b]0;owned\x07"});
  terminal_window command{on_terminal()};
  ASSERT_TRUE(command.shows("[y/N]"));
  EXPECT_EQ(command.seen().find('\x1b'), std::string::npos);
  command.type("n\n");
  EXPECT_EQ(command.wait(), 75);
}

TEST_F(release, lets_a_finished_once_per_job_run_again_at_once) {
  words const once{"--once-per", "3650d"};
  auto first = holdfast_run(server.url(), once, "report", shell("exit 3"));
  EXPECT_EQ(first.wait(), 3);
  auto command = force({"--yes", "--grace", "1h", "report"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.err(),
              testing::MatchesRegex("holdfast: lock \"report\" was kept until [0-9: -]+; finished "
                                    "[0-9: -]+, exit 3: released\n"));
  auto next = holdfast_run(server.url(), once, "report", shell("echo ran"));
  EXPECT_EQ(next.wait(), 0);
  EXPECT_EQ(next.out(), "ran\n");
  auto again = force({"--yes", "--json", "report"});
  EXPECT_EQ(again.wait(), 0);
  EXPECT_EQ(json::parse(again.out()),
            json::parse(R"({"name": "report", "result": "run_was_over", "holder": null})"));
  auto nothing = force({"--yes", "report"});
  EXPECT_EQ(nothing.wait(), 0);
  EXPECT_THAT(nothing.err(), HasSubstr("is not held"));
}

TEST_F(release, asks_about_a_finished_job_with_what_became_of_it) {
  auto job = holdfast_run(server.url(), {"--once-per", "3650d"}, "orders", {"true"});
  EXPECT_EQ(job.wait(), 0);
  terminal_window command{on_terminal()};
  ASSERT_TRUE(command.shows("[y/N]"));
  EXPECT_THAT(
      command.seen(),
      testing::MatchesRegex("Release \"orders\", kept until [0-9: -]+; finished [0-9: -]+, exit 0\\? .*"));
  command.type("y\n");
  EXPECT_EQ(command.wait(), 0);
  EXPECT_FALSE(redis.exists(holdfast::names::last_run("orders")));
}

TEST_F(release, of_a_once_per_job_that_runs_makes_it_due_again) {
  words const once{"--once-per", "3650d"};
  auto job = holdfast_run(server.url(), once, "orders", shell("echo ready; exec sleep 60"));
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  auto command = force({"--yes", "--grace", "60s", "orders"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.err(), HasSubstr("which was asked to stop"));
  EXPECT_EQ(job.wait(), 79);
  auto next = holdfast_run(server.url(), once, "orders", shell("echo ran"));
  EXPECT_EQ(next.wait(), 0);
  EXPECT_EQ(next.out(), "ran\n");
}

TEST_F(release, under_a_once_per_job_that_does_not_answer_makes_it_due_again) {
  words const once{"--once-per", "3650d"};
  auto job = holdfast_run(server.url(), once, "orders", shell("echo ready; exec sleep 60"));
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; })) << job.err();
  job.signal(SIGSTOP);
  auto command = force({"--yes", "--grace", "50ms", "orders"});
  EXPECT_EQ(command.wait(), 0);
  EXPECT_THAT(command.err(), HasSubstr("may still be at work"));
  auto next = holdfast_run(server.url(), once, "orders", shell("echo ran"));
  EXPECT_EQ(next.wait(), 0);
  EXPECT_EQ(next.out(), "ran\n");
}

}  // namespace
