// Configuration files, and which Redis counts when several are named.
#include "common/configuration.hpp"
#include "common/exit_codes.hpp"
#include "holdfast_command.hpp"
#include "server/local_socket.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/terminal_window.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The two folders of configuration files.
class config : public testing::Test {
 protected:
  config() {
    std::filesystem::create_directories(folder / "system");
    std::filesystem::create_directories(folder / "user/holdfast");
  }
  void write_system(std::string const& text) const { std::ofstream{system_file()} << text; }
  void write_user(std::string const& text) const { std::ofstream{user_file()} << text; }
  [[nodiscard]] std::string system_file() const { return folder / "system/config"; }
  [[nodiscard]] std::string user_file() const { return folder / "user/holdfast/config"; }
  [[nodiscard]] environment places() const {
    return {{"HOLDFAST_CONFIG_DIR", folder / "system"}, {"XDG_CONFIG_HOME", folder / "user"}};
  }
  [[nodiscard]] process start(words const& arguments, environment extra = {}) const {
    extra.merge(places());
    return holdfast_command(arguments, extra);
  }
  /// Whether a run with these words takes its lock there.
  static bool locks_on(redis_server const& server, process& run) {
    EXPECT_EQ(run.wait(), 0) << run.err();
    auto const keys = server.raw().keys("*job*");
    server.raw().command({"FLUSHALL"});
    return !keys.empty();
  }

  temporary_folder const folder;
};

TEST_F(config, url_of_the_system_is_used_by_cron_without_an_environment) {
  redis_server const server;
  write_system("# the Redis of all hosts\n\n  url = " + server.url() + "\n");
  process job{
      {"env", "-i", "HOLDFAST_CONFIG_DIR=" + (folder / "system"), HOLDFAST_CLI, "run", "job", "--", "true"}};
  EXPECT_TRUE(locks_on(server, job));
  EXPECT_EQ(job.err(), "");
}

TEST_F(config, option_counts_more_than_environment_more_than_the_users_file_more_than_the_systems) {
  redis_server const server;
  std::string const nowhere = "redis+unix:///nowhere/redis.sock";
  write_system("url = " + server.url());
  auto by_system = start({"run", "job", "--", "true"});
  EXPECT_TRUE(locks_on(server, by_system));
  write_system("url = " + nowhere);
  write_user("url = " + server.url());
  auto by_user = start({"run", "job", "--", "true"});
  EXPECT_TRUE(locks_on(server, by_user));
  write_user("url = " + nowhere);
  auto by_variable = start({"run", "job", "--", "true"}, {{"REDIS_URL", server.url()}});
  EXPECT_TRUE(locks_on(server, by_variable));
  auto by_own_variable =
      start({"run", "job", "--", "true"}, {{"REDIS_URL", nowhere}, {"HOLDFAST_URL", server.url()}});
  EXPECT_TRUE(locks_on(server, by_own_variable));
  auto by_option = start({"run", "--url", server.url(), "job", "--", "true"}, {{"HOLDFAST_URL", nowhere}});
  EXPECT_TRUE(locks_on(server, by_option));
}

TEST_F(config, url_is_read_by_all_commands) {
  redis_server const server;
  write_system("url = " + server.url() + "\nlabel = nightly import\nttl = 17s\n");
  auto holder = start({"run", "job", "--", "sleep", "100"});
  ASSERT_TRUE(eventually([&] { return server.raw().exists("job"); }));
  EXPECT_GT(server.raw().pttl("job"), 10'000);
  EXPECT_LE(server.raw().pttl("job"), 17'000);
  for (words const& arguments : {words{"ls", "--names"}, words{"inspect", "job"}, words{"top", "--once"},
                                 words{"watch", "--for", "10ms", "--json", "job"}}) {
    auto command = start(arguments);
    EXPECT_EQ(command.wait(), 0) << command.err();
    EXPECT_THAT(command.out(), HasSubstr("job"));
  }
  auto doctor = start({"doctor", "--json"});
  doctor.wait();
  EXPECT_THAT(doctor.out(), HasSubstr(server.url()));
  // Presence, with the label, is written half a second after the lock.
  EXPECT_TRUE(eventually([&] {
    auto inspect = start({"inspect", "job"});
    inspect.wait();
    return inspect.out().find("nightly import") != std::string::npos;
  }));
  auto release = start({"release", "--force", "--yes", "--grace", "0", "job"});
  EXPECT_EQ(release.wait(), 0) << release.err();
}

TEST_F(config, wrong_lines_are_named_by_file_line_and_key) {
  struct wrong_file {
    std::string text;
    std::string message;
  };
  for (auto const& [text, message] : std::vector<wrong_file>{
           {"# comment\nuri = redis://h\n",
            ", line 2: there is no key uri; the keys are url, password_file, label, ttl"},
           {"url = gopher://h\n", ", line 1: url: "},
           {"\n\nttl = soon", ", line 3: ttl: \"soon\" is not a duration"},
           {"ttl = 1ms", ", line 1: ttl: 1ms is too short"},
           {"label = " + std::string(201, 'x'), ", line 1: label: 201 bytes"},
           {"url = \"redis://h\"", ", line 1: url: the value has quotes; write it without"},
           {"local = maybe", ", line 1: local is neither true nor false; write one"},
           {"url =", ", line 1: url has no value; write one"},
           {"url redis://:secret@h", ", line 1: the line is not `key = value`"},
           {"redis://:secret@h?wire=plain", ", line 1: the line is not `key = value`"},
           {"url = redis://:se cret@h", ", line 1: url: "},
           {"ttl = 1s\nttl = 2s", ", line 2: ttl is set for the second time; remove one"},
           {"url = redis://h\nlocal = true", ": url and local = true exclude each other"}}) {
    write_user(text);
    auto command = start({"run", "job", "--", "true"});
    EXPECT_EQ(command.wait(), 64);
    EXPECT_THAT(command.err(),
                AllOf(testing::StartsWith("holdfast: " + user_file() + message), Not(HasSubstr("cret"))));
    EXPECT_EQ(std::ranges::count(command.err(), '\n'), 1) << command.err();
  }
}

TEST_F(config, file_may_begin_with_the_mark_of_utf_8) {
  redis_server const server;
  write_system("\xef\xbb\xbfurl = " + server.url() + "\n");
  auto run = start({"run", "job", "--", "true"});
  EXPECT_TRUE(locks_on(server, run));
}

TEST_F(config, file_that_can_not_be_read_matters_only_where_it_is_asked) {
  redis_server const server;
  std::filesystem::create_directory(system_file());
  auto lost = start({"run", "job", "--", "true"});
  EXPECT_EQ(lost.wait(), 64);
  EXPECT_THAT(lost.err(), HasSubstr(system_file() + ": can't be read: "));
  EXPECT_EQ(start({"run", "--url", server.url(), "job", "--", "true"}).wait(), 0);
}

TEST_F(config, password_that_other_users_can_read_is_warned_of) {
  redis_server const server;
  write_system("url = redis+unix://:secret@" + server.socket_path());
  chmod(system_file().c_str(), 0644);
  auto open_to_all = start({"run", "--url", server.url(), "job", "--", "true"});
  EXPECT_EQ(open_to_all.wait(), 0);
  EXPECT_THAT(open_to_all.err(), AllOf(HasSubstr("warning: all users of this machine can read the password"),
                                       HasSubstr(system_file()), Not(HasSubstr("secret"))));
  EXPECT_EQ(std::ranges::count(open_to_all.err(), '\n'), 1);
  chmod(system_file().c_str(), 0640);
  auto kept = start({"run", "--url", server.url(), "job", "--", "true"});
  EXPECT_EQ(kept.wait(), 0);
  EXPECT_EQ(kept.err(), "");
}

TEST_F(config, local_is_the_private_server_wherever_it_is_said) {
  auto const run_with = [&](words const& options) {
    words arguments{"run"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"job", "--", "true"});
    return start(arguments, {{"HOLDFAST_LOCAL_DIR", folder.path().string()},
                             {"PATH", "/nowhere"},
                             {"HOLDFAST_REDIS_SERVER", ""}});
  };
  // Nothing is started: there is no redis-server in PATH, which is said where one is wanted.
  auto const wanted = HasSubstr("install it (apt install redis-server)");
  write_system("local = true");
  auto by_file = run_with({});
  EXPECT_EQ(by_file.wait(), 69);
  EXPECT_THAT(by_file.err(), wanted);
  write_user("local = false");
  auto refused = run_with({});
  if (!holdfast::cli::listens_on_ipv4_loopback(6379) && !holdfast::cli::listens_on_ipv6_loopback(6379)) {
    EXPECT_EQ(refused.wait(), 64);
  }
  auto by_option = run_with({"--local"});
  EXPECT_EQ(by_option.wait(), 69);
  EXPECT_THAT(by_option.err(), wanted);
  EXPECT_EQ(run_with({"--local", "--url", "redis://h"}).wait(), 64);
}

/// Without a Redis on localhost:6379, which would be used.
class without_a_url : public config {
 protected:
  void SetUp() override {
    if (holdfast::cli::listens_on_ipv4_loopback(6379) || holdfast::cli::listens_on_ipv6_loopback(6379))
      GTEST_SKIP() << "something listens on localhost:6379, and holdfast would use it";
  }
  redis_server const server;
};

TEST_F(without_a_url, cron_is_refused_where_each_host_would_lock_against_itself) {
  for (words const& arguments : {words{"run", "job", "--", "touch", folder / "ran"}, words{"ls"},
                                 words{"inspect", "job"}, words{"doctor"}, words{"top", "--once"},
                                 words{"watch", "job"}, words{"release", "--force", "--yes", "job"}}) {
    auto job = start(arguments, {{"HOLDFAST_LOCAL_DIR", folder.path().string()}});
    EXPECT_EQ(job.wait(), 64) << arguments.front();
    EXPECT_THAT(job.err(), AllOf(HasSubstr("--url"), HasSubstr("HOLDFAST_URL"),
                                 HasSubstr("/etc/holdfast/config"), HasSubstr("--local")));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "ran"));
  EXPECT_FALSE(std::filesystem::exists(folder / "redis.sock"));
}

TEST_F(without_a_url, a_user_at_a_terminal_gets_the_private_server_and_hears_of_it_each_time) {
  std::filesystem::create_symlink(server.socket_path(), folder / "redis.sock");
  auto variables = places();
  variables["HOLDFAST_LOCAL_DIR"] = folder.path().string();
  for (int round = 0; round != 2; ++round) {
    terminal_window window{{HOLDFAST_CLI, "run", "job", "--", "true"}, variables, {.columns = 300}};
    EXPECT_EQ(window.wait(), 0) << window.seen();
    EXPECT_TRUE(window.shows("this locks on this machine alone")) << window.seen();
  }
  write_user("local = false");
  terminal_window window{{HOLDFAST_CLI, "run", "job", "--", "true"}, variables, {.columns = 300}};
  EXPECT_EQ(window.wait(), 64) << window.seen();
}

TEST_F(without_a_url, completion_knows_the_locks_of_the_private_server_at_a_terminal_alone) {
  std::filesystem::create_symlink(server.socket_path(), folder / "redis.sock");
  server.raw().command({"SET", "nightly", "6f1c2d3e-0000-4000-8000-000000000000:1", "PX", "60000"});
  server.raw().command({"SET", "{nightly}:holdfast_token", "1"});
  auto const list = std::string{"timeout 60 " HOLDFAST_CLI " ls --names 2>/dev/null </dev/null"};
  auto variables = places();
  variables["HOLDFAST_LOCAL_DIR"] = folder.path().string();
  terminal_window window{shell(list), variables, {.columns = 300}};
  EXPECT_EQ(window.wait(), 0);
  EXPECT_TRUE(window.shows("nightly")) << window.seen();
  process cron{{"setsid", "sh", "-c", list}, variables};
  EXPECT_EQ(cron.wait(), 64);
  EXPECT_EQ(cron.out(), "");
}

}  // namespace
