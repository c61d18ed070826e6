/// The handover of a lock of several masters from its holder to a waiter.
#include "quorum.hpp"

namespace holdfast::test {
namespace {

constexpr auto queue = "{orders}:holdfast_queue";
constexpr auto never_by_itself = 30s;

class quorum_handover : public five_masters {
 protected:
  [[nodiscard]] bool waits_at(redis_server const& master, client const& waiting_client) {
    auto raw = master.raw();
    auto const subscribers =
        raw.command({"PUBSUB", "NUMSUB", "{orders}:holdfast_inbox:" + waiting_client.uuid()});
    return raw.command({"ZCARD", queue}).integer == 1 && subscribers.elements.at(1).integer == 1;
  }
  /// The client is in the queue of at least so many masters, and subscribed to them.
  [[nodiscard]] bool waits(client const& waiting_client, std::ptrdiff_t at_least) {
    return eventually([&] {
      return std::ranges::count_if(
                 masters_, [&](auto const& master) { return waits_at(*master, waiting_client); }) >= at_least;
    });
  }

  client redis_{masters_.url()};
  quorum_mutex lock_{redis_, "orders"};
};

// The waiter may be overtaken if it comes later than its votes are kept for it.
TEST_F(quorum_handover, goes_to_who_waits_and_to_no_newcomer) {
  client waiting_client{masters_.url(), {.recheck = never_by_itself}};
  client newcomer{masters_.url()};
  quorum_mutex waiting_mutex{waiting_client, "orders"};
  quorum_mutex newcomer_mutex{newcomer, "orders"};
  auto overtaken = 0;
  for (auto turn = 0; turn < 20; ++turn) {
    auto lease = lock_.acquire();
    waiter next{waiting_mutex};
    // At a master that got the holder's request late, the waiter had the vote for a moment.
    ASSERT_TRUE(waits(waiting_client, 3));
    EXPECT_EQ(lease.release(), release_result::released);
    auto const released = boot_now();
    auto const newcomer_acquired = newcomer_mutex.try_acquire().has_value();
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    if (newcomer_acquired && boot_now() - released < 1'000'000'000) ++overtaken;
    EXPECT_EQ(next.take().release(), release_result::released);
  }
  EXPECT_LE(overtaken, 5);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(quorum_handover, needs_no_more_than_the_word_of_one_master) {
  client waiting_client{masters_.url(), {.recheck = never_by_itself}};
  quorum_mutex waiting_mutex{waiting_client, "orders"};
  for (auto const& master : masters_) master->raw().command({"SET", "orders", "somebody", "PX", "600000"});
  waiter next{waiting_mutex};
  ASSERT_TRUE(waits(waiting_client, 5));
  // Its requests after the inboxes have opened are answered before the lock comes free.
  for (auto const& master : masters_)
    master->raw().command({"PUBLISH", "{orders}:holdfast_inbox:" + waiting_client.uuid(), "hello"});
  ASSERT_TRUE(eventually([&] { return waiting_client.stats().messages >= 5; }));
  waiting_client.connect();
  for (auto const& master : masters_) master->raw().del("orders");
  auto raw = masters_[3].raw();
  auto const owner = raw.command({"ZRANGE", queue, "0", "-1"}).elements.at(0).text;
  auto const split = owner.find(':');
  EXPECT_FALSE(next.done());
  EXPECT_EQ(raw.command({"PUBLISH", "{orders}:holdfast_inbox:" + owner.substr(0, split),
                         "woken " + owner.substr(split + 1) + " orders"})
                .integer,
            1);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_EQ(next.take().release(), release_result::released);
  EXPECT_TRUE(nothing_left_behind());
}

}  // namespace
}  // namespace holdfast::test
