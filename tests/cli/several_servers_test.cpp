// The commands on deployments of several servers, as users write them.
#include "holdfast_command.hpp"
#include "support/cluster_servers.hpp"
#include "support/eventually.hpp"
#include "support/independent_servers.hpp"
#include "support/sentinel_servers.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

namespace {

using namespace holdfast::test;
using namespace std::chrono_literals;
using testing::IsEmpty;

/// What `holdfast COMMAND… --url URL` prints.
std::string output_of(words command, std::string const& url) {
  command.insert(command.end(), {"--url", url});
  auto run = holdfast_command(command);
  EXPECT_EQ(run.wait(), 0) << run.err();
  return run.out();
}

/// A command that runs until the test ends it.
class running_command {
 public:
  running_command(std::string const& url, words const& options, std::string const& name)
      : run_{holdfast_run(
            url, options, name,
            shell("touch " + started() + "; while [ ! -e " + may_end() + " ]; do sleep 0.05; done"))} {}

  [[nodiscard]] bool runs() {
    auto const has_started = [&] { return std::filesystem::exists(started()); };
    return eventually([&] { return has_started() || run_.exit_code(); }) && has_started();
  }
  /// Lets the command end; returns its exit code.
  [[nodiscard]] int end() {
    std::ofstream{may_end()} << '\n';
    return run_.wait();
  }
  [[nodiscard]] int wait() { return run_.wait(); }
  [[nodiscard]] std::string err() const { return run_.err(); }

 private:
  [[nodiscard]] std::string started() const { return folder_ / "started"; }
  [[nodiscard]] std::string may_end() const { return folder_ / "may_end"; }

  temporary_folder folder_;
  process run_;
};

/// Starts a command. Starts it again if the replicas take longer than a second to acknowledge its lock.
std::unique_ptr<running_command> started_on_replicas(std::string const& url) {
  for (auto left = 10; left > 0; --left) {
    auto job = std::make_unique<running_command>(url, words{"--replicas", "2", "--ttl", "5m"}, "job");
    if (job->runs()) return job;
  }
  throw std::runtime_error{"the command doesn't get its lock"};
}

/// The exit code of an attempt to get the lock "job". Repeats the attempt if it times out before it reaches
/// the servers.
int exit_code_of_attempt(std::string const& url) {
  auto code = 0;
  for (auto left = 10; left > 0; --left) {
    code = holdfast_run(url, {"--no-wait"}, "job", {"true"}).wait();
    if (code != 69) break;
  }
  return code;
}

TEST(on_sentinels, a_lock_is_held_through_a_failover_and_given_back_to_the_new_master) {
  sentinel_servers servers;
  auto const job = started_on_replicas(servers.url());
  servers.failover();
  EXPECT_EQ(exit_code_of_attempt(servers.url()), 75);
  EXPECT_EQ(job->end(), 0) << job->err();
  EXPECT_FALSE(servers.master().raw().exists("job"));
}

TEST(on_sentinels, a_lock_is_held_through_a_failover_with_tls_everywhere) {
  sentinel_servers servers{{.password = "data", .sentinel_password = "watch", .tls = true}};
  auto const url = servers.url();
  ASSERT_TRUE(url.starts_with("rediss+sentinel://"));
  auto const job = started_on_replicas(url);
  servers.failover();
  EXPECT_EQ(exit_code_of_attempt(url), 75);
  EXPECT_EQ(output_of({"ls", "--names"}, url), "job\n");
  EXPECT_EQ(job->end(), 0) << job->err();
  EXPECT_FALSE(servers.master().raw().exists("job"));
}

TEST(on_sentinels, locks_are_listed_inspected_and_released_by_force) {
  sentinel_servers servers{{.replicas = 1, .sentinels = 1, .password = "data", .sentinel_password = "watch"}};
  auto const url = servers.url();
  running_command job{url, {}, "job"};
  ASSERT_TRUE(job.runs());
  EXPECT_EQ(output_of({"ls", "--names"}, url), "job\n");
  EXPECT_EQ(nlohmann::json::parse(output_of({"inspect", "--json", "job"}, url))["kind"], "exclusive");
  static_cast<void>(output_of({"release", "--force", "--yes", "job"}, url));
  EXPECT_EQ(job.wait(), 79) << job.err();
}

TEST(on_a_cluster, locks_of_all_slots_are_listed_inspected_and_released_by_force) {
  cluster_servers servers;
  auto const url = servers.url();
  std::set<redis_server*> masters;
  for (auto const* const name : {"a", "b", "c"}) masters.insert(&servers.master_of(name));
  ASSERT_EQ(masters.size(), 3U);
  running_command first{url, {}, "a"};
  running_command second{url, {"--fair"}, "b"};
  running_command third{url, {}, "c"};
  ASSERT_TRUE(first.runs() && second.runs() && third.runs());
  auto const names = output_of({"ls", "--names"}, url);
  EXPECT_EQ(std::ranges::count(names, '\n'), 3) << names;
  EXPECT_EQ(nlohmann::json::parse(output_of({"inspect", "--json", "b"}, url))["kind"], "exclusive");
  auto const top = nlohmann::json::parse(output_of({"top", "--once", "--json", "--interval", "300ms"}, url));
  EXPECT_EQ(top["locks"].size(), 3U) << top.dump(2);
  static_cast<void>(output_of({"release", "--force", "--yes", "c"}, url));
  EXPECT_EQ(third.wait(), 79) << third.err();
  EXPECT_EQ(first.end(), 0) << first.err();
  EXPECT_EQ(second.end(), 0) << second.err();
  EXPECT_THAT(output_of({"ls", "--names"}, url), IsEmpty());
}

TEST(on_a_quorum, a_lock_is_had_while_a_majority_answers) {
  independent_servers servers{3};
  running_command job{servers.url(), {}, "job"};
  ASSERT_TRUE(job.runs());
  auto busy = holdfast_run(servers.url(), {"--no-wait"}, "job", {"true"});
  EXPECT_EQ(busy.wait(), 75);
  servers[0].kill9();
  EXPECT_EQ(job.end(), 0) << job.err();
  auto again = holdfast_run(servers.url(), {"--wait", "20s"}, "job", shell("echo $HOLDFAST_TOKEN"));
  EXPECT_EQ(again.wait(), 0) << again.err();
  EXPECT_GT(std::stoll("0" + again.out()), 0);
  servers[1].kill9();
  auto none = holdfast_run(servers.url(), {"--wait", "1s"}, "job", {"true"});
  EXPECT_EQ(none.wait(), 69) << none.err();
}

}  // namespace
