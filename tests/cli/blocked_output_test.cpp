// `holdfast acquire` and `hold` while nobody reads their stdout.
#include "full_pipe.hpp"
#include "holdfast_command.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gmock/gmock.h>

#include <signal.h>

#include <optional>
#include <string>

namespace {

using namespace holdfast::test;
using testing::HasSubstr;

class blocked_output : public testing::Test {
 protected:
  /// Starts the command, and waits until it has the lock.
  process start(std::string const& arguments) {
    process taker{shell("exec " HOLDFAST_CLI " " + arguments + " job < /dev/null > " + (folder / "out")),
                  {{"HOLDFAST_URL", server.url()}}};
    EXPECT_TRUE(eventually([&] { return redis.exists("job"); })) << taker.err();
    return taker;
  }

  redis_server server;
  raw_redis redis = server.raw();
  temporary_folder const folder;
  full_pipe const out{folder / "out"};
};

TEST_F(blocked_output, does_not_keep_a_lock_from_others_when_a_signal_comes) {
  for (std::string const command : {"hold --ttl 10m", "acquire --ttl 10m"}) {
    for (int const signal : {SIGTERM, SIGINT}) {
      auto taker = start(command);
      taker.signal(signal);
      EXPECT_EQ(taker.wait(), 128 + signal) << command;
      EXPECT_FALSE(redis.exists("job")) << command;
    }
  }
}

TEST_F(blocked_output, does_not_have_acquire_renew_its_lock) {
  auto taker = start("acquire --ttl 1s");
  EXPECT_EQ(taker.wait(), 79);
  EXPECT_THAT(taker.err(), HasSubstr("lock \"job\" was lost before stdout took its owner id"));
}

TEST_F(blocked_output, is_written_when_it_is_read) {
  auto taker = start("acquire --ttl 10m");
  auto const owner = redis.get("job").value();
  EXPECT_THAT(out.read_until_end_of(taker), HasSubstr(owner));
  EXPECT_EQ(taker.wait(), 0) << taker.err();
  EXPECT_TRUE(redis.exists("job"));
}

}  // namespace
