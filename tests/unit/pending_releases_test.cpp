#include "engine/release/pending_releases.hpp"

#include "engine/release/kept_keys.hpp"
#include "unit/engine_parts.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class a_pending_release : public engine_parts {
 protected:
  void release() {
    pending_releases_.send(*lease_, boot_clock::now(),
                           [this](release_result result) { results_.push_back(result); });
  }

  notifications notifications_{loop_, backend_, client_, log_, {}};
  departed departed_;
  delayed_calls delayed_{loop_};
  owed_requests owed_{loop_, client_, log_, [this](owed_request const& request, time_point now) {
                        returned_lock const item{request.queue, request.number, request.policy,
                                                 request.until};
                        pending_releases_.send(item, now, {});
                      }};
  pending_releases pending_releases_{backend_,       client_,   log_,     stats_,
                                     notifications_, departed_, delayed_, owed_};
  lock_queue_ptr queue_{pin()};
  lease_state_ptr lease_{make_lease(queue_, 1)};
  std::vector<release_result> results_;
};

TEST_F(a_pending_release, is_over_with_the_reply) {
  release();
  EXPECT_EQ(queue_->releasing, 1u);
  backend_.answer(ownership::held);
  EXPECT_THAT(results_, ElementsAre(release_result::released));
  EXPECT_EQ(queue_->releasing, 0u);
  EXPECT_EQ(pending_releases_.count_at_end(), 0u);
}

TEST_F(a_pending_release, may_go_in_steps_while_nobody_is_known_to_wait) {
  queue_->held_here_since = boot_clock::now();
  release();
  EXPECT_TRUE(backend_.released_with.in_steps);
  backend_.answer(ownership::held);
  auto const second = make_lease(queue_, 2, {.starvation_limit = 1s});
  clock_.advance(1s);
  pending_releases_.send(*second, boot_clock::now(), {});
  EXPECT_FALSE(backend_.released_with.in_steps) << "somebody may have waited for so long";
}

TEST_F(a_pending_release, tells_that_the_lease_was_lost_before) {
  release();
  backend_.answer(ownership::gone);
  EXPECT_THAT(results_, ElementsAre(release_result::lost));
}

TEST_F(a_pending_release, is_over_when_what_cleans_up_behind_a_late_answer_was_faster) {
  release();
  pending_releases_.abandon(*queue_, 1, {}, boot_clock::now());
  backend_.swap_oldest();
  backend_.answer(abandoned{.had_lock = true});
  backend_.answer(ownership::gone);
  EXPECT_THAT(results_, ElementsAre(release_result::released));
}

TEST_F(a_pending_release, is_not_over_when_what_cleans_up_found_nothing) {
  release();
  pending_releases_.abandon(*queue_, 1, {}, boot_clock::now());
  backend_.swap_oldest();
  backend_.answer(abandoned{});
  backend_.answer(ownership::gone);
  EXPECT_THAT(results_, ElementsAre(release_result::lost));
}

/// A renewal under way may be carried out at the end of the lease, and lets the key live for a ttl from then.
TEST_F(a_pending_release, is_tried_for_as_long_as_a_renewal_under_way_may_let_the_key_live) {
  release();
  auto const usual = backend_.release_tried_until;
  lease_->renewing = true;
  release();
  EXPECT_GE(backend_.release_tried_until, usual + lease_->options().ttl);
  for (auto i = 0; i != 2; ++i) backend_.answer(ownership::held);
}

TEST_F(a_pending_release, waits_out_an_error_that_passes) {
  release();
  (void)backend_.take_sent();
  backend_.refuse("LOADING the dataset");
  EXPECT_THAT(results_, IsEmpty());
  EXPECT_EQ(pending_releases_.count_at_end(), 1u);
  pass(25ms);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("release orders"));
  backend_.answer(ownership::held);
  EXPECT_THAT(results_, ElementsAre(release_result::released));
}

TEST_F(a_pending_release, was_carried_out_by_a_copy_before_the_server_was_busy) {
  release();
  backend_.refuse("BUSY a script", true);
  pass(25ms);
  backend_.answer(ownership::gone);
  EXPECT_THAT(results_, ElementsAre(release_result::released));
}

TEST_F(a_pending_release, is_remembered_for_as_long_as_its_lease_would_have_lasted) {
  pending_releases_.note_ttl(1h);
  release();
  backend_.answer(ownership::held);
  (void)backend_.take_sent();
  clock_.advance(31s);
  pending_releases_.repeat(boot_clock::now());
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

TEST_F(a_pending_release, of_an_abandoned_request_is_sent_again_after_any_refusal) {
  pending_releases_.abandon(*queue_, 7, {}, boot_clock::now());
  (void)backend_.take_sent();
  backend_.refuse("BUSY a script");
  pass(25ms);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("abandon 7"));
  backend_.refuse("NOREPLICAS no");
  pass(500ms);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("abandon 7"));
  clock_.advance(2min);
  backend_.refuse("NOREPLICAS no");
  pass(500ms);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

TEST_F(a_pending_release, is_sent_again_after_a_refusal_though_its_caller_goes) {
  release();
  (void)backend_.take_sent();
  backend_.refuse("NOPERM no");
  EXPECT_THAT(results_, ElementsAre(release_result::unknown));
  pass(500ms);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("release orders"));
}

TEST_F(a_pending_release, is_sent_for_as_long_as_any_request_can_have_given_its_key) {
  pending_releases_.note_ttl(60s);
  release();
  clock_.advance(31s);
  (void)backend_.take_sent();
  backend_.refuse("LOADING the dataset");
  pass(25ms);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("release orders"));
  clock_.advance(30s);
  backend_.refuse("LOADING the dataset");
  pass(25ms);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
  EXPECT_THAT(results_, ElementsAre(release_result::unknown));
}

TEST_F(a_pending_release, is_not_sent_again_once_the_lease_is_over_anyway) {
  release();
  clock_.advance(31s);
  (void)backend_.take_sent();
  backend_.refuse("LOADING the dataset");
  pass(1s);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

TEST_F(a_pending_release, is_owed_when_there_is_no_memory_for_it) {
  backend_.out_of_memory = 2;
  release();
  EXPECT_THAT(results_, ElementsAre(release_result::unknown));
  EXPECT_EQ(pending_releases_.count_at_end(), 1u);
  pass(memory_pause);
  EXPECT_THAT(backend_.take_sent(), IsEmpty()) << "there is still none";
  pass(memory_pause);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("release orders"));
  EXPECT_TRUE(owed_.empty());
}

TEST_F(a_pending_release, is_repeated_when_the_server_may_have_lost_it) {
  release();
  backend_.answer(ownership::held);
  (void)backend_.take_sent();
  pending_releases_.repeat(boot_clock::now());
  EXPECT_THAT(backend_.take_sent(), ElementsAre("release orders"));
  pending_releases_.repeat(boot_clock::now());
  EXPECT_THAT(backend_.take_sent(), IsEmpty()) << "it is under way";
  backend_.answer(ownership::gone);
  pending_releases_.stop_repeating();
  pending_releases_.repeat(boot_clock::now());
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

TEST_F(a_pending_release, leaves_no_more_owed_requests_than_there_is_room_for) {
  for (std::uint64_t i = 0; i != 2 * most_owed; ++i) {
    owed_.add({.queue = queue_,
               .number = i,
               .type = owed_request::kind::abandon,
               .policy = {},
               .until = boot_clock::now() + 1s},
              boot_clock::now());
  }
  EXPECT_LT(owed_.count(owed_request::kind::abandon), 2 * most_owed);
  pass(0s);
  ASSERT_FALSE(logged_.empty());
  EXPECT_THAT(logged_.front(), HasSubstr("there is no memory to give back"));
}

class a_kept_key : public engine_parts {
 protected:
  void leave(std::optional<milliseconds> remaining) {
    kept_keys_.leave(*lease_, remaining, boot_clock::now(),
                     [this](release_result result) { results_.push_back(result); });
  }

  departed departed_;
  delayed_calls delayed_{loop_};
  late_responses late_;
  presence presence_{loop_, backend_, {}, [] { return false; }, [] {}};
  owed_requests owed_{loop_, client_, log_, [](owed_request const&, time_point) {}};
  kept_keys kept_keys_{backend_, client_, log_, departed_, late_, presence_, delayed_, owed_};
  lock_queue_ptr queue_{pin()};
  lease_state_ptr lease_{make_lease(queue_, 1)};
  std::vector<release_result> results_;
};

TEST_F(a_kept_key, needs_no_request_to_keep_its_ttl) {
  leave(std::nullopt);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
  EXPECT_THAT(results_, ElementsAre(release_result::kept));
}

TEST_F(a_kept_key, gets_its_last_ttl) {
  leave(5s);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("set_ttl 5000"));
  backend_.answer(ownership::held);
  EXPECT_THAT(results_, ElementsAre(release_result::kept));
}

TEST_F(a_kept_key, gets_its_last_ttl_when_an_error_has_passed) {
  leave(5s);
  (void)backend_.take_sent();
  backend_.refuse("BUSY a script");
  EXPECT_THAT(results_, IsEmpty());
  pass(25ms);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("set_ttl 4975"));
  backend_.answer(ownership::held);
  EXPECT_THAT(results_, ElementsAre(release_result::kept));
}

TEST_F(a_kept_key, gets_its_last_ttl_after_a_refusal_that_its_caller_hears_of) {
  leave(5s);
  (void)backend_.take_sent();
  backend_.refuse("NOREPLICAS no");
  EXPECT_THAT(results_, ElementsAre(release_result::unknown));
  pass(500ms);
  EXPECT_THAT(backend_.take_sent(), testing::Contains("set_ttl 4500"));
}

TEST_F(a_kept_key, is_not_asked_about_for_longer_than_its_lease) {
  leave(5s);
  clock_.advance(31s);
  (void)backend_.take_sent();
  backend_.refuse("BUSY a script");
  pass(1s);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
  EXPECT_THAT(results_, ElementsAre(release_result::unknown));
}

TEST_F(a_kept_key, gets_it_behind_a_renewal_that_is_under_way) {
  lease_->renewing = true;
  leave(5s);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
  lease_->settle();
  EXPECT_THAT(backend_.take_sent(), ElementsAre("set_ttl 5000"));
}

TEST_F(a_kept_key, gets_the_ttl_of_its_lease_when_a_message_has_granted_it_for_less) {
  lease_->provisional = true;
  leave(std::nullopt);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("set_ttl 30000"));
}

TEST_F(a_kept_key, is_no_ghost_until_its_time_is_over) {
  kept_keys_.note(*lease_, 5s, true, boot_clock::now());
  EXPECT_TRUE(departed_.has_left_key(1, boot_clock::now() + 35s));
  EXPECT_FALSE(departed_.has_left_key(1, boot_clock::now() + 60s));
}

TEST_F(a_kept_key, is_not_undone_by_a_late_response) {
  late_.expect(1);
  leave(5s);
  EXPECT_EQ(late_.arrived(1), boot_clock::now() + 5s);
  EXPECT_EQ(late_.arrived(1), time_point{}) << "there was one response";
}

}  // namespace
}  // namespace holdfast::engine
