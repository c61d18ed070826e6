/// holdfast::shared_mutex on the plain wire: the lock of a mutex of its name, with tokens and an order.
#include "waiters.hpp"

#include <holdfast/inspect.hpp>

#include "script/names.hpp"

namespace holdfast::test {
namespace {

class plain_shared : public testing::Test {
 protected:
  [[nodiscard]] client connect() const { return client{server_.url(), with_long_timeouts({.recheck = 30s})}; }
  [[nodiscard]] bool has_waiters(std::size_t count) {
    return test::has_waiters(raw_, "m", names::queue("m"), count);
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client first_client_ = connect();
  client second_client_ = connect();
  client third_client_ = connect();
  shared_mutex m_{first_client_, "m"};
  shared_mutex remote_{second_client_, "m"};
  shared_mutex other_{third_client_, "m"};
};

TEST_F(plain_shared, is_the_mutex_of_its_name) {
  mutex exclusive{second_client_, "m"};
  {
    auto const reading = m_.acquire_shared();
    EXPECT_FALSE(exclusive.try_acquire());
    EXPECT_FALSE(exclusive.last_busy()->to_string().empty());
  }
  {
    auto const writing = m_.acquire();
    EXPECT_FALSE(exclusive.try_acquire());
  }
  auto const held = exclusive.acquire();
  EXPECT_FALSE(m_.try_acquire());
  EXPECT_FALSE(m_.try_acquire_shared());
}

TEST_F(plain_shared, is_a_lock_to_those_who_only_know_set_nx) {
  auto const set_nx = [this] {
    return raw_.command({"SET", "m", "of another library", "NX", "PX", "30000"});
  };
  {
    auto const reading = m_.acquire_shared();
    EXPECT_TRUE(set_nx().is_nil());
    EXPECT_GT(raw_.pttl("m"), 0);
  }
  EXPECT_EQ(set_nx().text, "OK");
  EXPECT_FALSE(m_.try_acquire_shared());
  EXPECT_FALSE(m_.try_acquire());
}

TEST_F(plain_shared, counts_on_from_reader_to_writer_and_back) {
  auto first = m_.acquire();
  auto const first_token = first.token();
  first.release();
  auto reader = m_.acquire_shared();
  auto other_reader = remote_.acquire_shared();
  EXPECT_GE(reader.token(), first_token);
  EXPECT_GE(other_reader.token(), first_token);
  auto const newest = std::max(reader.token(), other_reader.token());
  reader.release();
  other_reader.release();
  auto const next = remote_.acquire();
  EXPECT_GT(next.token(), newest);
}

TEST_F(plain_shared, lets_no_reader_past_a_writer_that_waits) {
  auto reading = m_.acquire_shared();
  pending writing;
  remote_.async_acquire(writing.handler());
  ASSERT_TRUE(has_waiters(1));
  EXPECT_FALSE(other_.try_acquire_shared());
  pending late;
  other_.async_acquire_shared(late.handler());
  ASSERT_TRUE(has_waiters(2));
  reading.release();
  ASSERT_TRUE(eventually([&] { return writing.done(); }));
  EXPECT_FALSE(late.done());
  auto writer_lease = *writing.take();
  writer_lease.release();
  EXPECT_TRUE(eventually([&] { return late.done(); }));
}

TEST_F(plain_shared, gives_the_lock_to_a_writer_however_short_it_has_waited) {
  shared_mutex patient{first_client_, "m", {.starvation_limit = 1h}};
  auto reading = patient.acquire_shared();
  pending writing;
  remote_.async_acquire(writing.handler());
  ASSERT_TRUE(has_waiters(1));
  ASSERT_TRUE(eventually([&] { return raw_.listeners(names::inbox(second_client_.uuid(), "m")) >= 1; }));
  reading.release();
  EXPECT_EQ(raw_.get("m").value_or("").substr(0, 36), second_client_.uuid())
      << "who is only told to ask may be overtaken";
  EXPECT_TRUE(eventually([&] { return writing.done(); }));
}

TEST_F(plain_shared, gives_the_place_of_a_reader_that_has_left_to_nobody) {
  auto writing = other_.acquire();
  std::stop_source stop;
  pending early;
  remote_.async_acquire_shared(early.handler(), stop.get_token());
  ASSERT_TRUE(has_waiters(1));
  pending next_writer;
  m_.async_acquire(next_writer.handler());
  ASSERT_TRUE(has_waiters(2));
  pending late;
  remote_.async_acquire_shared(late.handler());
  ASSERT_TRUE(eventually([&] { return second_client_.stats().waiting_now == 2; }));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] {
    auto const waiters = waiters_in(raw_, names::queue("m"));
    return waiters.size() == 2 && waiters.front().starts_with(first_client_.uuid());
  })) << "the one that is left came after the writer";
  writing.release();
  ASSERT_TRUE(eventually([&] { return next_writer.done(); }));
  EXPECT_FALSE(late.done());
  next_writer.take()->release();
  EXPECT_TRUE(eventually([&] { return late.done(); }));
}

TEST_F(plain_shared, lets_the_readers_at_the_head_in_together_and_wakes_nobody_else) {
  auto writing = m_.acquire();
  pending first;
  remote_.async_acquire_shared(first.handler());
  ASSERT_TRUE(has_waiters(1));
  pending second;
  other_.async_acquire_shared(second.handler());
  ASSERT_TRUE(has_waiters(2));
  auto fourth_client = connect();
  shared_mutex fourth{fourth_client, "m"};
  pending writer;
  fourth.async_acquire(writer.handler());
  ASSERT_TRUE(has_waiters(3));
  writing.release();
  EXPECT_TRUE(eventually([&] { return first.done() && second.done(); }));
  EXPECT_FALSE(writer.done());
  EXPECT_EQ(raw_.get("m"), names::held_by_readers);
  first.take()->release();
  EXPECT_FALSE(writer.done());
  second.take()->release();
  EXPECT_TRUE(eventually([&] { return writer.done(); }));
}

TEST_F(plain_shared, lets_readers_in_that_waited_behind_a_writer_that_leaves) {
  auto const reading = m_.acquire_shared();
  std::stop_source stop;
  pending writing;
  remote_.async_acquire(writing.handler(), stop.get_token());
  ASSERT_TRUE(has_waiters(1));
  pending late;
  other_.async_acquire_shared(late.handler());
  ASSERT_TRUE(has_waiters(2));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return late.done(); }));
}

TEST_F(plain_shared, lets_readers_in_that_would_wait_behind_a_dead_writer) {
  auto const reading = m_.acquire_shared();
  auto dead = worker::session(server_.url_for_workers(), "shared_mutex_inbox", "m", 30s);
  EXPECT_EQ(dead.reply_to("wait"), "waiting");
  ASSERT_TRUE(has_waiters(1));
  dead.kill9();
  EXPECT_TRUE(eventually([&] { return remote_.try_acquire_shared_for(1s).has_value(); }));
}

TEST_F(plain_shared, lets_readers_in_that_would_wait_behind_a_frozen_writer_until_it_goes_on) {
  client asking_client{server_.url(), with_long_timeouts({.recheck = 100ms})};
  shared_mutex asking{asking_client, "m"};
  auto const reading = m_.acquire_shared();
  auto frozen = worker::session(server_.url_for_workers(), "shared_mutex_inbox", "m", 30s);
  EXPECT_EQ(frozen.reply_to("wait"), "waiting");
  ASSERT_TRUE(has_waiters(1));
  frozen.freeze();
  pending late;
  asking.async_acquire_shared(late.handler());
  EXPECT_TRUE(eventually([&] { return late.done(); }));
  frozen.thaw();
  EXPECT_TRUE(has_waiters(1)) << "it asks again";
  EXPECT_FALSE(other_.try_acquire_shared());
}

TEST_F(plain_shared, gives_each_reader_a_time_of_its_own) {
  auto dead = worker::session(server_.url_for_workers(), std::string{shared_reader.title}, "m", 1s);
  EXPECT_EQ(dead.reply_to("acquire").rfind("held ", 0), 0u);
  dead.kill9();
  auto living = m_.acquire_shared();
  pending writing;
  remote_.async_acquire(writing.handler());
  ASSERT_TRUE(has_waiters(1));
  living.release();
  EXPECT_TRUE(eventually(10s, [&] { return writing.done(); })) << "30 s are those of the living one";
}

TEST_F(plain_shared, prefers_whom_it_is_told_to) {
  shared_mutex writers_first{second_client_, "m", {.policy = sharing_policy::prefer_writers}};
  shared_mutex readers_first{third_client_, "m", {.policy = sharing_policy::prefer_readers}};
  auto holding = m_.acquire_shared();
  pending writing;
  writers_first.async_acquire(writing.handler());
  ASSERT_TRUE(has_waiters(1));
  EXPECT_TRUE(readers_first.try_acquire_shared()) << "it doesn't wait for writers that wait";
  pending late;
  m_.async_acquire(late.handler());
  ASSERT_TRUE(has_waiters(2));
  auto fourth_client = connect();
  shared_mutex fourth{fourth_client, "m", {.policy = sharing_policy::prefer_writers}};
  holding.release();
  ASSERT_TRUE(eventually([&] { return writing.done(); }));
  pending preferred;
  fourth.async_acquire(preferred.handler());
  ASSERT_TRUE(has_waiters(2));
  writing.take()->release();
  ASSERT_TRUE(eventually([&] { return preferred.done(); }));
  EXPECT_FALSE(late.done()) << "it came earlier, but isn't preferred";
  preferred.take()->release();
  EXPECT_TRUE(eventually([&] { return late.done(); }));
}

TEST_F(plain_shared, shows_who_of_those_that_wait_goes_first_by_its_policy) {
  shared_mutex writers_first{second_client_, "m", {.policy = sharing_policy::prefer_writers}};
  shared_mutex readers_first{third_client_, "m", {.policy = sharing_policy::prefer_readers}};
  auto holding = m_.acquire();
  std::stop_source stop;
  pending late;
  remote_.async_acquire(late.handler(), stop.get_token());
  ASSERT_TRUE(has_waiters(1));
  pending reading;
  readers_first.async_acquire_shared(reading.handler(), stop.get_token());
  ASSERT_TRUE(has_waiters(2));
  auto fourth_client = connect();
  shared_mutex fourth{fourth_client, "m", {.policy = sharing_policy::prefer_writers}};
  pending writing;
  fourth.async_acquire(writing.handler(), stop.get_token());
  ASSERT_TRUE(has_waiters(3));
  auto const queue = inspect(first_client_, "m").queue;
  stop.request_stop();
  ASSERT_EQ(queue.size(), 3u);
  EXPECT_TRUE(queue[0].preferred);
  EXPECT_EQ(queue[0].side, hold_side::read);
  EXPECT_TRUE(queue[1].preferred);
  EXPECT_EQ(queue[1].side, hold_side::exclusive);
  EXPECT_FALSE(queue[2].preferred) << "it came first, but has no such policy";
  for (auto const& waiter : queue) EXPECT_LT(waiter.waited.value(), 1h);
}

TEST_F(plain_shared, releases_one_reader_by_force_under_either_of_its_ids) {
  for (auto const* const suffix : {"", ":r"}) {
    auto lease = m_.acquire_shared();
    auto const staying = remote_.acquire_shared();
    lease.on_lost([&lease](loss_cause) { lease.release(); });
    auto const owner = lease.owner().substr(0, lease.owner().size() - 2) + suffix;
    EXPECT_EQ(force_release(third_client_, "m", {.grace = 20s, .owner = owner}),
              force_result::released_by_holder);
    EXPECT_FALSE(lease.valid());
    EXPECT_TRUE(staying.valid());
  }
}

TEST_F(plain_shared, releases_by_force_more_readers_than_are_shown) {
  auto const time = raw_.command({"TIME"}).elements;
  auto const ends = std::to_string((std::stoll(time.at(0).text) + 600) * 1000);
  for (auto i = 0; i != 250; ++i) {
    auto const uuid = "11111111-1111-4111-8111-" + std::to_string(100'000'000'000 + i);
    raw_.command({"ZADD", "{m}:holdfast_readers", ends, uuid + ":1:r"});
  }
  raw_.command({"SET", "m", std::string{names::held_by_readers}, "PX", "600000"});
  EXPECT_EQ(peek(first_client_, "m").holding, 250);
  EXPECT_EQ(force_release(first_client_, "m", {.grace = 10ms}), force_result::deleted);
  EXPECT_FALSE(raw_.exists("m"));
}

TEST_F(plain_shared, knows_readers_whose_set_the_server_has_lost) {
  auto const lease = m_.acquire_shared();
  raw_.del("{m}:holdfast_readers");
  auto const state = inspect(second_client_, "m");
  EXPECT_EQ(state.kind, lock_kind::read_write);
  EXPECT_EQ(state.holding, 0);
  EXPECT_FALSE(remote_.try_acquire());
  EXPECT_EQ(force_release(second_client_, "m", {.grace = 10ms}), force_result::deleted);
  EXPECT_TRUE(remote_.try_acquire());
}

TEST_F(plain_shared, shows_who_reads_and_who_waits) {
  auto const reading = m_.acquire_shared();
  pending writing;
  remote_.async_acquire(writing.handler());
  ASSERT_TRUE(has_waiters(1));
  pending late;
  other_.async_acquire_shared(late.handler());
  ASSERT_TRUE(has_waiters(2));
  auto const state = inspect(first_client_, "m");
  EXPECT_EQ(state.kind, lock_kind::read_write);
  EXPECT_EQ(state.wire, wire::plain);
  EXPECT_EQ(state.holding, 1);
  ASSERT_EQ(state.holders.size(), 1u);
  EXPECT_EQ(state.holders[0].side, hold_side::read);
  EXPECT_EQ(state.holders[0].process.owner + ":r", reading.owner());
  ASSERT_EQ(state.queue.size(), 2u);
  EXPECT_EQ(state.queue[0].side, hold_side::exclusive);
  EXPECT_EQ(state.queue[1].side, hold_side::read);
}

}  // namespace
}  // namespace holdfast::test
