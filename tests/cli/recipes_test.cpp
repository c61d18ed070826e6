// The examples of docs/recipes.md and of the pages beside it, taken from there and run with small programs in
// place of those that they name.
#include "holdfast_command.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace holdfast::test;

/// The blocks of this language, as they stand.
std::vector<std::string> blocks_of(std::string const& language, std::string const& name = "recipes") {
  std::vector<std::string> all;
  std::istringstream page{content_of(HOLDFAST_SOURCE_DIR "/docs/" + name + ".md")};
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "```" + language) {
      inside = true;
      all.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      all.back() += line + '\n';
    }
  }
  return all;
}

class recipes : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder / "bin");
    std::filesystem::create_symlink(HOLDFAST_CLI, folder / "bin/holdfast");
    for (auto const* const name :
         {"bin/report", "bin/backup", "bin/sync-orders", "bin/ingest", "deploy.sh", "migrate.sh", "serve.sh",
          "encode.sh", "ingest.sh", "integration-tests.sh", "bill.sh", "bin/migrate"})
      write(name, "#!/bin/sh\necho \"$(basename \"$0\")${HOLDFAST_NAME:+ under $HOLDFAST_NAME}\"\n");
    write("bin/redis-cli",
          "#!/bin/sh\nPATH=${PATH#*:} exec redis-cli -s " + server.socket_path() + " \"$@\"\n");
  }

  std::string write(std::string const& name, std::string const& text) {
    auto const path = folder / name;
    std::ofstream{path} << text;
    chmod(path.c_str(), S_IRWXU);
    return path;
  }

  /// What the script prints; it has to succeed.
  std::string run(std::string const& script) {
    process shell{{"sh", "-euc", "cd " + folder.path().string() + "\n" + script},
                  {{"HOLDFAST_URL", server.url()},
                   {"PATH", folder / "bin" + ":" + std::getenv("PATH")},
                   {"HOME", folder.path().string()}}};
    auto const code = shell.wait();
    EXPECT_EQ(code, 0) << script << shell.err();
    return shell.out();
  }

  [[nodiscard]] std::string with_programs_of_the_test(std::string const& text) const {
    auto const here = std::regex_replace(text, std::regex{"/usr/bin/holdfast"}, folder / "bin/holdfast");
    return std::regex_replace(here, std::regex{"/usr/local/bin/"}, folder / "bin/");
  }

  redis_server server;
  temporary_folder folder;
};

TEST_F(recipes, have_shell_lines_that_run) {
  auto const scripts = blocks_of("sh");
  ASSERT_GE(scripts.size(), 8U);
  std::string printed;
  for (auto const& script : scripts) printed += run(script);
  for (auto const* const command :
       {"deploy.sh under deploy:web", "migrate.sh under migrate:orders", "serve.sh\n",
        "encode.sh under encoder", "ingest.sh under leader:ingest", "deploy.sh under deploy:staging",
        "integration-tests.sh under test-databases", "bill.sh under account:7", "bill.sh under account:3",
        "deploy.sh under orders:42"})
    EXPECT_THAT(printed, testing::HasSubstr(command));
}

TEST_F(recipes, for_a_start_run) {
  for (auto const& script : blocks_of("sh", "start")) run(script);
}

TEST_F(recipes, for_operations_run) {
  std::string printed;
  for (auto const& script : blocks_of("sh", "operations")) printed += run(script);
  EXPECT_THAT(printed, testing::HasSubstr("another host has the lock"));
}

TEST_F(recipes, for_another_client_run) {
  auto const scripts = blocks_of("sh", "another-client");
  ASSERT_EQ(scripts.size(), 2U);
  for (auto const& script : scripts) run(script);
}

TEST_F(recipes, for_kubernetes_have_commands_that_run) {
  std::regex const command{R"re(command: \[("holdfast", "run".*)\])re"};
  std::string printed;
  for (auto const& manifest : blocks_of("yaml", "kubernetes")) {
    std::smatch words;
    if (std::regex_search(manifest, words, command))
      printed += run(std::regex_replace(words[1].str(), std::regex{", "}, " "));
  }
  EXPECT_EQ(printed, "ingest under leader:ingest\nreport under report\nmigrate under migrate:orders\n");
}

TEST_F(recipes, have_crontab_lines_that_run) {
  std::regex const entry{R"(((?:\S+\s+){5})(.*))"};
  std::string printed;
  for (auto const& crontab : blocks_of("crontab")) {
    std::istringstream lines{crontab};
    for (std::string line; std::getline(lines, line);) {
      std::smatch parts;
      if (line.starts_with('#')) continue;
      ASSERT_TRUE(std::regex_match(line, parts, entry)) << line;
      EXPECT_THAT(parts[2].str(), testing::Not(testing::HasSubstr("%"))) << "cron makes it a line break";
      printed += run(parts[2]);
    }
  }
  EXPECT_EQ(printed, "report under report\nbackup under backup\nsync-orders under sync\n");
}

TEST_F(recipes, have_units_whose_commands_run) {
  std::regex const start{"ExecStart=(.*)"};
  std::string printed;
  for (auto const& unit : blocks_of("ini")) {
    std::smatch command;
    if (std::regex_search(unit, command, start)) printed += run(with_programs_of_the_test(command[1]));
  }
  EXPECT_EQ(printed, "ingest under leader:ingest\nreport under report\n");
}

TEST_F(recipes, have_units_that_systemd_accepts) {
  if (process{{"sh", "-c", "command -v systemd-analyze"}}.wait() != 0)
    GTEST_SKIP() << "there is no systemd-analyze";
  words command{"systemd-analyze", "verify", "--man=no", "--recursive-errors=no"};
  for (auto const& unit : blocks_of("ini")) {
    auto const job = unit.find("eport") != std::string::npos;
    auto const name = unit.find("[Timer]") != std::string::npos ? "report.timer"
                      : job                                     ? "report.service"
                                                                : "ingest.service";
    auto text = with_programs_of_the_test(unit);
    text = std::regex_replace(text, std::regex{"User=ingest"}, "User=root");
    auto const path = write(name, text);
    chmod(path.c_str(), S_IRUSR | S_IWUSR);
    command.push_back(path);
  }
  ASSERT_EQ(command.size(), 4U + 3U);
  process verify{command};
  EXPECT_EQ(verify.wait(), 0);
  EXPECT_EQ(verify.err() + verify.out(), "");
}

}  // namespace
