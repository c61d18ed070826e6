#include "holdfast_command.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAre;

/// The completions of a shell that runs as the user runs it. The test replaces `holdfast ls` only.
class completion : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    process writer{{HOLDFAST_CLI, "completion", GetParam()}};
    ASSERT_EQ(writer.wait(), 0) << writer.err();
    std::ofstream{script} << writer.out();
    locks({});
  }

  /// Sets the output of `holdfast ls`. The time limit of the script is recorded, not enforced: a busy machine
  /// may take longer.
  void locks(words const& names) const {
    std::ofstream list{folder / "names"};
    for (auto const& name : names) list << name << '\n';
    stand_in("holdfast", "cat " + folder / "names");
    stand_in("timeout", "echo \"$*\" >" + folder / "asked" + "\nshift\n\"$@\"");
  }

  /// Writes a program that a shell finds before any other of its name.
  void stand_in(std::string const& name, std::string const& text) const {
    auto const file = folder / name;
    std::ofstream{file} << "#!/bin/sh\n" << text << '\n';
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }

  [[nodiscard]] words offers(std::string const& line) const {
    environment const shell_environment{{"PATH", folder.path().string() + ":" + std::getenv("PATH")},
                                        {"HOME", folder.path().string()}};
    process shell{command_for(line), shell_environment};
    shell.wait();
    EXPECT_EQ(shell.err(), "");
    words found;
    std::istringstream lines{shell.out()};
    for (std::string offered; std::getline(lines, offered);) {
      // fish adds an explanation behind a tab.
      if (!offered.empty()) found.push_back(offered.substr(0, offered.find('\t')));
    }
    return found;
  }

  /// fish offers the whole word; the other shells offer the part behind the =.
  [[nodiscard]] std::string value(std::string const& option, std::string const& text) const {
    return GetParam() == "fish" ? option + text : text;
  }

  temporary_folder folder;
  std::string script = folder / "script";

 private:
  [[nodiscard]] words command_for(std::string const& line) const {
    std::string const shells = HOLDFAST_SOURCE_DIR "/tests/cli/shells/complete.";
    if (GetParam() == "fish") {
      return {"fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, line};
    }
    if (GetParam() == "zsh") return {"zsh", "-f", shells + "zsh", script, line};
    words command{"bash", "--norc", shells + "bash", script, line};
    for (auto const& word : as_bash_splits(line)) command.push_back(word);
    return command;
  }

  /// Splits at spaces, : and =, but not in quotes or behind a backslash.
  static words as_bash_splits(std::string const& line) {
    words found{""};
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      char const c = line[i];
      if (quote == 0 && c == ' ') {
        found.emplace_back();
      } else if (quote == 0 && (c == ':' || c == '=')) {
        found.emplace_back(1, c);
        if (i + 1 < line.size() && line[i + 1] != ' ') found.emplace_back();
      } else {
        found.back() += c;
        if (c == '\\' && i + 1 < line.size()) found.back() += line[++i];
        if (c == quote) {
          quote = 0;
        } else if (quote == 0 && (c == '"' || c == '\'')) {
          quote = c;
        }
      }
    }
    return found;
  }
};

INSTANTIATE_TEST_SUITE_P(shells, completion, testing::Values("bash", "zsh", "fish"),
                         [](auto const& instance) { return instance.param; });

TEST_P(completion, script_is_free_of_syntax_errors) {
  process check{{GetParam(), "-n", script}};
  EXPECT_EQ(check.wait(), 0);
  EXPECT_EQ(check.err(), "");
}

TEST_P(completion, offers_the_commands) {
  EXPECT_THAT(offers("holdfast "), IsSupersetOf({"run", "completion", "help"}));
  EXPECT_THAT(offers("holdfast comp"), ElementsAre("completion"));
  EXPECT_THAT(offers("holdfast help ru"), ElementsAre("run"));
  EXPECT_THAT(offers("holdfast help run "), Not(Contains("run")));
}

TEST_P(completion, offers_the_options_of_a_command) {
  EXPECT_THAT(offers("holdfast run --"),
              AllOf(IsSupersetOf({"--wait", "--no-wait", "--on-lost", "--verbose", "--help"}),
                    Not(Contains("--version"))));
  EXPECT_THAT(offers("holdfast run --no-wait job --max"), ElementsAre("--max-hold"));
  EXPECT_THAT(offers("holdfast completion --"), ElementsAre("--help"));
}

TEST_P(completion, offers_the_values_of_a_choice) {
  EXPECT_THAT(offers("holdfast run --on-lost "), UnorderedElementsAre("term", "kill", "warn"));
  EXPECT_THAT(offers("holdfast run --on-lost="),
              UnorderedElementsAre(value("--on-lost=", "term"), value("--on-lost=", "kill"),
                                   value("--on-lost=", "warn")));
  EXPECT_THAT(offers("holdfast run --on-lost=t"), ElementsAre(value("--on-lost=", "term")));
  EXPECT_THAT(offers("holdfast completion "), UnorderedElementsAre("bash", "zsh", "fish"));
}

TEST_P(completion, offers_no_files_where_none_belong) {
  EXPECT_THAT(offers("holdfast run --wait "), IsEmpty());
  EXPECT_THAT(offers("holdfast run --url "), IsEmpty());
  EXPECT_THAT(offers("holdfast run "), Not(Contains("script")));
  EXPECT_THAT(offers("holdfast completion bash "), Not(Contains("script")));
}

TEST_P(completion, offers_files_where_they_belong) {
  std::ofstream{folder / "password"};
  EXPECT_THAT(offers("holdfast ls --password-file " + folder.path().string() + "/pass"),
              Contains(testing::EndsWith("password")));
  EXPECT_THAT(offers("holdfast hold or"), IsEmpty());
}

TEST_P(completion, offers_the_names_of_locks) {
  locks({"orders:42", "orders:43", "deploy"});
  for (std::string const command : {"inspect", "release --force", "watch", "renew --owner x"}) {
    EXPECT_THAT(offers("holdfast " + command + " or"), UnorderedElementsAre("orders:42", "orders:43"));
    EXPECT_EQ(content_of(folder / "asked"), "1 holdfast ls --names\n");
  }
  EXPECT_THAT(offers("holdfast inspect orders:42"), ElementsAre(GetParam() == "bash" ? "42" : "orders:42"))
      << "bash takes what is before the colon for another word";
  EXPECT_THAT(offers("holdfast inspect deploy dep"), IsEmpty());
  EXPECT_THAT(offers("holdfast run dep"), IsEmpty());
}

TEST_P(completion, asks_the_server_that_was_given) {
  locks({"deploy"});
  for (std::string const option : {"--url redis://h:1", "--url=redis://h:1"}) {
    EXPECT_THAT(offers("holdfast inspect " + option + " dep"), ElementsAre("deploy"));
    EXPECT_EQ(content_of(folder / "asked"), "1 holdfast ls --names --url=redis://h:1\n");
  }
  EXPECT_THAT(offers("holdfast inspect --local dep"), ElementsAre("deploy"));
  EXPECT_EQ(content_of(folder / "asked"), "1 holdfast ls --names --local\n");
}

TEST_P(completion, quotes_names_that_a_shell_would_take_apart) {
  locks({"nightly import", "it's $HOME"});
  bool const quotes = GetParam() != "fish";  // fish quotes names when it inserts them
  EXPECT_THAT(offers("holdfast inspect nig"), ElementsAre(quotes ? R"(nightly\ import)" : "nightly import"));
  EXPECT_THAT(offers("holdfast inspect nightly\\ im"),
              ElementsAre(quotes ? R"(nightly\ import)" : "nightly import"));
  EXPECT_THAT(offers("holdfast inspect \"nightly im"), ElementsAre("nightly import"));
  EXPECT_THAT(offers("holdfast inspect 'nightly im"), ElementsAre("nightly import"));
  EXPECT_THAT(offers("holdfast inspect it"), ElementsAre(quotes ? R"(it\'s\ \$HOME)" : "it's $HOME"));
  EXPECT_THAT(offers("holdfast inspect \"it"), ElementsAre(quotes ? R"(it's \$HOME)" : "it's $HOME"));
}

TEST_P(completion, goes_on_behind_the_separator_with_the_commands_own) {
  EXPECT_THAT(offers("holdfast run --ttl 5s job -- printen"), Contains("printenv"));
  std::ofstream{folder / "input.csv"};
  auto const files = offers("holdfast run job -- cat " + folder.path().string() + "/inp");
  EXPECT_THAT(files, ElementsAre(testing::EndsWith("input.csv")));
  EXPECT_THAT(offers("holdfast completion -- b"), IsEmpty());
}

}  // namespace
