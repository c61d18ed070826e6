// Locks of scripts: `acquire`, `renew`, `release --owner`, `hold`.
#include "holdfast_command.hpp"
#include "support/cluster_servers.hpp"
#include "support/eventually.hpp"
#include "support/independent_servers.hpp"
#include "support/redis_server.hpp"
#include "support/sentinel_servers.hpp"
#include "support/state_of.hpp"
#include "support/terminal_window.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <signal.h>

#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace holdfast::test;
using nlohmann::json;
using testing::HasSubstr;

process with_url(std::string const& url, words const& arguments, std::string const& input = {}) {
  return holdfast_command(arguments, {{"HOLDFAST_URL", url}}, input);
}

/// What `acquire` prints.
struct grant {
  std::string owner;
  std::string token;
};

grant acquired(std::string const& url, words const& options, std::string const& name = "job") {
  words arguments{"acquire"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back(name);
  auto command = with_url(url, arguments);
  EXPECT_EQ(command.wait(), 0) << command.err();
  EXPECT_EQ(command.err(), "");
  grant made;
  std::istringstream{command.out()} >> made.owner >> made.token;
  return made;
}

int renew(std::string const& url, std::string const& owner, std::string const& ttl,
          words const& options = {}) {
  words arguments{"renew", "--owner", owner, "--ttl", ttl, "job"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return with_url(url, arguments).wait();
}

int release(std::string const& url, std::string const& owner, words const& options = {}) {
  words arguments{"release", "--owner", owner, "job"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return with_url(url, arguments).wait();
}

int try_run(std::string const& url, words options) {
  options.insert(options.begin(), "--no-wait");
  return holdfast_run(url, options, "job", {"true"}).wait();
}

class by_owner : public testing::Test {
 protected:
  redis_server const server;
  raw_redis redis = server.raw();
};

TEST_F(by_owner, a_script_acquires_renews_and_releases_in_steps) {
  auto const made = acquired(server.url(), {"--ttl", "50s"});
  EXPECT_EQ(redis.get("job"), made.owner);
  EXPECT_FALSE(made.token.empty());
  EXPECT_LE(redis.pttl("job"), 50'000);
  EXPECT_EQ(try_run(server.url(), {}), 75);
  EXPECT_EQ(renew(server.url(), made.owner, "500s"), 0);
  EXPECT_GT(redis.pttl("job"), 400'000);
  EXPECT_EQ(renew(server.url(), made.owner, "60s"), 0);
  EXPECT_LE(redis.pttl("job"), 60'000);
  EXPECT_EQ(release(server.url(), made.owner), 0);
  EXPECT_FALSE(redis.exists("job"));
  EXPECT_EQ(try_run(server.url(), {}), 0);
}

TEST_F(by_owner, nothing_is_done_to_the_lock_of_somebody_else) {
  auto const old = acquired(server.url(), {"--ttl", "50s"});
  EXPECT_EQ(release(server.url(), old.owner), 0);
  auto const made = acquired(server.url(), {"--ttl", "50s"});
  EXPECT_GT(std::stoll(made.token), std::stoll(old.token));
  EXPECT_EQ(renew(server.url(), old.owner, "500s"), 79);
  EXPECT_EQ(release(server.url(), old.owner), 79);
  EXPECT_LE(redis.pttl("job"), 50'000);
  EXPECT_EQ(redis.get("job"), made.owner);
  redis.command({"SET", "job", "redsync's"});
  EXPECT_EQ(renew(server.url(), made.owner, "500s"), 79);
  EXPECT_EQ(release(server.url(), made.owner), 79);
  EXPECT_EQ(redis.get("job"), "redsync's");
}

TEST_F(by_owner, all_kinds_of_lock_are_renewed_and_released) {
  struct kind {
    words options;
    words other;  // what is kept out
  };
  for (auto const& [options, other] :
       std::vector<kind>{{{"--fair"}, {"--fair"}},
                         {{"--wire", "redisson"}, {"--wire", "redisson"}},
                         {{"--wire", "redisson", "--fair"}, {"--wire", "redisson"}},
                         {{"--shared"}, {"--exclusive"}},
                         {{"--exclusive"}, {"--shared"}},
                         {{"--slots", "1"}, {"--slots", "1"}},
                         {{"--wire", "redisson", "--slots", "1"}, {"--wire", "redisson", "--slots", "1"}}}) {
    redis.command({"FLUSHALL"});
    auto const made = acquired(server.url(), options);
    EXPECT_EQ(try_run(server.url(), other), 75) << options.front();
    EXPECT_EQ(renew(server.url(), made.owner, "500s"), 0) << options.front();
    auto look = with_url(server.url(), {"inspect", "--json", "job"});
    EXPECT_EQ(look.wait(), 0);
    EXPECT_GT(json::parse(look.out()).at("holders")[0].at("ttl_ms"), 400'000) << look.out();
    EXPECT_EQ(renew(server.url(), "00112233445566778899aabbccddeeff", "900s"), 79);
    EXPECT_EQ(release(server.url(), "00112233445566778899aabbccddeeff"), 79);
    EXPECT_EQ(release(server.url(), made.owner), 0) << options.front();
    EXPECT_EQ(try_run(server.url(), other), 0) << options.front();
    EXPECT_EQ(release(server.url(), made.owner), 79) << options.front();
  }
}

TEST_F(by_owner, one_reader_of_several_is_released) {
  auto const first = acquired(server.url(), {"--shared"});
  auto const second = acquired(server.url(), {"--shared"});
  EXPECT_EQ(release(server.url(), first.owner), 0);
  EXPECT_EQ(try_run(server.url(), {"--exclusive"}), 75);
  EXPECT_EQ(release(server.url(), second.owner), 0);
  EXPECT_EQ(try_run(server.url(), {"--exclusive"}), 0);
}

TEST_F(by_owner, a_release_wakes_who_waits) {
  auto const made = acquired(server.url(), {"--ttl", "1h"});
  auto waiter = holdfast_run(server.url(), {}, "job", {"true"});
  ASSERT_TRUE(eventually([&] { return !redis.keys("*queue*").empty(); }));
  EXPECT_EQ(release(server.url(), made.owner), 0);
  EXPECT_EQ(waiter.wait(wait_limit), 0) << waiter.err();
}

TEST_F(by_owner, results_are_told_in_json) {
  auto command = with_url(server.url(), {"acquire", "--json", "--ttl", "50s", "job"});
  EXPECT_EQ(command.wait(), 0);
  auto const made = json::parse(command.out());
  EXPECT_EQ(made.at("name"), "job");
  EXPECT_EQ(made.at("ttl_ms"), 50'000);
  EXPECT_GT(made.at("token"), 0);
  std::string const owner = made.at("owner");
  auto renewal = with_url(server.url(), {"renew", "--json", "--owner", owner, "job"});
  EXPECT_EQ(renewal.wait(), 0);
  EXPECT_EQ(json::parse(renewal.out()).at("result"), "renewed");
  for (auto const& [result, code] : {std::pair{"released", 0}, {"lost", 79}}) {
    auto end = with_url(server.url(), {"release", "--json", "--owner", owner, "job"});
    EXPECT_EQ(end.wait(), code);
    EXPECT_EQ(json::parse(end.out()).at("result"), result);
  }
}

TEST_F(by_owner, acquire_leaves_nothing_behind_when_nobody_hears_of_it) {
  process full{{"sh", "-c", "exec " HOLDFAST_CLI " acquire --url " + server.url() + " job > /dev/full"}};
  EXPECT_EQ(full.wait(), 70);
  EXPECT_FALSE(redis.exists("job"));
}

TEST_F(by_owner, hold_keeps_a_lock_until_the_end_of_its_input) {
  process ended{
      {"sh", "-c", "printf 'some\nlines\n' | " HOLDFAST_CLI " hold --url " + server.url() + " job"}};
  EXPECT_EQ(ended.wait(), 0) << ended.err();
  EXPECT_THAT(ended.out(), HasSubstr(" "));
  EXPECT_FALSE(redis.exists("job"));
}

TEST_F(by_owner, hold_in_the_background_goes_on_until_a_signal_and_renews) {
  process holder{
      {"sh", "-c", "exec " HOLDFAST_CLI " hold --ttl 2s --url " + server.url() + " job < /dev/null"}};
  ASSERT_TRUE(eventually([&] { return redis.exists("job"); }));
  auto const owner = redis.get("job");
  EXPECT_TRUE(always(3s, [&] { return redis.get("job") == owner; }));
  holder.signal(SIGINT);
  EXPECT_EQ(holder.wait(), 128 + SIGINT);
  EXPECT_FALSE(redis.exists("job"));
}

TEST_F(by_owner, hold_on_a_terminal_ends_by_ctrl_c) {
  terminal_window window{{HOLDFAST_CLI, "hold", "job"}, {{"HOLDFAST_URL", server.url()}}};
  ASSERT_TRUE(eventually([&] { return redis.exists("job"); }));
  window.type("\x03");
  EXPECT_EQ(window.wait(), 128 + SIGINT);
  EXPECT_FALSE(redis.exists("job"));
}

TEST_F(by_owner, hold_that_was_frozen_says_that_it_stood_still) {
  process holder{
      {"sh", "-c", "exec " HOLDFAST_CLI " hold --ttl 3s --url " + server.url() + " job < /dev/null"}};
  ASSERT_TRUE(eventually([&] { return redis.exists("job"); }));
  ASSERT_TRUE(eventually([&] { return holder.out().ends_with("\n"); }));
  holder.signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return !redis.exists("job"); }))
      << state_of(redis, "job") << state_of(holder.pid());
  ASSERT_TRUE(passes(redis, 2'500ms));
  holder.signal(SIGCONT);
  EXPECT_EQ(holder.wait(), 79);
  EXPECT_THAT(holder.err(), HasSubstr("lock \"job\" lost: holdfast stood still for at least"));
}

TEST_F(by_owner, hold_says_that_its_lock_is_lost) {
  process holder{
      {"sh", "-c", "exec " HOLDFAST_CLI " hold --ttl 600ms --url " + server.url() + " job < /dev/null"}};
  ASSERT_TRUE(eventually([&] { return redis.exists("job"); }));
  redis.command({"SET", "job", "somebody else"});
  EXPECT_EQ(holder.wait(), 79);
  EXPECT_THAT(holder.err(), HasSubstr("lock \"job\" lost"));
  EXPECT_EQ(redis.get("job"), "somebody else");
}

TEST_F(by_owner, wrong_use_is_refused) {
  struct row {
    words arguments;
    std::string message;
  };
  for (auto const& [arguments, message] :
       std::vector<row>{{{"acquire"}, "NAME is required"},
                        {{"acquire", ""}, "NAME is empty"},
                        {{"acquire", "--ttl", "1ms", "job"}, "--ttl: 1ms is too short"},
                        {{"acquire", "job", "--", "true"}, "unexpected: true"},
                        {{"renew", "job"}, "--owner is required"},
                        {{"renew", "--owner", "", "job"}, "--owner: it is empty"},
                        {{"release", "job"}, "add --force"},
                        {{"release", "--owner", "x", "--foreign", "job"}, "--foreign: goes with --force"},
                        {{"hold", "--no-wait", "--wait", "1s", "job"}, "excludes"}}) {
    auto command = with_url(server.url(), arguments);
    EXPECT_EQ(command.wait(), 64) << message;
    EXPECT_THAT(command.err(), HasSubstr(message));
  }
  redis.command({"HSET", "job", "field", "value"});
  auto wrong = with_url(server.url(), {"acquire", "job"});
  EXPECT_EQ(wrong.wait(), 65) << wrong.err();
  auto held = with_url(server.url(), {"acquire", "other"});
  EXPECT_EQ(held.wait(), 0);
  EXPECT_EQ(with_url(server.url(), {"acquire", "--no-wait", "other"}).wait(), 75);
}

TEST(by_owner_on_several_servers, a_sentinel_deployment_a_cluster_and_a_quorum_do_the_same) {
  auto const steps = [](std::string const& url, words const& options) {
    auto const made = acquired(url, options);
    EXPECT_EQ(try_run(url, options), 75) << url;
    EXPECT_EQ(renew(url, made.owner, "500s", options), 0) << url;
    EXPECT_EQ(release(url, made.owner + "1", options), 79) << url;
    EXPECT_EQ(try_run(url, options), 75) << url;
    EXPECT_EQ(release(url, made.owner, options), 0) << url;
    EXPECT_EQ(renew(url, made.owner, "500s", options), 79) << url;
    EXPECT_EQ(try_run(url, options), 0) << url;
  };
  sentinel_servers sentinels{{.replicas = 1, .sentinels = 1}};
  steps(sentinels.url(), {});
  cluster_servers cluster;
  steps(cluster.url(), {});
  independent_servers quorum{3};
  steps(quorum.url(), {});
  steps(quorum.url(), {"--wire", "redisson"});
  quorum[0].kill9();
  steps(quorum.url(), {});
}

}  // namespace
