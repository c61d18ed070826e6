#include "history/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
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

}  // namespace
}  // namespace holdfast::history
