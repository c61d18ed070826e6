/// shared_mutex::downgrade, on either wire: a writer becomes a reader.
#include "sharing.hpp"

namespace holdfast::test {
namespace {

TEST_P(shared_on_either_wire, becomes_a_reader_without_letting_a_writer_in_and_lets_readers_in_at_once) {
  auto writing = m_.acquire();
  pending reading;
  remote_.async_acquire_shared(reading.handler());
  ASSERT_TRUE(waits(second_client_));
  pending other_writer;
  remote_.async_acquire(other_writer.handler());
  ASSERT_TRUE(on_redisson() || eventually([&] { return raw_.command({"ZCARD", queue}).integer == 2; }));
  auto downgraded = m_.downgrade(std::move(writing));
  EXPECT_TRUE(downgraded.valid());
  EXPECT_GT(downgraded.remaining(), 20s);
  EXPECT_TRUE(is_in(downgraded));
  EXPECT_TRUE(eventually([&] { return reading.done(); }));
  EXPECT_FALSE(other_writer.done());
  auto const neighbour = m_.try_acquire_shared();
  EXPECT_EQ(neighbour.has_value(), on_redisson()) << "on the plain wire the writer is before it";
  EXPECT_EQ(downgraded.release(), release_result::released);
}

TEST_P(shared_on_either_wire, goes_on_renewing_what_it_has_become) {
  shared_mutex brief{first_client_, "m", {.ttl = 3s, .renew_every = 100ms}};
  auto const reading = brief.downgrade(brief.acquire());
  EXPECT_TRUE(always(3500ms, [&] { return reading.valid() && is_in(reading); }));
}

TEST_P(shared_on_either_wire, tells_of_the_loss_of_what_it_has_become_those_who_watched_the_writer) {
  auto writing = m_.acquire();
  std::atomic<bool> notified = false;
  writing.on_lost([&](loss_cause cause) { notified = cause == loss_cause::key_gone; });
  auto const stop = writing.lost();
  auto reading = m_.downgrade(std::move(writing));
  EXPECT_FALSE(stop.stop_requested());
  raw_.del("m");
  EXPECT_EQ(code_of([&] { reading.renew(); }), errc::lost);
  EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
  EXPECT_TRUE(eventually([&] { return notified.load(); }));
}

TEST_P(shared_on_either_wire, makes_a_reader_only_of_one_that_writes_this_lock) {
  shared_mutex other{first_client_, "other"};
  EXPECT_EQ(code_of([&] { (void)m_.downgrade(lease{}); }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)m_.downgrade(other.acquire()); }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)m_.downgrade(remote_.acquire()); }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)m_.downgrade(m_.acquire_shared()); }), std::errc::invalid_argument);
  EXPECT_TRUE(leftover_keys(raw_).empty()) << "they were given back";
}

TEST_P(shared_on_either_wire, does_not_make_a_reader_of_a_writer_that_has_lost_the_lock) {
  auto writing = m_.acquire();
  raw_.del("m");
  std::atomic<bool> notified = false;
  writing.on_lost([&](loss_cause cause) { notified = cause == loss_cause::key_gone; });
  EXPECT_EQ(code_of([&] { (void)m_.downgrade(std::move(writing)); }), errc::lost);
  EXPECT_TRUE(eventually([&] { return notified.load(); }));
  EXPECT_TRUE(leftover_keys(raw_).empty());
  EXPECT_EQ(first_client_.stats().held_now, 0u);
}

}  // namespace
}  // namespace holdfast::test
