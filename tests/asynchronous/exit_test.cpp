/// exit() with leases held on an event loop.
#include <stdexcept>
#include <string>

#include "exiting.hpp"
#include "net.hpp"
#include "support/redis_server.hpp"

namespace holdfast::test {
namespace {

class exit_on_an_event_loop : public testing::TestWithParam<char const*> {
 protected:
  redis_server server_ = redis_server::with({});
  raw_redis raw_ = server_.raw();
  line_process process_ = exiting(GetParam(), server_.url());
};

class quick_exit_on_an_event_loop : public exit_on_an_event_loop {};

TEST_P(exit_on_an_event_loop, gives_back_what_is_held_and_gives_it_to_nobody) {
  ASSERT_EQ(process_.read_line(), "ready");
  EXPECT_TRUE(raw_.exists("orders"));
  process_.write_line("exit");
  EXPECT_EQ(process_.wait(), 0);
  EXPECT_THROW((void)process_.read_line(), std::runtime_error) << "another of its threads got the lock";
  EXPECT_TRUE(nothing_left_behind(raw_));
}

TEST_P(exit_on_an_event_loop, ends_within_a_bound_when_the_server_does_not_answer) {
  ASSERT_EQ(process_.read_line(), "ready");
  server_.freeze();
  process_.write_line("exit");
  EXPECT_EQ(process_.wait(15s), 0);
  server_.thaw();
}

TEST_P(quick_exit_on_an_event_loop, leaves_the_lock_to_its_ttl) {
  ASSERT_EQ(process_.read_line(), "ready");
  process_.write_line("exit");
  EXPECT_EQ(process_.wait(), 0);
  EXPECT_TRUE(nothing_left_behind(raw_));
}

std::string words_as_name(testing::TestParamInfo<char const*> const& of) {
  std::string name = of.param;
  for (auto& letter : name) {
    if (letter == ' ') letter = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(, exit_on_an_event_loop,
                         testing::Values("while the event loop stands still", "while another thread runs it",
                                         "in a handler", "in a callback", "while threads wait",
                                         "with static objects", "while a callback waits for the main thread",
                                         "after the end of the io_context"),
                         words_as_name);
INSTANTIATE_TEST_SUITE_P(, quick_exit_on_an_event_loop, testing::Values("quickly"), words_as_name);

}  // namespace
}  // namespace holdfast::test
