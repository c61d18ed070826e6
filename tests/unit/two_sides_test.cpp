// The queues of readers and of writers in one client, on a wire where the server lets readers in past a
// writer that waits: who waits here for whom, and for how long.

#include "unit/a_contention.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

class two_sides : public a_contention {
 public:
  ~two_sides() override { writers_->waiters.clear(); }

 protected:
  two_sides() : a_contention{recipes::redisson::reader} {}

  recorded_waiter& read() { return come(queue_); }
  recorded_waiter& write() { return come(writers_); }
  recorded_waiter& try_to_read() {
    pass(1ms);
    auto& caller = *callers_.emplace_back(std::make_unique<recorded_waiter>(queue_));
    caller.tries_only = true;
    loop_of_client_.membership.enter(caller, boot_clock::now());
    return caller;
  }
  /// The caller has asked, and sleeps.
  recorded_waiter& wait_to_write() { return sleep(write()); }
  recorded_waiter& wait_to_read() { return sleep(read()); }
  recorded_waiter& has(recorded_waiter& caller) {
    backend_.answer(granted_from(0));
    (void)backend_.take_sent();
    return caller;
  }
  void leave(recorded_waiter& caller) {
    loop_of_client_.membership.leave(caller, boot_clock::now());
    pass(1ms);
  }
  /// A release was published.
  void wake_all() {
    for (auto const& [channel, listener] : backend_.channels) listener->on_message("1");
  }

  lock_queue_ptr writers_ = pin(recipes::redisson::writer);

 private:
  recorded_waiter& come(lock_queue_ptr const& queue) {
    pass(1ms);
    auto& caller = *callers_.emplace_back(std::make_unique<recorded_waiter>(queue));
    loop_of_client_.membership.enter(caller, boot_clock::now());
    return caller;
  }
  recorded_waiter& sleep(recorded_waiter& caller) {
    backend_.answer(busy_for(10s));
    open_channels();
    while (!backend_.idle()) backend_.answer(busy_for(10s));
    (void)backend_.take_sent();
    return caller;
  }
};

TEST_F(two_sides, lets_no_reader_in_past_a_writer_that_waits) {
  auto& first = has(read());
  auto const& writing = wait_to_write();
  auto const& second = read();
  auto const& third = read();
  EXPECT_THAT(backend_.take_sent(), IsEmpty()) << "the server would let them in";
  EXPECT_FALSE(second.lease) << "it would share the acquisition of the first";
  (void)release(first);
  wake_all();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("release orders", "acquire 2"));
  backend_.answer(ownership::held);
  backend_.answer(granted_from(0));
  EXPECT_TRUE(writing.lease);
  pass(1ms);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 3"))
      << "the readers wait at the server from here on";
  backend_.answer(granted_from(0));
  EXPECT_TRUE(second.lease);
  EXPECT_TRUE(third.lease);
}

TEST_F(two_sides, tells_a_reader_that_only_tries_that_it_is_busy) {
  (void)has(read());
  wait_to_write();
  auto const& trying = try_to_read();
  EXPECT_EQ(trying.times_finished, 1);
  EXPECT_FALSE(trying.lease);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

TEST_F(two_sides, lets_readers_ask_when_the_writer_leaves) {
  (void)has(read());
  auto& writing = wait_to_write();
  auto const& second = read();
  leave(writing);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 3"));
  backend_.answer(granted_from(0));
  EXPECT_TRUE(second.lease);
}

TEST_F(two_sides, lets_readers_ask_when_only_a_writer_that_came_later_is_left) {
  (void)has(read());
  auto& writing = wait_to_write();
  read();
  write();
  leave(writing);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 3"));
}

TEST_F(two_sides, lets_readers_ask_when_the_writer_fails) {
  (void)has(read());
  wait_to_write();
  read();
  wake_all();
  backend_.refuse("ERR of another kind");
  pass(1ms);
  EXPECT_THAT(backend_.take_sent(), Contains("acquire 3"));
}

TEST_F(two_sides, forgets_a_reader_that_leaves_without_having_asked) {
  (void)has(read());
  wait_to_write();
  auto& second = read();
  leave(second);
  EXPECT_EQ(second.times_finished, 1);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
  EXPECT_FALSE(queue_->contender);
}

TEST_F(two_sides, holds_readers_back_while_those_of_this_client_read_and_no_longer_than_a_recheck_otherwise) {
  auto& first = has(read());
  wait_to_write();
  read();
  for (auto i = 0; i < 5; ++i) {
    pass(1s);
    while (!backend_.idle()) backend_.answer(busy_for(10s));  // to the writer, which asks again
  }
  EXPECT_THAT(backend_.take_sent(), testing::Not(Contains("acquire 3")));
  (void)release(first);
  pass(1s);
  EXPECT_THAT(backend_.take_sent(), Contains("acquire 3"))
      << "readers of other processes keep the writer out";
}

TEST_F(two_sides, asks_the_server_as_before_while_the_writer_has_no_answer) {
  (void)has(read());
  write();
  (void)backend_.take_sent();
  auto const& second = read();
  EXPECT_TRUE(second.lease) << "it shares what the first has";
}

TEST_F(two_sides, gives_readers_their_turn_before_a_writer_that_came_later) {
  auto& first = has(write());
  auto const& reading = wait_to_read();
  auto const& second = write();
  (void)release(first);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("release orders")) << "neither handed over nor passed on";
  backend_.answer(ownership::held);
  wake_all();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("acquire 2"));
  backend_.answer(granted_from(0));
  EXPECT_TRUE(reading.lease);
  pass(1ms);
  EXPECT_THAT(backend_.take_sent(), ElementsAre(StartsWith("acquire")));
  EXPECT_FALSE(second.lease);
}

TEST_F(two_sides, hands_over_to_a_writer_that_came_before_the_readers) {
  auto& first = has(write());
  auto const& second = write();
  wait_to_read();
  (void)release(first);
  EXPECT_TRUE(second.lease);
}

}  // namespace
}  // namespace holdfast::engine
