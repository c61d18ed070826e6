// The messages of `holdfast run` where a signal stops or ends a process that writes them.
#include "holdfast_command.hpp"
#include "support/redis_server.hpp"
#include "support/sanitizers.hpp"
#include "support/terminal_window.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;

TEST(messages_of_run, do_not_stop_it_in_the_background_of_a_terminal_that_stops_writers) {
  redis_server server;
  terminal_window window{
      {"bash", "-c", "stty tostop; set -m; " HOLDFAST_CLI " run -v job -- true & wait $!; echo code-$?"},
      {{"HOLDFAST_URL", server.url()}}};
  EXPECT_TRUE(window.shows("code-0")) << window.seen();
  EXPECT_THAT(window.seen(), HasSubstr("lock \"job\" released"));
}

TEST(messages_of_run, do_not_end_it_where_they_go_to_a_file_that_must_not_grow) {
  if (under_thread_sanitizer) GTEST_SKIP() << "its runtime writes to a file of its own at the start";
  redis_server server;
  temporary_folder const folder;
  process job{shell("ulimit -f 0; exec " HOLDFAST_CLI " run -v job -- touch " + (folder / "ran") + " 2>> " +
                    (folder / "messages")),
              {{"HOLDFAST_URL", server.url()}}};
  EXPECT_EQ(job.wait(), 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "ran"));
}

}  // namespace
