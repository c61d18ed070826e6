/// How a lock of several masters goes from its holder to those who wait for it.
#include "quorum.hpp"

namespace holdfast::test {
namespace {

constexpr auto queue = "{orders}:holdfast_queue";
constexpr auto never_by_itself = 30s;

class quorum_handover : public five_masters {
 protected:
  [[nodiscard]] bool waits_at(redis_server const& master, client const& who) {
    auto raw = master.raw();
    auto const ears = raw.command({"PUBSUB", "NUMSUB", "{orders}:holdfast_inbox:" + who.uuid()});
    return raw.command({"ZCARD", queue}).integer == 1 && ears.elements.at(1).integer == 1;
  }
  /// It is in line at so many masters, and can be told by them.
  [[nodiscard]] bool waits(client const& who, std::ptrdiff_t at_least) {
    return eventually([&] {
      return std::ranges::count_if(masters_, [&](auto const& one) { return waits_at(*one, who); }) >=
             at_least;
    });
  }

  client redis_{masters_.url()};
  quorum_mutex lock_{redis_, "orders"};
};

// Unless it takes longer to come than its votes are kept for it.
TEST_F(quorum_handover, goes_to_who_waits_and_to_no_newcomer) {
  client patient{masters_.url(), {.recheck = never_by_itself}};
  client hasty{masters_.url()};
  quorum_mutex theirs{patient, "orders"};
  quorum_mutex newcomers{hasty, "orders"};
  auto overtaken = 0;
  for (auto turn = 0; turn < 20; ++turn) {
    auto mine = lock_.acquire();
    waiter next{theirs};
    // Where the holder's own request was late, its vote was the waiter's for a moment.
    ASSERT_TRUE(waits(patient, 3));
    EXPECT_EQ(mine.release(), release_result::released);
    auto const released = boot_now();
    auto const was_faster = newcomers.try_acquire().has_value();
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    if (was_faster && boot_now() - released < 1'000'000'000) ++overtaken;
    EXPECT_EQ(next.take().release(), release_result::released);
  }
  EXPECT_LE(overtaken, 5);
  EXPECT_TRUE(comes_clean());
}

TEST_F(quorum_handover, needs_no_more_than_the_word_of_one_master) {
  client patient{masters_.url(), {.recheck = never_by_itself}};
  quorum_mutex theirs{patient, "orders"};
  for (auto const& one : masters_) one->raw().command({"SET", "orders", "somebody", "PX", "600000"});
  waiter next{theirs};
  ASSERT_TRUE(waits(patient, 5));
  // What it asks when its inboxes are open is answered before the lock comes free.
  for (auto const& one : masters_)
    one->raw().command({"PUBLISH", "{orders}:holdfast_inbox:" + patient.uuid(), "hello"});
  ASSERT_TRUE(eventually([&] { return patient.stats().messages >= 5; }));
  patient.connect();
  for (auto const& one : masters_) one->raw().del("orders");
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
  EXPECT_TRUE(comes_clean());
}

}  // namespace
}  // namespace holdfast::test
