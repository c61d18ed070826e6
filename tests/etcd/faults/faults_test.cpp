// What real members do in moments that no test can hold them in.

#include "store.hpp"
#include "support/eventually.hpp"
#include "support/failure_of.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/election.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

namespace holdfast::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr auto url = "etcd://memory";

class etcd_faults : public testing::Test {
 protected:
  etcd_faults() { the_store().set_terms(1, 1); }

  client etcd_{url, {.patience = wait_limit}};
};

/// FOUND 374.
TEST_F(etcd_faults, a_leader_that_was_replaced_extends_no_lease) {
  mutex lock{etcd_, "term", {.ttl = 2s}};
  auto const held = lock.acquire();
  // The keys are there in the new term, and the old leader says that the lease lives.
  the_store().set_terms(2, 1);
  ASSERT_TRUE(eventually([&] { return held.lost_because() != loss_cause::none; }));
  EXPECT_EQ(held.lost_because(), loss_cause::unreachable);
  EXPECT_LT(etcd_.stats().renewals, 100);  // FOUND 401: they are tried with pauses
}

TEST_F(etcd_faults, a_leader_of_the_same_term_extends_leases) {
  mutex lock{etcd_, "same_term", {.ttl = 9s}};
  auto const held = lock.acquire();
  auto const until = [&] { return std::chrono::steady_clock::now() + held.remaining(); };
  auto const first = until();
  the_store().set_terms(2, 2);
  EXPECT_TRUE(eventually([&] { return until() > first + 1s; }));
}

/// FOUND 376.
TEST_F(etcd_faults, a_request_that_is_carried_out_behind_the_release_leaves_no_key) {
  mutex lasting{etcd_, "lasting", {.ttl = 3s}};
  mutex lock{etcd_, "late", {.ttl = 3s}};
  auto other = lasting.acquire();
  auto const lease = the_store().lease_of("lasting/");
  the_store().hold_back_next_put();
  auto held = lock.acquire();
  ASSERT_TRUE(the_store().holds_back());
  ASSERT_EQ(the_store().lease_of("late/"), lease);
  EXPECT_EQ(held.release(), release_result::released);
  the_store().carry_out();
  ASSERT_THAT(the_store().keys("late/"), SizeIs(1));
  // The lease is kept alive for the other lock, so the key wouldn't end with it.
  EXPECT_TRUE(eventually([] { return the_store().keys("late/").empty(); }));
  EXPECT_TRUE(other.valid());

  auto next = lock.acquire();
  EXPECT_NE(the_store().lease_of("late/"), lease);
  EXPECT_EQ(next.release(), release_result::released);
  EXPECT_EQ(other.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return !the_store().has_lease(lease); }));
}

/// FOUND 470.
TEST_F(etcd_faults, a_request_that_is_carried_out_behind_a_handoff_leaves_no_key) {
  mutex lasting{etcd_, "lasting_pass", {.ttl = 3s}};
  mutex lock{etcd_, "late_pass", {.ttl = 3s}};
  auto const other = lasting.acquire();
  the_store().hold_back_next_put();
  auto held = lock.acquire();
  ASSERT_TRUE(the_store().holds_back());
  std::atomic<bool> passed = false;
  lock.async_acquire([&](std::optional<lease> next, std::exception_ptr const& /*failure*/) {
    passed = next && next->valid();
  });
  EXPECT_EQ(held.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return passed && the_store().keys("late_pass/").empty(); }));
  the_store().carry_out();
  ASSERT_THAT(the_store().keys("late_pass/"), SizeIs(1));
  EXPECT_TRUE(eventually([] { return the_store().keys("late_pass/").empty(); }));
  EXPECT_TRUE(other.valid());
}

TEST_F(etcd_faults, a_late_request_of_a_reader_or_a_candidate_leaves_no_key_either) {
  mutex lasting{etcd_, "lasting_beside", {.ttl = 3s}};
  auto const other = lasting.acquire();
  shared_mutex reads{etcd_, "late_reader", {.ttl = 3s}};
  election contested{etcd_, "late_candidate", {.ttl = 3s}};
  the_store().hold_back_next_put();
  auto reading = reads.acquire_shared();
  ASSERT_TRUE(the_store().holds_back());
  EXPECT_EQ(reading.release(), release_result::released);
  the_store().carry_out();
  ASSERT_THAT(the_store().keys("late_reader/"), SizeIs(1));
  mutex lasting_too{
      etcd_, "lasting_candidate", {.ttl = 3s}};  // under a new lease, which the candidate shares
  auto const third = lasting_too.acquire();
  the_store().hold_back_next_put();
  auto leading = contested.campaign("value");
  ASSERT_TRUE(the_store().holds_back());
  EXPECT_EQ(leading.release(), release_result::released);
  the_store().carry_out();
  ASSERT_THAT(the_store().keys("late_candidate/"), SizeIs(1));
  EXPECT_TRUE(eventually([] {
    return the_store().keys("late_reader/").empty() && the_store().keys("late_candidate/").empty();
  }));
  EXPECT_TRUE(other.valid());
  EXPECT_TRUE(third.valid());
  EXPECT_TRUE(reads.try_acquire());
  EXPECT_TRUE(contested.try_campaign("value"));
}

/// FOUND 404.
TEST_F(etcd_faults, a_late_key_that_a_release_by_force_has_asked_for_is_deleted_too) {
  mutex lasting{etcd_, "lasting_asked", {.ttl = 3s}};
  auto const other = lasting.acquire();
  mutex lock{etcd_, "late_asked", {.ttl = 3s}};
  the_store().hold_back_next_put();
  auto held = lock.acquire();
  ASSERT_TRUE(the_store().holds_back());
  EXPECT_EQ(held.release(), release_result::released);
  the_store().carry_out("\nasked somebody");
  ASSERT_THAT(the_store().keys("late_asked/"), SizeIs(1));
  EXPECT_TRUE(eventually([] { return the_store().keys("late_asked/").empty(); }));
  EXPECT_TRUE(other.valid());
}

/// FOUND 403.
TEST_F(etcd_faults, a_try_that_is_carried_out_behind_a_busy_answer_leaves_no_key) {
  mutex lasting{etcd_, "lasting_try", {.ttl = 3s}};
  auto const other = lasting.acquire();
  mutex lock{etcd_, "late_try", {.ttl = 3s}};
  the_store().hold_back_next_put("late_try/1");
  EXPECT_FALSE(lock.try_acquire());
  ASSERT_TRUE(the_store().holds_back());
  the_store().remove("late_try/1");
  the_store().carry_out();
  ASSERT_THAT(the_store().keys("late_try/"), SizeIs(1));
  EXPECT_TRUE(eventually([] { return the_store().keys("late_try/").empty(); }));
  EXPECT_TRUE(other.valid());
  EXPECT_TRUE(lock.try_acquire());
}

TEST_F(etcd_faults, a_try_of_a_reader_that_is_carried_out_late_leaves_no_key_either) {
  mutex lasting{etcd_, "lasting_reader", {.ttl = 3s}};
  auto const other = lasting.acquire();
  shared_mutex lock{etcd_, "late_look", {.ttl = 3s}};
  the_store().hold_back_next_put("late_look/1");
  EXPECT_FALSE(lock.try_acquire_shared());
  ASSERT_TRUE(the_store().holds_back());
  the_store().remove("late_look/1");
  the_store().carry_out();
  ASSERT_THAT(the_store().keys("late_look/"), SizeIs(1));
  EXPECT_TRUE(eventually([] { return the_store().keys("late_look/").empty(); }));
  EXPECT_TRUE(other.valid());
}

/// FOUND 405.
TEST_F(etcd_faults, a_caller_outlasts_another_who_has_asked_for_the_same_lease) {
  client etcd{url, {.patience = 6s}};
  mutex early{etcd, "early", {.ttl = 5s}};
  mutex late{etcd, "later", {.ttl = 5s}};
  auto const before = the_store().grants_without_answer();
  the_store().answer_grants(false);
  std::jthread first{[&] { EXPECT_THROW((void)early.acquire(), error); }};
  // Some seconds later: the pauses between the requests grow to half a second.
  ASSERT_TRUE(eventually([&] { return the_store().grants_without_answer() > before + 9; }));
  std::optional<lease> held;
  std::jthread second{[&] { EXPECT_NO_THROW(held = late.acquire()); }};
  first.join();
  the_store().answer_grants(true);
  second.join();
  EXPECT_TRUE(held && held->valid());
}

/// FOUND 406.
TEST_F(etcd_faults, a_holder_whose_watch_has_ended_hears_that_its_key_is_gone_before_it_renews) {
  mutex lock{etcd_, "unwatched", {.ttl = 300s, .renew_every = 100s}};
  auto held = lock.acquire();
  held.renew();  // the watch begins
  the_store().remove(the_store().keys("unwatched/").at(0));
  the_store().end_watches();
  EXPECT_TRUE(eventually([&] { return held.lost_because() == loss_cause::key_gone; }));
}

/// FOUND 634.
TEST_F(etcd_faults, a_holder_whose_watch_has_ended_hears_that_somebody_has_asked_for_its_lock) {
  for (auto const watchdog : {true, false}) {
    mutex lock{etcd_, "asked_unwatched", {.ttl = 300s, .watchdog = watchdog, .renew_every = 100s}};
    auto held = lock.acquire();
    held.renew();  // the watch begins
    the_store().add_to(the_store().keys("asked_unwatched/").at(0), "\nasked somebody");
    the_store().end_watches();
    EXPECT_TRUE(eventually([&] { return held.lost_because() == loss_cause::forced; })) << watchdog;
  }
}

/// FOUND 407.
TEST_F(etcd_faults, a_request_for_a_lock_waits_with_pauses_for_a_leader_that_was_not_replaced) {
  mutex lasting{etcd_, "replaced", {.ttl = 2s}};
  mutex lock{etcd_, "meanwhile", {.ttl = 2s}};
  auto const held = lasting.acquire();
  the_store().set_terms(2, 1);
  ASSERT_TRUE(eventually([&] { return held.lost_because() != loss_cause::none; }));
  auto const before = etcd_.stats().commands;
  auto const refused = [&] {
    try {
      return !lock.try_acquire_for(1s);
    } catch (error const&) {
      return true;
    }
  };
  EXPECT_TRUE(refused());
  EXPECT_LT(etcd_.stats().commands - before, 100);
  the_store().set_terms(2, 2);
  EXPECT_TRUE(lock.try_acquire_for(wait_limit));
}

/// FOUND 458.
TEST_F(etcd_faults, an_acquisition_that_fails_behind_the_place_that_it_made_leaves_none) {
  mutex lasting{etcd_, "lasting_refused", {.ttl = 3s}};
  auto const other = lasting.acquire();
  mutex lock{etcd_, "refused_copy", {.ttl = 3s}};
  the_store().next_put(store::fate::lost);
  the_store().refuse_next_read();
  EXPECT_EQ(code_of([&] { (void)lock.acquire(); }), errc::unauthorized);
  EXPECT_TRUE(eventually([] { return the_store().keys("refused_copy/").empty(); }));
  EXPECT_TRUE(other.valid());
}

/// FOUND 464. The member that got it may stand still.
TEST_F(etcd_faults, a_try_whose_first_copy_got_no_answer_is_sent_again) {
  client soon{url, {.connect_timeout = 10ms}};
  mutex lock{soon, "sent_again", {.ttl = 3s}};
  (void)lock.acquire().release();  // its lease is there
  the_store().next_put(store::fate::lost);
  EXPECT_TRUE(lock.try_acquire());
}

/// Keep-alives get no answer.
class etcd_without_keep_alives : public etcd_faults {
 protected:
  ~etcd_without_keep_alives() override {
    the_store().hold_keep_alives(false);
    while (the_store().held_keep_alives() != 0) the_store().answer_keep_alive();
  }
};

/// FOUND 465.
TEST_F(etcd_without_keep_alives, a_try_does_not_wait_for_ever_for_a_lease_that_it_has_to_confirm) {
  client etcd{url, {.connect_timeout = 200ms, .reply_timeout = 200ms}};
  mutex lasting{etcd, "lasting_old", {.ttl = 3s}};
  mutex lock{etcd, "unconfirmed", {.ttl = 3s}};
  auto const held = lasting.acquire();
  the_store().hold_keep_alives(true);
  ASSERT_TRUE(eventually([&] { return held.remaining() < 1s; }));
  EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::unreachable);
  EXPECT_TRUE(eventually([] { return the_store().keys("unconfirmed/").empty(); }));
}

/// FOUND 465.
TEST_F(etcd_without_keep_alives, an_answer_to_an_earlier_keep_alive_counts_from_that) {
  mutex lock{etcd_, "earlier", {.ttl = 30s, .renew_every = 2s}};
  auto const held = lock.acquire();
  auto const until = [&] { return std::chrono::steady_clock::now() + held.remaining(); };
  the_store().hold_keep_alives(true);
  ASSERT_TRUE(eventually([] { return the_store().held_keep_alives() == 1; }));
  // The stream is ended, since there was no answer, and the same is asked on the next one.
  ASSERT_TRUE(eventually([] { return the_store().held_keep_alives() == 2; }));
  auto const before = until();
  the_store().answer_keep_alive();
  EXPECT_TRUE(always(500ms, [&] { return until() < before + 100ms; }));
  the_store().answer_keep_alive();
  EXPECT_TRUE(eventually([&] { return until() > before + 1s; }));
}

}  // namespace
}  // namespace holdfast::test
