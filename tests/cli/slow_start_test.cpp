// `holdfast run` between the grant of the lock and the execution of its command.
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace {

using namespace holdfast::test;

/// A program whose execution waits until it is released, as on a slow file system: by a lease of the kernel
/// on its file, which may last 45 s.
class slow_program {
 public:
  slow_program(std::string const& path, std::string const& text) {
    std::ofstream{path} << text;
    chmod(path.c_str(), 0700);
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    fcntl(file_, F_SETSIG, SIGURG);  // which is ignored
    held_ = fcntl(file_, F_SETLEASE, F_WRLCK) == 0;
  }
  ~slow_program() { close(file_); }
  slow_program(slow_program const&) = delete;
  slow_program& operator=(slow_program const&) = delete;

  [[nodiscard]] bool is_held() const { return held_; }
  [[nodiscard]] bool is_asked_for() const { return fcntl(file_, F_GETLEASE) != F_WRLCK; }
  void release() const { fcntl(file_, F_SETLEASE, F_UNLCK); }

 private:
  int file_ = -1;
  bool held_ = false;
};

class slow_start : public testing::Test {
 protected:
  redis_server server;
  raw_redis redis = server.raw();
  temporary_folder const folder;
};

TEST_F(slow_start, beyond_the_ttl_leaves_a_command_alone_whose_lock_is_renewed) {
  slow_program const program{folder / "program", "#!/bin/sh\nexit 7\n"};
  if (!program.is_held()) GTEST_SKIP() << "this file system has no leases";
  auto job = holdfast_run(server.url(), {"--ttl", "1s"}, "job", {folder / "program"});
  ASSERT_TRUE(eventually([&] { return program.is_asked_for(); })) << job.err();
  EXPECT_TRUE(passes(redis, 2'500ms));
  program.release();
  EXPECT_EQ(job.wait(), 7);
  EXPECT_EQ(job.err(), "");
}

TEST_F(slow_start, ends_when_the_lock_is_lost_meanwhile) {
  slow_program const program{folder / "program", "#!/bin/sh\necho ran\n"};
  if (!program.is_held()) GTEST_SKIP() << "this file system has no leases";
  auto job = holdfast_run(server.url(), {"--ttl", "1s"}, "job", {folder / "program"});
  ASSERT_TRUE(eventually([&] { return program.is_asked_for(); })) << job.err();
  redis.command({"SET", "job", "somebody else", "PX", "60000"});
  EXPECT_EQ(job.wait(), 79) << job.err();
  EXPECT_EQ(job.out(), "");
}

TEST_F(slow_start, is_ended_by_a_signal_to_holdfast_alone) {
  slow_program const program{folder / "program", "#!/bin/sh\necho ran\n"};
  if (!program.is_held()) GTEST_SKIP() << "this file system has no leases";
  auto job = holdfast_run(server.url(), {}, "job", {folder / "program"});
  ASSERT_TRUE(eventually([&] { return program.is_asked_for(); })) << job.err();
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(wait_limit), 128 + SIGTERM) << job.err();
  EXPECT_EQ(job.out(), "");
  EXPECT_FALSE(redis.exists("job"));
}

TEST_F(slow_start, is_not_taken_for_a_standstill_of_holdfast) {
  slow_program const program{folder / "program", "#!/bin/sh\necho ready; exec sleep 60\n"};
  if (!program.is_held()) GTEST_SKIP() << "this file system has no leases";
  auto job = holdfast_run(server.url(), {"--ttl", "3s"}, "job", {folder / "program"});
  ASSERT_TRUE(eventually([&] { return program.is_asked_for(); })) << job.err();
  EXPECT_TRUE(passes(redis, 1'500ms));
  program.release();
  ASSERT_TRUE(eventually([&] { return job.out() == "ready\n"; }));
  redis.del("job");
  EXPECT_EQ(job.wait(), 79);
  EXPECT_EQ(job.err().find("stood still"), std::string::npos) << job.err();
}

TEST_F(slow_start, ends_long_before_the_ttl_when_the_lock_is_released_by_force) {
  slow_program const program{folder / "program", "#!/bin/sh\necho ran\n"};
  if (!program.is_held()) GTEST_SKIP() << "this file system has no leases";
  auto job = holdfast_run(server.url(), {"--ttl", "1h"}, "job", {folder / "program"});
  ASSERT_TRUE(eventually([&] { return program.is_asked_for(); })) << job.err();
  process{{HOLDFAST_CLI, "release", "--force", "--yes", "job"}, {{"HOLDFAST_URL", server.url()}}}.wait();
  EXPECT_EQ(job.wait(wait_limit), 79) << job.err();
  EXPECT_EQ(job.out(), "");
}

}  // namespace
