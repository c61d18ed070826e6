/// Release by force: the holder is asked, and the lock is taken.
#include "inspection.hpp"

#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <atomic>
#include <future>
#include <optional>
#include <thread>

#include "script/names.hpp"

namespace holdfast::test {
namespace {

class release_by_force : public inspection {
 protected:
  client redis_{server_.url(), with_long_timeouts()};
  mutex lock_{redis_, "orders"};
};

TEST_F(release_by_force, tells_the_holder_who_gives_it_back) {
  auto lease = lock_.acquire();
  std::atomic<int> notified = 0;
  lease.on_lost([&](loss_cause cause) {
    if (cause == loss_cause::forced) ++notified;
    lease.release();
  });
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 20s}), force_result::released_by_holder);
  EXPECT_EQ(notified, 1);
  EXPECT_FALSE(lease.valid());
  EXPECT_FALSE(raw_.exists("orders"));
}

TEST_F(release_by_force, deletes_the_lock_under_a_holder_that_does_not_let_go) {
  auto const lease = lock_.acquire();
  ASSERT_TRUE(eventually([&] { return raw_.listeners("holdfast_inbox:" + redis_.uuid()) >= 1; }));
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 1s}), force_result::deleted);
  EXPECT_TRUE(eventually([&] { return lease.lost_because() == loss_cause::forced; }));
  EXPECT_FALSE(raw_.exists("orders"));
}

TEST_F(release_by_force, says_that_the_ttl_was_over_before_the_holder_gave_it_back) {
  mutex brief{redis_, "brief", {.ttl = 2s}};
  auto const lease = brief.acquire();
  EXPECT_EQ(force_release(viewer_, "brief", {.grace = 60s}), force_result::expired);
  EXPECT_FALSE(raw_.exists("brief"));
}

TEST_F(release_by_force, says_so_of_one_reader_among_others) {
  shared_mutex brief{redis_, "read", {.ttl = 2s}};
  client other{server_.url(), with_long_timeouts()};
  shared_mutex lasting{other, "read"};
  auto const lease = brief.acquire_shared();
  auto const beside = lasting.acquire_shared();
  auto const result = force_release(viewer_, "read", {.grace = 4s, .owner = lease.owner()});
  EXPECT_THAT(result, testing::AnyOf(force_result::expired, force_result::deleted));
  EXPECT_TRUE(beside.valid());
}

/// Two threads read by one acquisition, and the second one takes a while to stop.
TEST_F(release_by_force, waits_for_all_readers_that_share_what_is_taken) {
  shared_mutex readers{redis_, "read", {.ttl = 60s, .handoff_limit = 100, .handoff_time = 60s}};
  for (auto const keeps : {false, true}) {
    SCOPED_TRACE(keeps);
    std::optional<lease> one;
    std::optional<lease> other;
    ASSERT_TRUE(eventually([&] {  // what was held for half a second isn't shared any more
      one.reset();
      other.reset();
      one = readers.acquire_shared();
      other = readers.acquire_shared();
      return one->owner() == other->owner();
    }));
    std::atomic<bool> is_over = false;
    auto const result = std::async(std::launch::async, [&] {
      auto const found = force_release(viewer_, "read", {.grace = 20s});
      is_over = true;
      return found;
    });
    ASSERT_TRUE(eventually([&] { return !one->valid() && !other->valid(); }));
    EXPECT_EQ(one->release(), release_result::lost);
    EXPECT_TRUE(always(300ms, [&] { return !is_over && raw_.exists("read"); })) << "one hasn't stopped";
    EXPECT_EQ(keeps ? other->keep_for(30s) : other->release(), release_result::lost);
    EXPECT_EQ(result.wait_for(20s), std::future_status::ready);
    EXPECT_FALSE(raw_.exists("read"));
  }
}

TEST_F(release_by_force, deletes_the_lock_of_a_process_that_died) {
  hold("orders");
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 100ms}), force_result::deleted);
  EXPECT_FALSE(raw_.exists("orders"));
}

TEST_F(release_by_force, lets_the_next_waiter_have_it) {
  passes_in_one_round_of(
      10, [&] {  // a waiter tries again when its last request is older than a second and a half
        hold("orders");
        client other{server_.url(), with_long_timeouts({.recheck = 30s})};
        mutex wanted{other, "orders"};
        pending next;
        wanted.async_acquire(next.handler());
        ASSERT_TRUE(eventually([&] { return peek(viewer_, "orders").waiting == 1; }));
        ASSERT_TRUE(eventually([&] { return raw_.client_ids("pubsub").size() == 1; }));
        EXPECT_EQ(force_release(viewer_, "orders", {.grace = 10ms}), force_result::deleted);
        EXPECT_TRUE(eventually([&] { return next.done(); }));
        EXPECT_EQ(other.stats().granted, trusts_grant_messages() ? 1U : 0U);
      });
}

TEST_F(release_by_force, counts_as_given_back_when_a_waiter_has_it_at_once) {
  auto lease = lock_.acquire();
  lease.on_lost([&](loss_cause) { lease.release(); });
  client other{server_.url(), with_long_timeouts()};
  mutex remote{other, "orders"};
  pending next;
  remote.async_acquire(next.handler());
  ASSERT_TRUE(eventually([&] { return peek(viewer_, "orders").waiting == 1; }));
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 20s}), force_result::released_by_holder);
  EXPECT_TRUE(eventually([&] { return next.done(); }));
}

TEST_F(release_by_force, has_nothing_to_do_when_nobody_holds_it) {
  EXPECT_EQ(force_release(viewer_, "orders"), force_result::not_held);
}

TEST_F(release_by_force, deletes_a_foreign_key_only_when_told_to) {
  raw_.command({"SET", "orders", std::string(5'000, 'x')});
  EXPECT_EQ(force_release(viewer_, "orders"), force_result::refused_foreign);
  EXPECT_TRUE(raw_.exists("orders"));
  EXPECT_EQ(force_release(viewer_, "orders", {.foreign = true}), force_result::deleted);
  EXPECT_FALSE(raw_.exists("orders"));
}

TEST_F(release_by_force, never_deletes_what_is_no_lock) {
  raw_.command({"RPUSH", "orders", "1"});
  EXPECT_EQ(force_release(viewer_, "orders", {.foreign = true}), force_result::refused_other);
  EXPECT_TRUE(raw_.exists("orders"));
}

TEST_F(release_by_force, does_nothing_to_another_holder_than_the_one_meant) {
  auto const lease = lock_.acquire();
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 0ms, .owner = "somebody else"}),
            force_result::changed);
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 0ms, .owner = lease.owner()}), force_result::deleted);
}

TEST_F(release_by_force, leaves_alone_who_takes_the_lock_while_the_holder_is_asked) {
  if (topology_under_test() == topology::cluster)
    GTEST_SKIP() << "nobody counts who heard the question there, so he passes for one who gave it back";
  hold("orders");
  std::jthread const taker{[&] {
    auto raw = server_.raw();
    auto const asked = names::asked("orders", std::string{uuid_} + ":1");
    ASSERT_TRUE(eventually([&] { return raw.exists(asked); }));  // sentinels publish, too
    raw.command({"SET", "orders", std::string{uuid_} + ":2", "PX", "60000"});
  }};
  EXPECT_EQ(force_release(viewer_, "orders", {.grace = 20s}), force_result::changed);
  EXPECT_EQ(raw_.get("orders"), std::string{uuid_} + ":2");
}

TEST_F(release_by_force, asks_again_through_a_connection_that_broke) {
  HOLDFAST_ON_ONE_SERVER("the proxy that breaks connections stands before one");
  flaky_proxy proxy{server_.socket_path()};
  client viewer{proxy.url(), with_long_timeouts()};
  auto lease = lock_.acquire();
  lease.on_lost([&](loss_cause) { lease.release(); });
  proxy.once([](request const& r) { return r.has("ask"); }, fate::cut_after());
  EXPECT_EQ(force_release(viewer, "orders", {.grace = 20s}), force_result::released_by_holder);
}

TEST_F(release_by_force, knows_that_it_deleted_the_lock_when_the_answer_is_lost) {
  HOLDFAST_ON_ONE_SERVER("the proxy that loses answers stands before one");
  flaky_proxy proxy{server_.socket_path()};
  client viewer{proxy.url(), with_long_timeouts()};
  hold("orders");
  pending next;
  lock_.async_acquire(next.handler());
  ASSERT_TRUE(eventually([&] { return raw_.client_ids("pubsub").size() == 1; }));
  ASSERT_TRUE(eventually([&] { return peek(viewer_, "orders").waiting == 1; }));
  auto const deletes = [](request const& r) { return r.name == "EVAL" && r.has("2000"); };
  proxy.once(deletes, fate::cut_after());
  EXPECT_EQ(force_release(viewer, "orders", {.grace = 0ms}), force_result::deleted);
  EXPECT_TRUE(eventually([&] { return next.done(); }));
}

}  // namespace
}  // namespace holdfast::test
