/// holdfast::shared_mutex as leases, on either wire: readers together, a writer alone.
#include "sharing.hpp"

namespace holdfast::test {
namespace {

INSTANTIATE_TEST_SUITE_P(every, shared_on_either_wire, testing::Values(wire::plain, wire::redisson),
                         [](testing::TestParamInfo<wire> const& info) {
                           return std::string{info.param == wire::plain ? "plain" : "redisson"};
                         });

TEST_P(shared_on_either_wire, lets_readers_in_together_and_a_writer_when_the_last_has_gone) {
  auto first = m_.acquire_shared();
  auto second = m_.try_acquire_shared();
  auto third = remote_.try_acquire_shared();
  ASSERT_TRUE(second && third);
  EXPECT_FALSE(m_.try_acquire());
  EXPECT_FALSE(remote_.try_acquire());
  EXPECT_EQ(first.release(), release_result::released);
  EXPECT_EQ(second->release(), release_result::released);
  EXPECT_FALSE(remote_.try_acquire()) << "the third still reads";
  EXPECT_EQ(third->release(), release_result::released);
  EXPECT_TRUE(remote_.try_acquire());
  EXPECT_TRUE(leftover_keys(raw_).empty());
}

TEST_P(shared_on_either_wire, lets_a_writer_in_alone) {
  auto writing = m_.acquire();
  EXPECT_EQ(writing.token() == 0, on_redisson());
  EXPECT_TRUE(is_in(writing));
  EXPECT_FALSE(m_.try_acquire());
  EXPECT_FALSE(m_.try_acquire_shared());
  EXPECT_FALSE(remote_.try_acquire());
  EXPECT_FALSE(remote_.try_acquire_shared());
  EXPECT_EQ(writing.release(), release_result::released);
  EXPECT_TRUE(leftover_keys(raw_).empty());
}

TEST_P(shared_on_either_wire, has_readers_of_one_process_that_come_together_share_what_the_server_sees) {
  std::vector<lease> readers;
  if (!on_redisson()) GTEST_SKIP() << "they share for no longer than a millisecond";
  shared_mutex patient{first_client_, "m", {.ttl = 10min, .handoff_limit = 100, .handoff_time = 60s}};
  readers.push_back(patient.acquire_shared());
  auto const commands = commands_at_rest(first_client_, raw_);
  for (auto i = 0; i < 100; ++i) readers.push_back(patient.acquire_shared());
  EXPECT_TRUE(has_sent_nothing(first_client_, commands));
  for (auto const& reader : readers) EXPECT_EQ(reader.owner(), readers.front().owner());
  while (readers.size() > 1) readers.pop_back();
  EXPECT_TRUE(is_in(readers.front())) << "the last one has it for all";
  readers.clear();
  EXPECT_TRUE(leftover_keys(raw_).empty());
}

TEST_P(shared_on_either_wire, wakes_a_writer_of_another_process_when_the_last_reader_goes) {
  auto first = m_.acquire_shared();
  auto second = m_.acquire_shared();
  pending writing;
  remote_.async_acquire(writing.handler());
  ASSERT_TRUE(waits(second_client_));
  first.release();
  second.release();
  EXPECT_TRUE(eventually([&] { return writing.done(); }));
  EXPECT_TRUE(writing.take());
}

TEST_P(shared_on_either_wire, wakes_all_readers_of_another_process_when_the_writer_goes) {
  auto writing = m_.acquire();
  std::vector<pending> readers(5);
  for (auto& reader : readers) remote_.async_acquire_shared(reader.handler());
  ASSERT_TRUE(waits(second_client_));
  writing.release();
  for (auto& reader : readers) EXPECT_TRUE(eventually([&] { return reader.done(); }));
  std::vector<lease> together;
  for (auto& reader : readers) together.push_back(*reader.take());
  for (auto const& reader : together) EXPECT_TRUE(reader.valid());
}

TEST_P(shared_on_either_wire, wakes_readers_and_writers_of_its_own_process) {
  auto writing = m_.acquire();
  pending reading;
  m_.async_acquire_shared(reading.handler());
  ASSERT_TRUE(waits(first_client_));
  writing.release();
  ASSERT_TRUE(eventually([&] { return reading.done(); }));
  auto reader = reading.take();
  pending next;
  m_.async_acquire(next.handler());
  ASSERT_TRUE(eventually([&] { return first_client_.stats().waits == 2; }));
  reader->release();
  EXPECT_TRUE(eventually([&] { return next.done(); }));
}

TEST_P(shared_on_either_wire, has_readers_wait_behind_a_writer_of_their_process_until_it_had_its_turn) {
  auto first = unshared_.acquire_shared();
  pending writing;
  unshared_.async_acquire(writing.handler());
  ASSERT_TRUE(waits(first_client_));
  EXPECT_FALSE(unshared_.try_acquire_shared());
  EXPECT_FALSE(unshared_.try_acquire_shared_for(50ms));
  pending late;
  unshared_.async_acquire_shared(late.handler());
  first.release();
  ASSERT_TRUE(eventually([&] { return writing.done(); }));
  EXPECT_FALSE(late.done());
  writing.take()->release();
  EXPECT_TRUE(eventually([&] { return late.done(); }));
}

TEST_P(shared_on_either_wire, has_readers_wait_behind_a_writer_of_their_process_until_it_leaves) {
  auto const first = unshared_.acquire_shared();
  std::stop_source stop;
  pending writing;
  unshared_.async_acquire(writing.handler(), stop.get_token());
  ASSERT_TRUE(waits(first_client_));
  pending late;
  unshared_.async_acquire_shared(late.handler());
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return late.done(); }));
}

TEST_P(shared_on_either_wire, has_a_writer_wait_behind_readers_of_its_process_that_came_before_it) {
  auto writing = m_.acquire();
  pending reading;
  m_.async_acquire_shared(reading.handler());
  ASSERT_TRUE(waits(first_client_));
  pending next;
  m_.async_acquire(next.handler());
  writing.release();
  ASSERT_TRUE(eventually([&] { return reading.done(); }));
  EXPECT_FALSE(next.done());
  reading.take()->release();
  EXPECT_TRUE(eventually([&] { return next.done(); }));
}

/// Eight threads read all the time, and two write all the time, for 2 ms each.
TEST_P(shared_on_either_wire, starves_neither_readers_nor_writers_of_a_process) {
  std::atomic<bool> over = false;
  std::array<std::atomic<int>, 10> turns{};
  std::vector<std::jthread> threads;
  for (auto i = 0u; i < turns.size(); ++i) {
    threads.emplace_back([&, i] {
      while (!over) {
        auto const lease = i < 8 ? m_.acquire_shared() : m_.acquire();
        std::this_thread::sleep_for(2ms);
        ++turns[i];
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return std::ranges::all_of(turns, [](auto const& n) { return n >= 10; }); }))
      << testing::PrintToString(std::vector<int>(turns.begin(), turns.end()));
  over = true;
}

TEST_P(shared_on_either_wire, ends_a_wait_when_its_time_is_up_or_it_is_cancelled) {
  auto const writing = m_.acquire();
  EXPECT_FALSE(remote_.try_acquire_shared_for(-1s)) << "it tries once, as soon as it is connected";
  EXPECT_FALSE(remote_.try_acquire_shared_for(50ms));
  EXPECT_FALSE(remote_.try_acquire_for(50ms));
  std::stop_source stop;
  pending reading;
  remote_.async_acquire_shared(reading.handler(), stop.get_token());
  pending bounded;
  remote_.async_try_acquire_shared_for(50ms, bounded.handler());
  EXPECT_TRUE(eventually([&] { return bounded.done(); }));
  EXPECT_FALSE(bounded.take());
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return reading.done(); }));
  EXPECT_EQ(code_of([&] { (void)reading.take(); }), errc::cancelled);
  EXPECT_EQ(second_client_.stats().waiting_now, 0u);
  if (on_redisson()) {
    EXPECT_EQ(raw_.command({"HKEYS", "m"}).elements.size(), 2u) << "the mode, and the one who writes";
  } else {
    EXPECT_TRUE(eventually([&] { return !raw_.exists(queue); })) << "a reply under way decides first";
  }
}

TEST_P(shared_on_either_wire, needs_no_messages_where_it_polls) {
  shared_mutex polling{second_client_, "m", {.wake = wake::poll}};
  auto writing = m_.acquire();
  pending reading;
  polling.async_acquire_shared(reading.handler());
  ASSERT_TRUE(eventually([&] { return second_client_.stats().rechecks >= 3; }));
  writing.release();
  ASSERT_TRUE(eventually([&] { return reading.done(); }));
  pending next;
  m_.async_acquire(next.handler());
  ASSERT_TRUE(waits(first_client_));
  auto const channel = on_redisson() ? "redisson_rwlock:{m}" : names::inbox(first_client_.uuid(), "m");
  EXPECT_TRUE(eventually([&] { return raw_.listeners(channel) >= 1; }));
  EXPECT_FALSE(second_client_.stats().messages) << "who polls hears nothing";
}

TEST_P(shared_on_either_wire, says_who_was_in_the_way) {
  auto const reading = m_.acquire_shared();
  EXPECT_FALSE(remote_.last_busy());
  EXPECT_FALSE(remote_.try_acquire());
  EXPECT_EQ(remote_.last_busy()->holder.owner, reading.owner());
}

TEST_P(shared_on_either_wire, tells_a_reader_whose_lock_was_deleted) {
  shared_mutex patient{first_client_, "m", {.handoff_time = 60s}};
  auto reading = patient.acquire_shared();
  std::optional<lease> neighbour;
  if (on_redisson()) neighbour = patient.acquire_shared();
  raw_.del("m");
  EXPECT_EQ(code_of([&] { reading.renew(); }), errc::lost);
  EXPECT_EQ(reading.lost_because(), loss_cause::key_gone);
  EXPECT_TRUE(eventually([&] { return reading.lost().stop_requested(); }));
  EXPECT_TRUE(eventually([&] { return !neighbour || !neighbour->valid(); })) << "it shared the acquisition";
  EXPECT_EQ(reading.release(), release_result::lost);
}

TEST_P(shared_on_either_wire, tells_a_reader_whose_own_hold_was_deleted) {
  auto reading = m_.acquire_shared();
  auto const other = remote_.acquire_shared();
  delete_hold(reading);
  EXPECT_EQ(code_of([&] { reading.renew(); }), errc::lost);
  EXPECT_EQ(reading.lost_because(), loss_cause::key_gone);
  EXPECT_TRUE(is_in(other));
}

TEST_P(shared_on_either_wire, tells_a_reader_or_a_writer_that_others_have_the_lock) {
  auto reading = m_.acquire_shared();
  raw_.del("m");
  auto writing = remote_.acquire();
  EXPECT_EQ(code_of([&] { reading.renew(); }), errc::lost);
  EXPECT_EQ(reading.lost_because(), loss_cause::taken_over);
  raw_.del("m");
  auto const next = m_.acquire_shared();
  EXPECT_EQ(code_of([&] { writing.renew(); }), errc::lost);
  EXPECT_EQ(writing.lost_because(), loss_cause::taken_over);
  EXPECT_TRUE(next.valid());
}

TEST_P(shared_on_either_wire, keeps_readers_and_writers_in_beyond_their_ttl) {
  shared_mutex brief{first_client_, "m", {.ttl = 3s, .renew_every = 100ms}};
  shared_mutex brief_remote{second_client_, "m", {.ttl = 3s, .renew_every = 100ms}};
  {
    auto const reading = brief.acquire_shared();
    auto const other = brief_remote.acquire_shared();
    EXPECT_TRUE(
        always(3500ms, [&] { return reading.valid() && other.valid() && is_in(reading) && is_in(other); }));
  }
  EXPECT_TRUE(leftover_keys(raw_).empty());
  auto const writing = brief.acquire();
  EXPECT_TRUE(always(3500ms, [&] { return writing.valid() && is_in(writing); }));
}

TEST_P(shared_on_either_wire, renews_beside_a_reader_of_a_longer_lease_without_cutting_it) {
  shared_mutex brief{first_client_, "m", {.ttl = 6s, .renew_every = 100ms}};
  auto const longer = remote_.acquire_shared();
  auto const reading = brief.acquire_shared();
  EXPECT_TRUE(eventually([&] {
    EXPECT_GT(raw_.pttl("m"), 10'000);
    return first_client_.stats().renewals >= 5;
  }));
  EXPECT_GT(raw_.pttl("m"), 10'000);
  EXPECT_TRUE(reading.valid());
}

TEST_P(shared_on_either_wire, has_nobody_wait_for_a_killed_reader_when_those_who_came_later_have_gone) {
  auto dead = worker::session(server_.url_for_workers(), std::string{reader().title}, "m", 1s);
  EXPECT_EQ(dead.reply_to("acquire").rfind("held ", 0), 0u);
  auto lease = remote_.acquire_shared();
  pending writing;
  m_.async_acquire(writing.handler());
  ASSERT_TRUE(waits(first_client_));
  dead.kill9();
  ASSERT_TRUE(eventually([&] { return only_one_hold_lasts(); }));
  EXPECT_FALSE(writing.done());
  lease.release();
  EXPECT_TRUE(eventually([&] { return writing.done(); })) << "its field is still there, its hold is over";
}

TEST_P(shared_on_either_wire, lets_a_writer_in_when_a_killed_reader_was_the_last) {
  auto dead = worker::session(server_.url_for_workers(), std::string{reader().title}, "m", 1s);
  EXPECT_EQ(dead.reply_to("acquire").rfind("held ", 0), 0u);
  pending writing;
  m_.async_acquire(writing.handler());
  // A reader that was stopped for long may have lost the lock already.
  ASSERT_TRUE(eventually([&] { return first_client_.stats().waits >= 1 || writing.done(); }));
  dead.kill9();
  EXPECT_TRUE(eventually([&] { return writing.done(); }));
  EXPECT_TRUE(writing.take());
}

TEST_P(shared_on_either_wire, refuses_a_key_of_another_kind_and_names_it) {
  using words = std::vector<std::string>;
  auto const of_redisson = std::vector{words{"SET", "m", "somebody"}, words{"HSET", "m", "uuid:1", "1"}};
  auto const of_plain = std::vector{words{"LPUSH", "m", "1"}, words{"HSET", "m", "uuid:1", "1"}};
  for (auto const& command : on_redisson() ? of_redisson : of_plain) {
    raw_.del("m");
    raw_.command(command);
    auto const refusal = failure_of([&] { (void)m_.try_acquire_shared(); });
    EXPECT_EQ(refusal.code, errc::wrong_type);
    EXPECT_TRUE(refusal.mentions("\"m\"")) << refusal;
    EXPECT_EQ(code_of([&] { (void)m_.try_acquire(); }), errc::wrong_type);
  }
}

}  // namespace
}  // namespace holdfast::test
