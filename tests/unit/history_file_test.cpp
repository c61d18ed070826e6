#include "history/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <system_error>

#include "support/process.hpp"

namespace holdfast::history {
namespace {

TEST(history_file, of_a_pipe_whose_reader_has_gone_is_an_error_and_not_the_end_of_the_process) {
  test::temporary_folder const folder;
  auto const path = (folder.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  auto const reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  file written{path};
  EXPECT_FALSE(written.write("a line\n"));
  ::close(reader);
  EXPECT_EQ(written.write("a line\n"), std::errc::broken_pipe);
  EXPECT_EQ(written.write("a line\n"), std::errc::broken_pipe);
}

/// The limit of a file's size stands for a full disk.
TEST(history_file, keeps_whole_lines_where_there_is_no_more_space) {
  test::temporary_folder const folder;
  auto const path = (folder.path() / "history").string();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  file written{path};
  auto limit = before;
  limit.rlim_cur = 20;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  auto const first = written.write("first\n");
  auto const second = written.write("second\nthird, which is longer\n");
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_FALSE(first);
  EXPECT_EQ(second, std::errc::no_space_on_device);
  EXPECT_EQ(test::content_of(path), "first\nsecond\n");
}

}  // namespace
}  // namespace holdfast::history
