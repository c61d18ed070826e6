// Waiters for several names that stand aside, and requests that go wrong meanwhile: nothing stays in their
// queues.

#include "multi_faults.hpp"
#include "store.hpp"
#include "support/eventually.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::test {
namespace {

using testing::SizeIs;

class etcd_aside_left : public etcd_multi_faults {
 protected:
  static bool nothing_stays(std::string const& name) {
    return eventually([&] { return aside(name + "_a").empty() && aside(name + "_b").empty(); });
  }
};

/// FOUND 490: it stayed at the first name, and who was behind it there heard of no release.
TEST_F(etcd_aside_left, where_the_queue_of_the_next_name_is_forbidden) {
  mutex lasting{etcd_, "forbidden_lasting", {.ttl = 3s}};
  auto const keeps_the_lease = lasting.acquire();
  auto busy = mutex(other_, "forbidden_a").acquire();
  auto const also_busy = mutex(other_, "forbidden_b").acquire();
  the_store().tell_of("forbidden");
  waiter both{etcd_, "forbidden"};
  ASSERT_TRUE(eventually([] { return aside("forbidden_a").size() == 1; }));
  the_store().next_put(store::fate::answered);
  the_store().next_put(store::fate::refused);
  EXPECT_EQ(busy.release(), release_result::released);
  ASSERT_TRUE(eventually([] { return the_store().are_decided(); }));
  EXPECT_TRUE(nothing_stays("forbidden"));
  both.go();
  EXPECT_TRUE(keeps_the_lease.valid());
}

/// FOUND 490. Whatever became of the request that moves it to the next name.
TEST_F(etcd_aside_left, where_nobody_answers_while_it_moves) {
  client mine{"etcd://memory", {.connect_timeout = 200ms, .patience = 1s, .reply_timeout = 200ms}};
  mutex lasting{mine, "moving_lasting", {.ttl = 3s}};
  auto const keeps_the_lease = lasting.acquire();
  auto busy = mutex(other_, "moving_a", {.ttl = 9s}).acquire();
  auto const also_busy = mutex(other_, "moving_b", {.ttl = 9s}).acquire();
  the_store().tell_of("moving");
  waiter both{mine, "moving"};
  ASSERT_TRUE(eventually([] { return aside("moving_a").size() == 1; }));
  the_store().next_put(store::fate::answered);
  for (auto i = 0; i != 40; ++i) the_store().next_put(store::fate::held_back);
  EXPECT_EQ(busy.release(), release_result::released);
  ASSERT_TRUE(eventually([] { return the_store().holds_back(); }));
  both.go();
  EXPECT_TRUE(nothing_stays("moving"));
  EXPECT_TRUE(keeps_the_lease.valid());
}

/// FOUND 492: the copy that made the keys knew nothing of the one beside them.
TEST_F(etcd_aside_left, behind_a_late_copy_of_the_try_that_came_before) {
  mutex lasting{etcd_, "copied_lasting", {.ttl = 3s}};
  auto const keeps_the_lease = lasting.acquire();
  auto const busy = mutex(other_, "copied_a").acquire();
  the_store().tell_of("copied");
  the_store().next_put(store::fate::answered);
  the_store().next_put(store::fate::held_back);
  waiter both{etcd_, "copied"};
  ASSERT_TRUE(eventually([] { return the_store().holds_back() && aside("copied_a").size() == 1; }));
  the_store().remove(the_store().keys("copied_a/").at(0));
  the_store().carry_out();
  EXPECT_TRUE(eventually([&] { return both.entered(); }));
  EXPECT_TRUE(nothing_stays("copied"));
  both.go();
  EXPECT_TRUE(keeps_the_lease.valid());
}

/// FOUND 491: what was sent again was taken away by the next keep-alive, though it stood there.
TEST_F(etcd_aside_left, stays_while_it_waits_though_its_request_was_sent_again) {
  auto const busy = mutex(other_, "again_a", {.ttl = 30s}).acquire();
  the_store().tell_of("again");
  the_store().next_put(store::fate::answered);
  the_store().next_put(store::fate::answered);
  the_store().next_put(store::fate::lost);
  waiter both{etcd_, "again"};
  ASSERT_TRUE(eventually([] { return aside("again_a").size() == 1; }));
  mutex lasting{etcd_, "again_lasting", {.ttl = 3s}};
  auto const renewed = lasting.acquire();  // so that something is renewed in any case
  EXPECT_TRUE(always(700ms, [] { return aside("again_a").size() == 1; }));
  both.go();
  EXPECT_TRUE(nothing_stays("again"));
}

/// FOUND 493: the release waited for the end of the callback, and the client was gone by then.
TEST(etcd_end_of_a_client, in_a_callback_gives_back_though_nobody_answered_lately) {
  the_store().set_terms(1, 1);
  auto mine = std::make_unique<client>(
      "etcd://memory", client_options{.connect_timeout = 200ms, .patience = 300ms, .reply_timeout = 200ms});
  auto const held = mutex(*mine, "ending", {.ttl = 30s}).acquire();
  ASSERT_THAT(the_store().keys("ending/"), SizeIs(1));
  the_store().answer_transactions(false);
  std::atomic<bool> over = false;
  mutex next{*mine, "ending_next", {.ttl = 30s}};
  next.async_acquire([&](std::optional<lease> /*none*/, std::exception_ptr const& /*failure*/) {
    the_store().answer_transactions(true);
    mine.reset();
    over = true;
  });
  EXPECT_TRUE(eventually([&] { return over.load(); }));
  EXPECT_TRUE(eventually([] { return the_store().keys("ending/").empty(); }));
}

}  // namespace
}  // namespace holdfast::test
