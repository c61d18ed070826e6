/// Permits without leases on Redisson's wire, which knows no owners of them: counted over all clients, with
/// waiters, wake-ups and releases.
#include "waiting.hpp"

#include <holdfast/semaphore.hpp>

#include <gmock/gmock.h>

namespace holdfast::test {
namespace {

std::string const semaphore_channel = "redisson_sc:{uploads}";
constexpr waiting_options on_redisson{.wire = wire::redisson};

class counting : public two_clients {
 protected:
  semaphore local_{first_client_, "uploads", on_redisson};
  semaphore remote_{second_client_, "uploads", on_redisson};
};

TEST_F(counting, is_given_its_permits_once) {
  EXPECT_FALSE(local_.exists());
  EXPECT_EQ(local_.available(), 0);
  EXPECT_TRUE(local_.try_set_permits(3));
  EXPECT_FALSE(remote_.try_set_permits(9));
  EXPECT_TRUE(remote_.exists());
  EXPECT_EQ(remote_.available(), 3);
}

TEST_F(counting, has_the_size_that_it_was_constructed_with) {
  semaphore first{first_client_, "uploads", 3, on_redisson};
  semaphore second{second_client_, "uploads", 9, on_redisson};
  EXPECT_FALSE(first.exists()) << "the constructor asks no server";
  EXPECT_TRUE(first.try_acquire(2));
  EXPECT_TRUE(second.try_acquire());
  EXPECT_FALSE(second.try_acquire()) << "the first one has given it its size";
  EXPECT_EQ(code_of([&] { semaphore const s{first_client_, "uploads", -1, on_redisson}; }),
            std::errc::invalid_argument);
  pending_wait waiting;
  second.async_acquire(waiting.handler());
  first.release();
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
  EXPECT_EQ(raw_.get("uploads"), "0");
}

TEST_F(counting, lets_in_whoever_waits_for_a_size_that_a_newcomer_knows) {
  pending_wait waiting;
  local_.async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(first_client_, semaphore_channel));
  semaphore newcomer{second_client_, "uploads", 2, on_redisson};
  EXPECT_TRUE(newcomer.try_acquire());
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
  EXPECT_EQ(raw_.get("uploads"), "0");
}

TEST_F(counting, gives_out_no_more_than_it_has_to_two_clients) {
  local_.try_set_permits(3);
  local_.acquire(2);
  EXPECT_FALSE(remote_.try_acquire(2));
  EXPECT_TRUE(remote_.try_acquire());
  EXPECT_FALSE(local_.try_acquire());
  local_.release(2);
  EXPECT_TRUE(remote_.try_acquire(2));
  EXPECT_EQ(local_.available(), 0);
  EXPECT_EQ(raw_.get("uploads"), "0");
}

TEST_F(counting, wakes_a_waiter_of_another_client_by_message) {
  local_.try_set_permits(2);
  local_.acquire(2);
  pending_wait waiting;
  remote_.async_acquire(waiting.handler(), 2);
  ASSERT_TRUE(waits_for(second_client_, semaphore_channel));
  local_.release();
  EXPECT_TRUE(always(100ms, [&] { return !waiting.done(); }));
  local_.release();
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
  EXPECT_EQ(local_.available(), 0);
}

TEST_F(counting, lets_in_as_many_as_are_told_at_once) {
  local_.try_set_permits(0);
  std::vector<pending_wait> all(8);
  for (std::size_t i = 0; i < all.size(); ++i)
    (i % 2 == 0 ? local_ : remote_).async_acquire(all[i].handler());
  ASSERT_TRUE(waits_for(first_client_, semaphore_channel) && waits_for(second_client_, semaphore_channel));
  client third{server_.url(), with_long_timeouts()};
  semaphore giver{third, "uploads", on_redisson};
  giver.release(6);
  auto const served_count = [&] {
    return std::count_if(all.begin(), all.end(), [](pending_wait const& p) { return p.succeeded(); });
  };
  EXPECT_TRUE(eventually([&] { return served_count() == 6; }));
  EXPECT_TRUE(always(100ms, [&] { return served_count() == 6; }));
  giver.release(2);
  EXPECT_TRUE(eventually([&] { return served_count() == 8; }));
  EXPECT_EQ(giver.available(), 0);
}

TEST_F(counting, is_woken_by_what_java_sends) {
  local_.try_set_permits(0);
  pending_wait waiting;
  local_.async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(first_client_, semaphore_channel));
  for (auto const* const message : {"", "-3", "hello", "9999999999999999999999"})
    raw_.publish(semaphore_channel, message);
  EXPECT_TRUE(always(100ms, [&] { return !waiting.done(); }));
  raw_.command({"INCRBY", "uploads", "1"});
  raw_.publish(semaphore_channel, "1");
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
}

TEST_F(counting, does_not_let_a_small_wish_overtake_a_big_one_of_its_process) {
  local_.try_set_permits(1);
  pending_wait big;
  pending_wait small;
  local_.async_acquire(big.handler(), 3);
  ASSERT_TRUE(waits_for(first_client_, semaphore_channel));
  local_.async_acquire(small.handler(), 1);
  EXPECT_FALSE(local_.try_acquire());
  EXPECT_TRUE(always(100ms, [&] { return !big.done() && !small.done(); }));
  remote_.release(2);
  EXPECT_TRUE(eventually([&] { return big.succeeded(); }));
  EXPECT_TRUE(always(100ms, [&] { return !small.done(); }));
  remote_.release();
  EXPECT_TRUE(eventually([&] { return small.succeeded(); }));
}

TEST_F(counting, waits_its_time_when_it_was_never_given_permits) {
  auto const start = boot_now();
  EXPECT_FALSE(local_.try_acquire_for(200ms));
  EXPECT_GE(boot_now() - start, 200'000'000);
  EXPECT_FALSE(local_.exists());
  EXPECT_FALSE(local_.try_acquire_until(std::chrono::system_clock::now() - 1s));
  EXPECT_THAT(raw_.keys("uploads*"), testing::IsEmpty());
}

TEST_F(counting, gives_nothing_to_a_waiter_that_was_cancelled) {
  local_.try_set_permits(0);
  std::stop_source stop;
  pending_wait cancelled;
  pending_wait patient;
  local_.async_acquire(cancelled.handler(), 2, stop.get_token());
  ASSERT_TRUE(waits_for(first_client_, semaphore_channel));
  local_.async_acquire(patient.handler(), 1);
  stop.request_stop();
  ASSERT_TRUE(eventually([&] { return cancelled.failed(); }));
  remote_.release(2);
  EXPECT_TRUE(eventually([&] { return patient.succeeded(); }));
  EXPECT_EQ(remote_.available(), 1);
  EXPECT_EQ(code_of([&] { local_.acquire(1, stop.get_token()); }), errc::cancelled);
  EXPECT_EQ(remote_.available(), 1);
}

TEST_F(counting, adds_takes_away_and_drains) {
  local_.try_set_permits(5);
  local_.acquire(2);
  remote_.add_permits(-5);
  EXPECT_EQ(local_.available(), -2);
  EXPECT_FALSE(local_.try_acquire());
  local_.release(2);
  EXPECT_EQ(remote_.available(), 0);
  remote_.add_permits(4);
  EXPECT_EQ(local_.drain(), 4);
  EXPECT_EQ(local_.drain(), 0);
  EXPECT_EQ(remote_.available(), 0);
}

TEST_F(counting, gets_its_permits_within_recheck_when_every_message_is_lost) {
  HOLDFAST_ON_ONE_SERVER("the proxy that loses messages stands before one");
  flaky_proxy proxy{server_.socket_path()};
  proxy.swallow_messages(true);
  client deaf{proxy.url(), with_long_timeouts({.recheck = 500ms})};
  semaphore wanted{deaf, "uploads", on_redisson};
  pending_wait waiting;
  wanted.async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(deaf, semaphore_channel));
  local_.release();
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
}

TEST_F(counting, gets_its_permits_by_polling) {
  client polling{server_.url(), with_long_timeouts()};
  semaphore wanted{polling, "uploads", {.wake = wake::poll, .wire = wire::redisson}};
  pending_wait waiting;
  wanted.async_acquire(waiting.handler());
  ASSERT_TRUE(eventually([&] { return polling.stats().rechecks >= 3; }));
  EXPECT_EQ(raw_.listeners(semaphore_channel), 0);
  local_.release();
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
}

TEST_F(counting, goes_on_when_the_server_has_lost_its_data) {
  client redis{server_.url(), with_long_timeouts({.recheck = 300ms})};
  semaphore wanted{redis, "uploads", on_redisson};
  local_.try_set_permits(0);
  pending_wait waiting;
  wanted.async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(redis, semaphore_channel));
  raw_.command({"FLUSHALL"});
  raw_.command({"SET", "uploads", "1"});
  EXPECT_TRUE(eventually([&] { return waiting.succeeded(); }));
}

TEST_F(counting, leaves_but_notes_behind_that_run_out) {
  local_.try_set_permits(2);
  for (auto i = 0; i < 20; ++i) {
    local_.acquire();
    local_.release();
  }
  auto notes = 0;
  for (auto const& key : leftover_keys(raw_)) {
    if (key == "uploads") continue;
    EXPECT_EQ(key.rfind("{uploads}:holdfast_done:", 0), 0u) << key;
    EXPECT_GT(raw_.pttl(key), 0) << key;
    ++notes;
  }
  EXPECT_LE(notes, 21) << "of the releases only the last one may be there: each clears away the one before";
}

TEST_F(counting, refuses_numbers_and_names_out_of_range) {
  for (auto const bad : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31}) {
    EXPECT_EQ(code_of([&] { local_.acquire(bad); }), std::errc::invalid_argument) << bad;
    EXPECT_EQ(code_of([&] { (void)local_.try_acquire(bad); }), std::errc::invalid_argument) << bad;
    EXPECT_EQ(code_of([&] { local_.release(bad); }), std::errc::invalid_argument) << bad;
  }
  EXPECT_EQ(code_of([&] { (void)local_.try_set_permits(-1); }), std::errc::invalid_argument);
  EXPECT_EQ(message_of([&] { local_.release(-7); }),
            "the number of permits to release to \"uploads\" must be from 1 to 2147483647, not -7");
  for (auto const* const name : {"", "a{b", "a}b", "{}z"})
    EXPECT_EQ(code_of([&] { semaphore const s{first_client_, name, on_redisson}; }),
              std::errc::invalid_argument)
        << name;
  EXPECT_EQ(code_of([&] { semaphore const s{first_client_, "a", {.poll_floor = 0ms}}; }),
            std::errc::invalid_argument);
}

TEST_F(counting, says_what_it_found_under_its_name) {
  HOLDFAST_ON_ONE_SERVER("it looks for the name of the one");
  raw_.command({"HSET", "uploads", "a", "1"});
  for (auto const& call : std::vector<std::function<void()>>{
           [&] { local_.acquire(); }, [&] { local_.release(); }, [&] { (void)local_.available(); },
           [&] { (void)local_.drain(); }, [&] { (void)local_.try_set_permits(1); }}) {
    EXPECT_EQ(code_of(call), errc::wrong_type);
    EXPECT_THAT(message_of(call),
                testing::AllOf(testing::HasSubstr("\"uploads\""), testing::HasSubstr("a hash"),
                               testing::HasSubstr("not the number of permits of a semaphore"),
                               testing::HasSubstr(server_.socket_path())));
  }
}

}  // namespace
}  // namespace holdfast::test
