// `holdfast run` and `lead` while nobody reads their messages.
#include "full_pipe.hpp"
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <signal.h>

#include <chrono>
#include <string>

namespace {

using namespace holdfast::test;
using namespace std::chrono_literals;
using testing::HasSubstr;

class blocked_messages : public testing::Test {
 protected:
  [[nodiscard]] process start(std::string const& arguments) const {
    return process{shell("exec " HOLDFAST_CLI " " + arguments + " 2> " + (folder / "messages")),
                   {{"HOLDFAST_URL", server.url()}}};
  }

  redis_server server;
  temporary_folder const folder;
  full_pipe const messages{folder / "messages"};
};

TEST_F(blocked_messages, between_turns_delay_neither_the_next_one_nor_the_end_by_a_signal) {
  for (std::string const command : {"lead -v", "run --again=always"}) {
    auto job = start(command + " job -- echo turn");
    EXPECT_TRUE(eventually([&] { return job.out().starts_with("turn\nturn\n"); })) << command;
    job.signal(SIGTERM);
    EXPECT_NO_THROW(job.wait()) << command;
  }
}

TEST_F(blocked_messages, are_read_between_turns) {
  auto job = start("run --again=always job -- echo turn");
  ASSERT_TRUE(eventually([&] { return job.out().starts_with("turn\n"); }));
  EXPECT_THAT(messages.read_until([](auto const& text) { return text.find("again in") != text.npos; }),
              HasSubstr("lock \"job\": again in "));
  job.signal(SIGTERM);
  EXPECT_NO_THROW(job.wait());
}

TEST_F(blocked_messages, about_a_failure_wait_for_their_reader) {
  auto job = start("run job -- /no/such/program");
  EXPECT_TRUE(always(500ms, [&] { return !job.exit_code(); }));
  EXPECT_THAT(messages.read_until_end_of(job), HasSubstr("/no/such/program"));
  EXPECT_EQ(job.wait(), 127);
}

TEST_F(blocked_messages, about_a_failure_do_not_outlast_a_signal) {
  auto job = start("run job -- /no/such/program");
  EXPECT_TRUE(always(1s, [&] { return !job.exit_code(); }));
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
}

TEST_F(blocked_messages, are_not_waited_with_when_a_signal_has_ended_the_command) {
  auto job = start("run -v job -- sh -c 'echo ready; exec sleep 60'");
  EXPECT_TRUE(eventually([&] { return job.out() == "ready\n"; }));
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
  EXPECT_FALSE(server.raw().exists("job"));
}

}  // namespace
