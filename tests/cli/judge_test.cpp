#include "holdfast_command.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "support/redis_server.hpp"
#include "support/written_history.hpp"

namespace {

using namespace holdfast::test;
using testing::AllOf;
using testing::HasSubstr;

class judge_command : public testing::Test {
 protected:
  written_history& two_holders() {
    history_.header("a").header("b").asked(1, "a", 1, "mutex", "x").granted(2, "a", 1, "mutex", "x", 1);
    return history_.asked(3, "b", 1, "mutex", "x")
        .granted(4, "b", 1, "mutex", "x", 2)
        .of_lease("released", 5, "a", 1);
  }

  temporary_folder folder_;
  written_history history_{folder_ / "history"};
};

TEST_F(judge_command, finds_the_histories_of_run_fine) {
  redis_server const server;
  auto const file = folder_ / "runs";
  for (auto const& kind : words{"--fair", "--exclusive", "--shared"}) {
    auto run = holdfast_run(server.url(), {"--history", file, kind}, "job", {"true"});
    EXPECT_EQ(run.wait(), 0) << run.err();
  }
  auto judge = holdfast_command({"judge", "--json", file});
  EXPECT_EQ(judge.wait(), 0) << judge.err();
  auto const report = nlohmann::json::parse(judge.out());
  EXPECT_EQ(report.at("result"), "fine");
  EXPECT_EQ(report.at("clients"), 3);
  EXPECT_EQ(report.at("leases"), 3);
}

TEST_F(judge_command, reads_stdin) {
  auto judge = holdfast_command({"judge", "-"}, {}, content_of(two_holders().written()));
  EXPECT_EQ(judge.wait(), 1) << judge.err();
  EXPECT_THAT(judge.out(), HasSubstr("S1 violated: 1 time\n"));
}

TEST_F(judge_command, shows_a_violation_as_a_time_line) {
  two_holders();
  auto judge = holdfast_command({"judge", history_.written()});
  EXPECT_EQ(judge.wait(), 1) << judge.err();
  EXPECT_THAT(judge.out(),
              AllOf(HasSubstr("S1 violated: 1 time\n"),
                    HasSubstr("two leases of \"x\" that exclude each other are valid for 1 ms\n"),
                    HasSubstr("0.001000 s  a         h:7                   granted (mutex), token 1"),
                    HasSubstr("violations: 1; documented: 0\n")));
}

TEST_F(judge_command, shows_what_is_documented_apart) {
  history_.header("a")
      .header("b")
      .asked(1, "a", 1, "mutex", "x")
      .granted(2, "a", 1, "mutex", "x", 1)
      .trouble(3, "a");
  history_.asked(3, "b", 1, "mutex", "x").granted(4, "b", 1, "mutex", "x", 2).of_lease("released", 5, "a", 1);
  auto judge = holdfast_command({"judge", "--json", history_.written()});
  EXPECT_EQ(judge.wait(), 0) << judge.err();
  auto const report = nlohmann::json::parse(judge.out());
  EXPECT_TRUE(report.at("violations").empty());
  EXPECT_EQ(report.at("documented").at(0).at("promise"), "S1");
  EXPECT_EQ(report.at("documented").at(0).at("excerpt").size(), 5);
}

TEST_F(judge_command, names_the_file_and_line_that_can_not_be_judged) {
  two_holders().text().resize(history_.text().size() - 5);
  auto judge = holdfast_command({"judge", history_.written()});
  EXPECT_EQ(judge.wait(), 65);
  EXPECT_THAT(judge.err(), HasSubstr("history, line 7: the line is cut off"));
  auto missing = holdfast_command({"judge", folder_ / "nothing"});
  EXPECT_EQ(missing.wait(), 65);
  EXPECT_THAT(missing.err(), HasSubstr("can't be read: No such file"));
}

}  // namespace
