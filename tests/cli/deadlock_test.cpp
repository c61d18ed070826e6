// `holdfast run --detect-deadlock` and `holdfast doctor --deadlocks`.
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;

class deadlock_command : public testing::Test {
 protected:
  /// `holdfast run OUTER -- holdfast run --detect-deadlock INNER -- true`, the inner one when `begin` is
  /// there.
  process start(std::string const& outer, std::string const& inner, std::string const& begin) {
    return holdfast_run(
        server_.url(), {"--label", "holds " + outer}, outer,
        shell("until [ -e " + begin + " ]; do sleep 0.05; done; exec " HOLDFAST_CLI " run --label 'wants " +
              inner + "' --detect-deadlock " + inner + " -- true"));
  }
  [[nodiscard]] bool is_said(std::size_t locks) {
    return eventually([&] { return raw_.keys("*holdfast_blocked*").size() == locks; });
  }
  process doctor(words const& more = {}) const {
    words arguments{"doctor", "--deadlocks", "--url", server_.url()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return holdfast_command(arguments);
  }

  redis_server const server_;
  raw_redis raw_ = server_.raw();
  temporary_folder const folder_;
};

TEST_F(deadlock_command, ends_the_younger_of_two_runs_in_the_commands_of_others) {
  auto nothing = doctor();
  EXPECT_EQ(nothing.wait(), 0) << nothing.err();
  EXPECT_THAT(nothing.out(), HasSubstr("no deadlock"));
  auto older = start("a", "b", folder_ / "first");
  auto younger = start("b", "a", folder_ / "second");
  ASSERT_TRUE(eventually([&] { return raw_.exists("a") && raw_.exists("b"); }));
  std::ofstream{folder_ / "first"};
  ASSERT_TRUE(is_said(1));
  std::ofstream{folder_ / "second"};
  ASSERT_TRUE(is_said(2));
  auto seen = doctor({"--json"});
  EXPECT_EQ(younger.wait(), 75) << younger.err();
  EXPECT_THAT(younger.err(), HasSubstr("'wants a' waits for \"a\", held by "));
  EXPECT_THAT(younger.err(), HasSubstr("'holds a', in whose command "));
  EXPECT_THAT(younger.err(), HasSubstr("'wants b' runs, which waits for \"b\""));
  EXPECT_EQ(older.wait(), 0) << older.err();
  auto const code = seen.wait();
  auto const json = nlohmann::json::parse(seen.out());
  // On a busy machine it may have looked too late.
  EXPECT_EQ(code, json.at("deadlocks").empty() ? 0 : 78) << seen.err();
  if (code == 78) {
    auto const& circle = json.at("deadlocks").at(0);
    ASSERT_EQ(circle.size(), 2u);
    EXPECT_EQ(circle[0].at("name"), "a");
    EXPECT_EQ(circle[0].at("waiter").at("label"), "wants a");
    EXPECT_EQ(circle[1].at("holder").at("label"), "holds b");
  }
  EXPECT_TRUE(is_said(0));
}

TEST_F(deadlock_command, lets_runs_wait_that_are_in_no_circle) {
  auto holder = holdfast_run(server_.url(), {}, "b", {"sleep", "3"});
  ASSERT_TRUE(eventually([&] { return raw_.exists("b"); }));
  std::ofstream{folder_ / "now"};
  auto waits = start("a", "b", folder_ / "now");
  EXPECT_EQ(waits.wait(), 0) << waits.err();
  EXPECT_EQ(holder.wait(), 0) << holder.err();
}

}  // namespace
