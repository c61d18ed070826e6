#include "engine/contention/decisions.hpp"

#include "unit/engine_parts.hpp"
#include "wire/plain/fair.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

/// A queue with a first caller, whose options a test may change before it asks.
class decisions : public engine_parts {
 public:
  ~decisions() override { queue_->waiters.clear(); }

 protected:
  explicit decisions(recipe const& lock_recipe = recipes::plain::exclusive) : queue_{pin(lock_recipe)} {}

  waiter& add_caller(lock_options const& options = {}) {
    caller_ = std::make_unique<recorded_waiter>(queue_, options);
    caller_->came_at = boot_clock::now();
    queue_->waiters.push_back(*caller_);
    return *caller_;
  }
  contender& add_contender() {
    open_contender(*queue_, 1);
    return *queue_->contender;
  }
  [[nodiscard]] static time_point now() { return boot_clock::now(); }

  lock_queue_ptr queue_;
  std::unique_ptr<recorded_waiter> caller_;
};

class a_lease_that_ends : public decisions {
 protected:
  a_lease_that_ends() { queue_->held_here_since = now(); }

  [[nodiscard]] bool goes_to_next(lock_options const& wanted = {}) {
    queue_->waiters.clear();
    add_caller(wanted);
    return may_hand_over(*queue_, *lease_, now());
  }

  lease_state_ptr lease_{make_lease(queue_, 1)};
};

TEST_F(a_lease_that_ends, goes_to_the_next_caller_that_wants_the_same) { EXPECT_TRUE(goes_to_next()); }

TEST_F(a_lease_that_ends, goes_to_no_caller_where_there_is_none) {
  EXPECT_FALSE(may_hand_over(*queue_, *lease_, now()));
}

TEST_F(a_lease_that_ends, goes_to_no_caller_without_a_token_for_it) {
  lease_->tokens_left = 0;
  EXPECT_FALSE(goes_to_next());
}

/// Others would take the next caller for the work of this one.
TEST_F(a_lease_that_ends, goes_to_no_caller_once_its_trace_is_said) {
  lease_->trace_said = true;
  EXPECT_FALSE(goes_to_next());
}

TEST_F(a_lease_that_ends, goes_back_after_so_many_handoffs_or_so_much_time) {
  queue_->handoffs = 64;
  EXPECT_FALSE(goes_to_next());
  queue_->handoffs = 63;
  EXPECT_TRUE(goes_to_next());
  clock_.advance(10ms);
  EXPECT_FALSE(goes_to_next());
}

TEST_F(a_lease_that_ends, goes_to_no_caller_that_wants_more) {
  EXPECT_FALSE(goes_to_next({.ttl = 31s}));
  EXPECT_FALSE(goes_to_next({.watchdog = false}));
  EXPECT_FALSE(goes_to_next({.fsynced = true}));
  EXPECT_FALSE(goes_to_next({.replicas = 1}));
}

TEST_F(a_lease_that_ends, is_handed_over_when_a_message_granted_it_for_a_short_time) {
  lease_->set_deadline(now() + 600ms);
  EXPECT_TRUE(goes_to_next());
  lease_->renewing = true;
  EXPECT_FALSE(goes_to_next()) << "its renewal has no reply";
  lease_->renewing = false;
  lease_->set_deadline(now() + 400ms);
  EXPECT_FALSE(goes_to_next());
}

TEST_F(a_lease_that_ends, is_still_to_be_released_when_it_was_lost_at_its_limit) {
  (void)lease_->lose(loss_cause::limit_reached);
  EXPECT_TRUE(still_to_release(*lease_, now()));
  EXPECT_FALSE(still_to_release(*lease_, lease_->deadline()));
}

TEST_F(a_lease_that_ends, is_not_to_be_released_when_another_has_the_lock) {
  (void)lease_->lose(loss_cause::taken_over);
  EXPECT_FALSE(still_to_release(*lease_, now()));
}

class a_grant : public decisions {
 protected:
  a_grant() {
    add_caller();
    auto& contender = add_contender();
    contender.ttl = 30s;
    contender.first_came_at = caller_->came_at;
  }
  [[nodiscard]] grant_use use(milliseconds ttl = 30s, bool on_etcd = false) {
    return use_of_grant(*queue_, deadline_of(now(), ttl), ttl, on_etcd, now());
  }
};

TEST_F(a_grant, is_a_lease_for_the_first_caller) { EXPECT_EQ(use(), grant_use::lease); }

TEST_F(a_grant, is_of_no_use_once_its_ttl_is_over) {
  EXPECT_EQ(use_of_grant(*queue_, now(), 30s, false, now()), grant_use::expired);
}

TEST_F(a_grant, is_renewed_where_its_ttl_is_another_one) {
  EXPECT_EQ(use(2s), grant_use::lease);
  EXPECT_EQ(use(2s, true), grant_use::other_ttl) << "a lease of etcd keeps its ttl";
  queue_->waiters.clear();
  add_caller({.watchdog = false});
  EXPECT_EQ(use(2s), grant_use::other_ttl) << "nothing would renew it";
}

TEST_F(a_grant, counts_only_when_it_is_acknowledged_for_a_caller_that_wants_that) {
  queue_->waiters.clear();
  add_caller({.replicas = 1});
  EXPECT_EQ(use(), grant_use::unacknowledged);
  queue_->contender->acknowledged = true;
  EXPECT_EQ(use(), grant_use::lease);
}

TEST_F(a_grant, is_good_for_a_caller_that_came_after_its_request) {
  EXPECT_TRUE(is_good_for(*caller_, caller_->came_at - 1ms));
}

class a_grant_of_a_latch : public decisions {
 protected:
  a_grant_of_a_latch() : decisions{recipes::redisson::latch} { add_caller(); }
};

TEST_F(a_grant_of_a_latch, is_good_for_a_caller_that_came_before_its_request) {
  EXPECT_TRUE(is_good_for(*caller_, caller_->came_at));
}

TEST_F(a_grant_of_a_latch, is_of_no_use_for_a_caller_that_came_after_its_request) {
  EXPECT_FALSE(is_good_for(*caller_, caller_->came_at - 1ms));
}

class a_grant_by_message : public a_grant {
 protected:
  a_grant_by_message() {
    queue_->contender->busy_sent_at = now();
    queue_->contender->newest_token = 100;
    queue_->contender->current = contender::state::waiting;
  }
  [[nodiscard]] bool believed(std::int64_t token = 101, bool trusted = true) {
    return believes(*queue_, {.token = token}, trusted, now());
  }
};

TEST_F(a_grant_by_message, is_believed_when_it_is_newer_than_the_last_busy_reply) {
  EXPECT_TRUE(believed());
  EXPECT_FALSE(believed(100));
}

TEST_F(a_grant_by_message, is_not_believed_where_a_replica_may_have_sent_it) {
  EXPECT_FALSE(believed(101, false));
}

TEST_F(a_grant_by_message, is_not_believed_when_it_may_be_over_soon) {
  clock_.advance(grant_ttl - 500ms);
  EXPECT_FALSE(believed());
}

TEST_F(a_grant_by_message, is_not_believed_before_the_first_busy_reply) {
  queue_->contender->busy_sent_at = {};
  EXPECT_FALSE(believed());
}

TEST_F(a_grant_by_message, lasts_no_longer_than_the_ttl_of_a_request_under_way) {
  queue_->contender->ttl = 1s;
  EXPECT_EQ(ttl_by_message(*queue_->contender), grant_ttl);
  queue_->contender->current = contender::state::asking;
  EXPECT_EQ(ttl_by_message(*queue_->contender), 1s);
}

class a_sleep : public decisions {};

TEST_F(a_sleep, ends_behind_the_ttl_of_the_holder_one_waiter_after_the_other) {
  EXPECT_EQ(time_to_recheck({.pttl = 100ms, .ahead = 0}, 1s), 102ms);
  EXPECT_EQ(time_to_recheck({.pttl = 100ms, .ahead = 3}, 1s), 108ms);
  EXPECT_EQ(time_to_recheck({.pttl = 10s, .ahead = 0}, 1s), 1s);
  EXPECT_EQ(time_to_recheck({.pttl = -1ms}, 1s), 1s) << "the holder has no ttl";
  EXPECT_EQ(time_to_poll({.pttl = 10ms}, 50ms), 12ms);
  EXPECT_EQ(time_to_poll({.pttl = 10s}, 50ms), 50ms);
}

TEST_F(a_sleep, ends_in_time_for_one_more_request_before_the_caller_leaves) {
  auto& caller = add_caller();
  caller.last_look = now() + 10ms;
  EXPECT_EQ(end_of_sleep(caller, 1s, now()), now() + 10ms);
  EXPECT_EQ(end_of_sleep(caller, 5ms, now()), now() + 5ms);
  clock_.advance(10ms);
  EXPECT_EQ(end_of_sleep(caller, 1s, now()), now() + 1s) << "that request has been sent";
}

class a_request : public a_grant {};

/// With that patience of the client.
class patience : public a_request {
 protected:
  [[nodiscard]] request_patience with(milliseconds of_client = {}) {
    return patience_of(*queue_->contender, *caller_, of_client, now());
  }
};

TEST_F(patience, has_no_end_once_the_server_has_answered) {
  EXPECT_EQ(with().while_down, net::retry_policy::steady);
  queue_->contender->answered = true;
  EXPECT_TRUE(with().endless());
  EXPECT_EQ(with(1s).give_up, now() + 1s) << "but that of the client";
}

TEST_F(patience, of_a_caller_that_tries_is_little) {
  caller_->tries_only = true;
  EXPECT_EQ(with().while_down, net::retry_policy::little);
}

TEST_F(patience, of_a_caller_with_a_limit_is_its_time) {
  caller_->patient_until = now() + 5s;
  EXPECT_EQ(with().while_down, net::retry_policy::endless);
  EXPECT_EQ(with().give_up, now() + 5s);
  EXPECT_FALSE(with().endless());
  caller_->patient_until = now();
  EXPECT_EQ(with().while_down, net::retry_policy::steady) << "its time is up";
  caller_->patient_until = time_point::max();
  EXPECT_TRUE(with().endless()) << "the server is known to exist";
}

TEST_F(a_request, for_another_amount_than_the_caller_wants_is_not_repeated) {
  auto& contender = *queue_->contender;
  caller_->amount = 2;
  contender.ttl = {};
  EXPECT_FALSE(asked_for_something_else(*queue_)) << "it has not asked yet";
  contender.ttl = caller_->options->options.ttl;
  EXPECT_TRUE(asked_for_something_else(*queue_));
  contender.amount = 2;
  EXPECT_FALSE(asked_for_something_else(*queue_));
}

TEST_F(a_request, under_another_value_than_the_callers_is_not_repeated) {
  auto const with_value = [](char const* value) {
    return effective_options_ptr{new effective_options{{}, 0, value}};
  };
  auto& contender = *queue_->contender;
  contender.ttl = caller_->options->options.ttl;
  caller_->options = with_value("here");
  contender.proclaimed_by = with_value("here");
  EXPECT_FALSE(asked_for_something_else(*queue_));
  contender.proclaimed_by = with_value("there");
  EXPECT_TRUE(asked_for_something_else(*queue_));
}

class a_strict_queue : public decisions {
 protected:
  a_strict_queue() : decisions{recipes::plain::fair} {}
};

TEST_F(a_strict_queue, gives_the_place_of_one_caller_to_no_other) {
  add_caller();
  auto& contender = add_contender();
  contender.first_came_at = caller_->came_at;
  contender.joined = true;
  EXPECT_FALSE(has_place_of_another(*queue_));
  contender.first_came_at -= 1s;
  EXPECT_TRUE(has_place_of_another(*queue_));
  contender.joined = false;
  EXPECT_FALSE(has_place_of_another(*queue_)) << "it has no place yet";
}

TEST(options, say_what_may_share_an_acquisition) {
  EXPECT_TRUE(shareable({}));
  EXPECT_FALSE(shareable({.watchdog = false}));
  EXPECT_FALSE(shareable({.max_renewals = 1}));
  EXPECT_FALSE(shareable({.max_hold = 1s}));
  EXPECT_FALSE(shareable({.keep = true}));
  EXPECT_FALSE(shareable({.replicas = 1}));
}

TEST(options, say_what_may_take_over_an_acquisition) {
  EXPECT_TRUE(may_inherit({}, {.replicas = 1}));
  EXPECT_FALSE(may_inherit({.replicas = 1}, {}));
  EXPECT_FALSE(may_inherit({}, {.watchdog = false}));
}

}  // namespace
}  // namespace holdfast::engine
