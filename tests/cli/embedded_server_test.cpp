#include "holdfast_command.hpp"
#include "server/local_socket.hpp"
#include "support/eventually.hpp"
#include "support/raw_redis.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;

class embedded_server : public testing::Test {
 protected:
  void TearDown() override {
    auto const pid = content_of(folder / "redis.pid");
    if (pid.empty()) return;
    kill(std::stoi(pid), SIGTERM);
    EXPECT_TRUE(eventually([&] { return !is_alive(std::stoi(pid)); }));
  }

  process start(words const& options, words const& command) {
    words arguments{"run", "--local"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"job", "--"});
    arguments.insert(arguments.end(), command.begin(), command.end());
    return holdfast_command(arguments, {{"HOLDFAST_LOCAL_DIR", folder.path().string()}});
  }

  temporary_folder const folder;
};

TEST_F(embedded_server, is_started_once_by_many_first_users) {
  auto const counter = folder / "counter";
  std::vector<process> users;
  for (int i = 0; i < 8; ++i) {
    users.push_back(start({}, shell("n=$(cat " + counter +
                                    " 2>/dev/null || echo 0); sleep 0.01; echo $((n + 1)) > " + counter)));
  }
  for (auto& user : users) EXPECT_EQ(user.wait(), 0) << user.err();
  EXPECT_EQ(content_of(counter), "8\n");
}

TEST_F(embedded_server, outlives_its_first_user_and_each_run_says_that_it_locks_on_this_machine_alone) {
  auto const said = "holdfast: using a private Redis at " + (folder / "redis.sock") +
                    ": this locks on this machine alone, for your own processes\n";
  auto first = start({}, {"true"});
  EXPECT_EQ(first.wait(), 0);
  EXPECT_EQ(first.err(), said);
  auto const pid = content_of(folder / "redis.pid");
  auto second = start({}, {"true"});
  EXPECT_EQ(second.wait(), 0);
  EXPECT_EQ(second.err(), said);
  EXPECT_EQ(content_of(folder / "redis.pid"), pid);
}

TEST_F(embedded_server, has_no_port_and_keeps_nothing_on_disk) {
  EXPECT_EQ(start({}, {"true"}).wait(), 0);
  raw_redis redis{folder / "redis.sock"};
  auto const setting = [&](std::string const& name) {
    return redis.command({"CONFIG", "GET", name}).elements.at(1).text;
  };
  EXPECT_EQ(setting("port"), "0");
  EXPECT_EQ(setting("save"), "");
  EXPECT_EQ(setting("appendonly"), "no");
  EXPECT_EQ(setting("maxmemory-policy"), "noeviction");
}

/// A copy of the command as it is installed, with this file as the module, has a server started. Returns
/// what it replies to the question for the module's version.
std::string version_of_module_in_server_of(std::string const& prefix, std::string const& module,
                                           std::string const& local_folder) {
  namespace fs = std::filesystem;
  fs::create_directories(fs::path{prefix} / "bin");
  fs::create_directories(fs::path{prefix} / "lib/redis/modules");
  auto const command = prefix + "/bin/holdfast";
  fs::copy_file(HOLDFAST_CLI, command);
  fs::copy_file(module, prefix + "/lib/redis/modules/holdfast.so");
  process user{{command, "run", "--local", "job", "--", "true"}, {{"HOLDFAST_LOCAL_DIR", local_folder}}};
  EXPECT_EQ(user.wait(), 0) << user.err();
  raw_redis redis{local_folder + "/redis.sock"};
  auto const reply = redis.command({"HOLDFAST.VERSION"});
  return reply.elements.empty() ? reply.text : reply.elements[0].text;
}

TEST_F(embedded_server, has_the_module_that_is_installed_with_the_command) {
  auto const* const module = HOLDFAST_MODULE_FILE;
  if (!std::filesystem::exists(module)) GTEST_SKIP() << "the module isn't built";
  EXPECT_THAT(version_of_module_in_server_of(folder / "prefix", module, folder.path().string()),
              testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  auto inspect =
      holdfast_command({"inspect", "--verbose", "job", "--url", "redis+unix://" + (folder / "redis.sock")});
  EXPECT_EQ(inspect.wait(), 1);
  EXPECT_THAT(inspect.out(), testing::EndsWith("\nway       commands of the module holdfast\n"));
}

TEST_F(embedded_server, is_started_without_a_module_that_it_can_not_load) {
  auto const broken = folder / "broken.so";
  std::ofstream{broken} << "no module";
  ASSERT_EQ(chmod(broken.c_str(), 0755), 0);
  EXPECT_THAT(version_of_module_in_server_of(folder / "prefix", broken, folder.path().string()),
              testing::StartsWith("ERR unknown command"));
}

TEST_F(embedded_server, is_started_again_after_it_was_killed) {
  EXPECT_EQ(start({}, {"true"}).wait(), 0);
  auto const pid = std::stoi(content_of(folder / "redis.pid"));
  kill(pid, SIGKILL);
  ASSERT_TRUE(eventually([&] { return !is_alive(pid); }));
  // Its process may count as dead a moment before its socket is closed.
  ASSERT_TRUE(eventually([&] { return !holdfast::cli::listens_on_unix(folder / "redis.sock"); }));
  auto next = start({}, {"true"});
  EXPECT_EQ(next.wait(), 0) << next.err();
  EXPECT_THAT(next.err(), HasSubstr("using a private Redis"));
}

TEST_F(embedded_server, is_not_started_beside_one_that_lives_but_does_not_listen_yet) {
  auto const slow = folder / "slow-server";
  std::ofstream{slow} << "#!/bin/sh\necho started > " << folder / "started" << "\nwhile [ ! -e "
                      << folder / "go" << " ]; do sleep 0.05; done\nexec " << server_program() << " \"$@\"\n";
  ASSERT_EQ(chmod(slow.c_str(), 0700), 0);
  auto killed =
      holdfast_command({"run", "--local", "job", "--", "true"},
                       {{"HOLDFAST_LOCAL_DIR", folder.path().string()}, {"HOLDFAST_REDIS_SERVER", slow}});
  ASSERT_TRUE(eventually([&] { return !content_of(folder / "started").empty(); }));
  killed.signal(SIGKILL);
  ASSERT_EQ(killed.wait(), 128 + SIGKILL);

  auto impatient = start({}, {"true"});
  EXPECT_EQ(impatient.wait(), 69);
  EXPECT_THAT(impatient.err(), HasSubstr("one that runs already did not answer at"));

  std::ofstream{folder / "go"} << '\n';
  ASSERT_TRUE(eventually([&] { return holdfast::cli::listens_on_unix(folder / "redis.sock"); }));
  raw_redis first{folder / "redis.sock"};
  first.command({"SET", "job", "held", "PX", "60000"});
  auto next = start({"--no-wait"}, {"true"});
  EXPECT_EQ(next.wait(), 75) << next.err();
}

TEST_F(embedded_server, is_started_as_soon_as_the_one_before_has_ended) {
  EXPECT_EQ(start({}, {"true"}).wait(), 0);
  auto const before = content_of(folder / "redis.pid");
  kill(std::stoi(before), SIGSTOP);
  ASSERT_TRUE(std::filesystem::remove(folder / "redis.sock"));  // as when it ends, but it takes its time
  auto next = start({}, {"true"});
  EXPECT_TRUE(always(500ms, [&] { return !next.exit_code(); })) << "it has yet to end";
  kill(std::stoi(before), SIGKILL);
  EXPECT_EQ(next.wait(), 0) << next.err();
  EXPECT_NE(content_of(folder / "redis.pid"), before);
}

TEST_F(embedded_server, refuses_a_folder_that_others_can_enter) {
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  auto user = start({}, {"true"});
  EXPECT_EQ(user.wait(), 69);
  EXPECT_THAT(user.err(),
              AllOf(HasSubstr("is open to other users (mode 755): chmod 700"), HasSubstr("--url")));
}

TEST_F(embedded_server, says_what_to_install_when_there_is_no_redis_server) {
  auto user = holdfast_command(
      {"run", "--local", "job", "--", "true"},
      {{"HOLDFAST_LOCAL_DIR", folder.path().string()}, {"PATH", "/nowhere"}, {"HOLDFAST_REDIS_SERVER", ""}});
  EXPECT_EQ(user.wait(), 69);
  EXPECT_THAT(user.err(), AllOf(HasSubstr("apt install redis-server"), HasSubstr("--url")));
}

TEST_F(embedded_server, is_the_program_that_the_environment_names_or_valkey) {
  auto const program = folder / "valkey-server";
  std::ofstream{program} << "#!/bin/sh\nexec " << server_program() << " \"$@\"\n";
  ASSERT_EQ(chmod(program.c_str(), 0700), 0);
  auto const path = folder.path().string() + ':' + std::getenv("PATH");
  for (environment const& extra : {environment{{"HOLDFAST_REDIS_SERVER", program}},
                                   environment{{"HOLDFAST_REDIS_SERVER", "valkey-server"}, {"PATH", path}}}) {
    auto all = extra;
    all["HOLDFAST_LOCAL_DIR"] = folder.path().string();
    auto user = holdfast_command({"run", "--local", "job", "--", "true"}, all);
    EXPECT_EQ(user.wait(), 0) << user.err();
    TearDown();
    ASSERT_TRUE(eventually([&] { return !holdfast::cli::listens_on_unix(folder / "redis.sock"); }));
  }
  auto none = holdfast_command(
      {"run", "--local", "job", "--", "true"},
      {{"HOLDFAST_LOCAL_DIR", folder.path().string()}, {"HOLDFAST_REDIS_SERVER", "/nowhere/server"}});
  EXPECT_EQ(none.wait(), 69);
  EXPECT_THAT(none.err(), HasSubstr("/nowhere/server can't be started"));
}

}  // namespace
