/// `holdfast lead` and `holdfast leader`.
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/leader_log.hpp"
#include "support/long_timeouts.hpp"
#include "support/pending.hpp"
#include "support/redis_server.hpp"

#include <holdfast/client.hpp>
#include <holdfast/election.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace holdfast::test;
using namespace std::chrono_literals;
using holdfast::election;
using testing::HasSubstr;

constexpr auto serves_on = "exec sleep 60";

class leading : public testing::Test {
 protected:
  /// Each turn leaves its term in a line.
  [[nodiscard]] process lead(words const& options, std::string const& then = serves_on) const {
    words arguments{"lead"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(),
                     {"job", "--", "sh", "-c", "echo $HOLDFAST_TOKEN >> " + file() + "; " + then});
    return holdfast_command(arguments, {{"HOLDFAST_URL", server.url()}});
  }
  [[nodiscard]] process leader(words const& options = {}) const {
    words arguments{"leader", "job"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return holdfast_command(arguments, {{"HOLDFAST_URL", server.url()}});
  }
  [[nodiscard]] std::string value() const {
    auto command = leader();
    return command.wait() == 0 ? command.out() : "-";
  }
  [[nodiscard]] std::string file() const { return (folder.path() / "turns").string(); }
  [[nodiscard]] std::vector<std::int64_t> terms() const {
    std::istringstream lines{content_of(file())};
    std::vector<std::int64_t> all;
    for (std::string line; std::getline(lines, line);) all.push_back(std::stoll(line));
    return all;
  }
  [[nodiscard]] bool turns(std::size_t count) const {
    return eventually([&] { return terms().size() >= count; });
  }
  static std::vector<nlohmann::json> objects(process const& printer) {
    std::istringstream lines{printer.out()};
    std::vector<nlohmann::json> all;
    for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  redis_server server;
  raw_redis redis = server.raw();
  temporary_folder folder;
  holdfast::client client{server.url(), with_long_timeouts()};
  election own{client, "job"};
};

TEST_F(leading, runs_the_command_while_it_leads_and_shows_its_value) {
  EXPECT_EQ(leader().wait(), 1);
  auto job = lead({"--value", "10.0.0.7:80"});
  ASSERT_TRUE(turns(1));
  EXPECT_EQ(value(), "10.0.0.7:80\n");
  EXPECT_EQ(own.leader()->term, terms().front());
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
  auto none = leader();
  EXPECT_EQ(none.wait(), 1);
  EXPECT_EQ(none.out(), "");
  EXPECT_FALSE(redis.exists("job"));
}

TEST_F(leading, has_host_and_pid_for_a_value_of_its_own) {
  auto job = lead({});
  ASSERT_TRUE(turns(1));
  EXPECT_THAT(value(), testing::MatchesRegex(".+:[0-9]+\n"));
  job.signal(SIGTERM);
  job.wait();
}

TEST_F(leading, campaigns_again_when_the_command_has_ended) {
  auto job = lead({"--value", "a"}, "exit 7");
  ASSERT_TRUE(turns(2));
  EXPECT_THAT(job.err(), HasSubstr("lead of \"job\": again in "));
  job.signal(SIGTERM);
  job.wait();
  auto const all = terms();
  EXPECT_LT(all[0], all[1]);
  EXPECT_TRUE(eventually([&] { return !redis.exists("job"); }));
}

TEST_F(leading, campaigns_again_when_the_lead_was_lost) {
  auto job = lead({"--value", "a"});
  ASSERT_TRUE(turns(1));
  auto force = holdfast_command({"release", "--force", "--yes", "--url", server.url(), "job"});
  EXPECT_EQ(force.wait(), 0) << force.err();
  ASSERT_TRUE(turns(2));
  EXPECT_TRUE(eventually([&] { return value() == "a\n"; }));
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
}

TEST_F(leading, ends_if_there_is_no_such_command_but_not_if_it_is_replaced_later) {
  auto const program = folder.path() / "job";
  auto const away = folder.path() / "away";
  auto const start = [&] {
    return holdfast_command({"lead", "job", "--", program.string()}, {{"HOLDFAST_URL", server.url()}});
  };
  EXPECT_EQ(start().wait(), 127);
  std::ofstream{away} << "#!/bin/sh\necho $HOLDFAST_TOKEN >> " << file() << "\nmv " << program.string() << " "
                      << away.string() << "\n";
  std::filesystem::permissions(away, std::filesystem::perms::owner_all);
  std::filesystem::rename(away, program);
  auto job = start();
  ASSERT_TRUE(turns(1));
  EXPECT_TRUE(eventually([&] { return job.err().find("command not found") != std::string::npos; }));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(away); }));
  std::filesystem::rename(away, program);
  EXPECT_TRUE(turns(2));
  job.signal(SIGTERM);
  job.wait();
}

TEST_F(leading, runs_once_if_told_to) {
  auto job = lead({"--once"}, "exit 7");
  EXPECT_EQ(job.wait(), 7);
  auto const held = own.campaign("another");
  auto busy = lead({"--once", "--no-wait"});
  EXPECT_EQ(busy.wait(), 75);
  EXPECT_THAT(busy.err(), HasSubstr("lead of \"job\" on"));
}

TEST_F(leading, ends_the_command_before_another_leads) {
  auto const first_pid = (folder.path() / "first").string();
  auto const overlap = (folder.path() / "overlap").string();
  auto first = lead({"--ttl", "1s", "--value", "first"},
                    "echo $$ > " + first_pid + "; trap '' TERM; while :; do sleep 0.02; done");
  ASSERT_TRUE(turns(1));
  auto second =
      lead({"--value", "second"}, "kill -0 $(cat " + first_pid + ") && touch " + overlap + "; exec sleep 60");
  ASSERT_TRUE(eventually([&] { return own.candidates().size() == 1; }));
  ASSERT_TRUE(eventually([&] { return content_of(first_pid).ends_with('\n'); }));
  auto const command = std::stoi(content_of(first_pid));
  server.freeze();
  // By holdfast, or by its guard, whichever comes first.
  ASSERT_TRUE(eventually([&] { return ::kill(command, 0) != 0; })) << first.err();
  server.thaw();
  ASSERT_TRUE(turns(2)) << first.err() << second.err();
  EXPECT_FALSE(std::filesystem::exists(overlap));
  EXPECT_TRUE(std::ranges::is_sorted(terms()));
  EXPECT_TRUE(eventually([&] { return value() == "second\n"; }));
  for (auto* const each : {&first, &second}) {
    each->signal(SIGTERM);
    each->wait();
  }
}

TEST_F(leading, is_followed_when_it_was_killed) {
  auto job = lead({"--ttl", "1s", "--value", "killed"}, "trap '' TERM; while :; do sleep 0.02; done");
  ASSERT_TRUE(turns(1));
  leader_log log;
  auto const observer = own.observe(log.handler());
  ASSERT_TRUE(eventually([&] { return log.last() == "killed"; }));
  pending next;
  own.async_campaign("next", next.handler());
  job.signal(SIGKILL);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  auto const follower = next.take();
  EXPECT_GT(follower->token(), terms().front());
  EXPECT_TRUE(eventually([&] { return log.last() == "next"; }));
  EXPECT_TRUE(log.in_order());
}

TEST_F(leading, is_shown_as_json) {
  auto none = leader({"--json"});
  EXPECT_EQ(none.wait(), 1);
  auto const empty = objects(none).at(0);
  EXPECT_EQ(empty.at("name"), "job");
  EXPECT_EQ(empty.at("value"), nullptr);
  EXPECT_EQ(empty.at("term"), nullptr);
  EXPECT_EQ(empty.at("leader"), nullptr);
  auto const held = own.campaign("");
  auto some = leader({"--json"});
  EXPECT_EQ(some.wait(), 0);
  auto const full = objects(some).at(0);
  EXPECT_EQ(full.at("value"), "");
  EXPECT_EQ(full.at("term"), held.token());
  EXPECT_EQ(full.at("leader").at("pid"), ::getpid());
  EXPECT_EQ(full.at("leader").at("owner"), held.owner());
}

TEST_F(leading, is_shown_without_effect_on_a_terminal) {
  auto const held = own.campaign("a\x1b[31m\nb\r\xff");
  EXPECT_EQ(value(), "a\\x1b[31m\\x0ab\\x0d\\xff\n");
  auto watcher = leader({"--watch"});
  ASSERT_TRUE(eventually([&] { return !watcher.out().empty(); }));
  EXPECT_THAT(watcher.out(), HasSubstr("  a\\x1b[31m\\x0ab\\x0d\\xff, term " + std::to_string(held.token())));
  watcher.signal(SIGINT);
  watcher.wait();
}

TEST_F(leading, is_watched_line_by_line_until_interrupted) {
  auto watcher = leader({"--watch", "--json"});
  auto const values = [&] {
    std::vector<std::string> all;
    for (auto const& object : objects(watcher))
      all.push_back(object.at("value").is_null() ? "-" : object.at("value").get<std::string>());
    return all;
  };
  ASSERT_TRUE(eventually([&] { return values() == std::vector<std::string>{"-"}; })) << watcher.err();
  {
    auto const held = own.campaign("a");
    ASSERT_TRUE(eventually([&] { return values().back() == "a"; }));
    EXPECT_EQ(objects(watcher).back().at("term"), held.token());
  }
  ASSERT_TRUE(eventually([&] { return values() == std::vector<std::string>{"-", "a", "-"}; }));
  watcher.signal(SIGINT);
  EXPECT_EQ(watcher.wait(), 128 + SIGINT);
}

TEST_F(leading, is_handed_over_to_the_candidate_that_is_meant) {
  auto const hand_over = [this](std::string const& candidate) {
    return leader({"--hand-over", candidate, "--grace", "1m", "--json"});
  };
  auto job = lead({"--value", "first"});
  ASSERT_TRUE(turns(1));
  auto nobody = hand_over("web-2");
  EXPECT_EQ(nobody.wait(), 75);
  EXPECT_THAT(nobody.err(), HasSubstr("\"web-2\" doesn't wait to lead \"job\"; these do: nobody"));
  holdfast::client early_client{server.url(), with_long_timeouts({.label = "web-1"})};
  holdfast::client late_client{server.url(), with_long_timeouts({.label = "web-2"})};
  election early_one{early_client, "job"};
  election late_one{late_client, "job"};
  pending early;
  early_one.async_campaign("early", early.handler());
  ASSERT_TRUE(eventually([&] { return own.candidates().size() == 1; }));
  pending late;
  late_one.async_campaign("late", late.handler());
  ASSERT_TRUE(eventually([&] { return own.candidates().size() == 2; }));
  auto both = hand_over(own.candidates().front().host);
  EXPECT_EQ(both.wait(), 64);
  EXPECT_THAT(both.err(), HasSubstr("may be each of these; give the owner id: "));
  auto const inbox = "{job}:holdfast_inbox:" + late_client.uuid();
  ASSERT_TRUE(
      eventually([&] { return redis.command({"PUBSUB", "NUMSUB", inbox}).elements.at(1).integer == 1; }));
  auto done = hand_over("web-2");
  EXPECT_EQ(done.wait(), 0) << done.err();
  EXPECT_EQ(objects(done).at(0).at("result"), "handed_over");
  EXPECT_EQ(objects(done).at(0).at("candidate").at("label"), "web-2");
  ASSERT_TRUE(eventually([&] { return late.done(); }));
  EXPECT_FALSE(early.done());
  late.take()->release();
  ASSERT_TRUE(eventually([&] { return early.done(); }));
  early.take()->release();
  EXPECT_EQ(hand_over("web-2").wait(), 75);
  job.signal(SIGTERM);
  job.wait();
}

TEST_F(leading, is_refused_where_it_cannot_be) {
  redis.command({"HSET", "job", "a", "b"});
  EXPECT_EQ(leader().wait(), 65);
  EXPECT_EQ(lead({"--once"}).wait(), 65);
  for (auto const& [url, message] :
       {std::pair{server.url() + "?wire=redisson", "can't be on Redisson's wire"},
        std::pair{std::string{"redis+quorum://h1,h2,h3"}, "no common queue"}}) {
    auto refused = holdfast_command({"lead", "--url", url, "job", "--", "true"});
    EXPECT_EQ(refused.wait(), 64);
    EXPECT_THAT(refused.err(), HasSubstr(message));
  }
  EXPECT_EQ(holdfast_command({"leader", "--url", "redis+unix:///nonexistent/redis.sock", "job"}).wait(), 69);
}

}  // namespace
