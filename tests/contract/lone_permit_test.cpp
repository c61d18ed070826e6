// An owner of one permit that came when nobody had any: it is the text of the name's key, without a set.
#include "contract/contract.hpp"
#include "script/names.hpp"
#include "scripts/inspect.hpp"
#include "scripts/permits.hpp"
#include "wire/plain/permits.hpp"

namespace holdfast::contract::lone_permit_test {

using testing::_;

constexpr engine::owned callers{.name = lock_name, .owner = caller};

class lone_permit : public testing::Test {
 protected:
  lone_permit() {
    raw_.command({"SET", names::token_counter(lock_name), std::to_string(last_token)});
    have(caller);
  }

  void have(std::string_view owner) {
    raw_.command(
        {"SET", name_, std::string{names::held_by_one_permit} + "3 " + std::string{owner}, "PX", "20000"});
  }
  void wait(std::string_view owner) {
    raw_.command({"ZADD", names::permit_queue(lock_name), "1000", std::string{owner}});
  }
  [[nodiscard]] static call acquire(std::string_view owner) {
    return recipes::plain::permits.acquire(
        lock_name, {.owner = owner, .ttl = std::chrono::milliseconds{full_ttl}, .amount = 1, .size = 3});
  }
  raw_reply run(call const& script) { return ask(raw_, script); }
  [[nodiscard]] std::vector<std::string> members() {
    std::vector<std::string> all;
    for (auto const& each : raw_.command({"ZRANGE", name_, "0", "-1"}).elements) all.push_back(each.text);
    return all;
  }

  std::string name_{lock_name};
  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
};

TEST_F(lone_permit, comes_back) {
  EXPECT_THAT(run(recipes::plain::permits.fast_release(callers)), is(1));
  EXPECT_FALSE(raw_.exists(name_));
  EXPECT_THAT(run(recipes::plain::permits.fast_release(callers)), is(0));
  have(caller);
  EXPECT_THAT(run(recipes::plain::permits.release(callers, {})), is(1));
  EXPECT_FALSE(raw_.exists(name_));
}

TEST_F(lone_permit, is_left_to_the_full_release_where_somebody_waits_or_has_permits_beside_it) {
  wait(anna);
  EXPECT_THAT(run(recipes::plain::permits.fast_release(callers)), is(2));
  raw_.del(names::permit_queue(lock_name));
  EXPECT_THAT(run(acquire(ben)), is_list({_, 1}));
  EXPECT_THAT(run(recipes::plain::permits.fast_release(callers)), is(2));
  EXPECT_THAT(run(recipes::plain::permits.release(callers, {})), is(1));
  EXPECT_THAT(run(recipes::plain::permits.fast_release(callers)), is(0));
}

TEST_F(lone_permit, is_not_taken_back_from_another) {
  have(rival);
  EXPECT_THAT(run(recipes::plain::permits.fast_release(callers)), is(0));
  EXPECT_THAT(run(recipes::plain::permits.release(callers, {})), is(0));
  EXPECT_THAT(run(recipes::plain::permits.abandon(callers, {})), is(0));
  EXPECT_THAT(run(recipes::plain::permits.release({.name = lock_name, .owner = rival}, {})), is(1));
}

TEST_F(lone_permit, stands_first_in_the_set_when_others_come) {
  EXPECT_THAT(run(acquire(ben)), is_list({_, 1}));
  EXPECT_THAT(members(), testing::ElementsAre("holdfast_permits:3", caller, ben));
  EXPECT_EQ(raw_.command({"ZSCORE", name_, "holdfast_permits:3"}).text, "-2");
  EXPECT_GT(raw_.pttl(name_), 20'000);
}

/// It was lost, and an INCR of the fast path found nothing; see docs/decisions/0021.
TEST_F(lone_permit, has_a_counter_that_was_made_anew_live_for_a_day_when_others_ask) {
  raw_.command({"SET", names::token_counter(lock_name), "1"});
  raw_.command({"SET", names::permits(lock_name), "1"});
  EXPECT_THAT(run(acquire(ben)).elements, testing::SizeIs(8));
  EXPECT_GT(raw_.pttl(names::token_counter(lock_name)), day - minute);
}

TEST_F(lone_permit, becomes_one_of_as_many_as_was_said) {
  raw_.command({"SET", names::permits(lock_name), "2"});
  EXPECT_THAT(run(acquire(ben)), is_list({_, 1}));
  EXPECT_THAT(members(), testing::ElementsAre("holdfast_permits:2", caller, ben));
}

TEST_F(lone_permit, is_found_by_a_request_that_is_sent_again) {
  EXPECT_THAT(run(acquire(caller)), is_list({_, 1}));
  EXPECT_EQ(raw_.command({"ZSCORE", name_, "holdfast_permits:3"}).text, "-1");
}

TEST_F(lone_permit, goes_to_the_first_that_waits) {
  subscription inboxes{server_, {anna}};
  wait(anna);
  EXPECT_THAT(run(recipes::plain::permits.release(callers, {})), is(1));
  EXPECT_THAT(members(), testing::ElementsAre("holdfast_permits:3", anna));
  EXPECT_THAT(inboxes.take(), testing::ElementsAre(granted(anna, last_token + 1, 1)));
}

TEST_F(lone_permit, comes_back_though_the_number_is_something_else) {
  wait(anna);
  raw_.command({"RPUSH", names::permits(lock_name), "x"});
  EXPECT_THAT(run(recipes::plain::permits.release(callers, {})), is(1));
}

TEST_F(lone_permit, is_given_back_by_who_gives_up) {
  EXPECT_THAT(run(recipes::plain::permits.abandon(callers, {})), is(1));
  EXPECT_FALSE(raw_.exists(name_));
}

TEST_F(lone_permit, is_renewed) {
  std::vector<engine::owned> const leases{callers, {.name = lock_name, .owner = rival}};
  EXPECT_THAT(run(recipes::plain::permits.renew(std::chrono::milliseconds{full_ttl}, leases)), is_list({2}));
  EXPECT_GT(raw_.pttl(name_), 20'000);
  EXPECT_EQ(raw_.command({"TYPE", name_}).text, "string");
}

TEST_F(lone_permit, is_kept_for_a_shorter_time_where_its_owner_says_so) {
  std::vector<engine::owned> const leases{callers};
  EXPECT_THAT(run(recipes::plain::permits.renew(std::chrono::milliseconds{5000}, leases)), is_list({}));
  EXPECT_LE(raw_.pttl(name_), 5000);
}

TEST_F(lone_permit, counts_when_the_number_changes) {
  auto const counter = names::token_counter(lock_name);
  auto const queue = names::permit_queue(lock_name);
  auto const size = names::permits(lock_name);
  scripts::permits::resize change{.lock = {lock_name},
                                  .counter = {counter},
                                  .queue = {queue},
                                  .size = {size},
                                  .done = {"done"},
                                  .answered = {},
                                  .mode = "set",
                                  .number = 1,
                                  .offered = 3,
                                  .grant_ms = 2000,
                                  .publish = "PUBLISH",
                                  .done_ms = 1000};
  EXPECT_THAT(run(change()), is(1));
  EXPECT_THAT(members(), testing::ElementsAre("holdfast_permits:1", caller));
  EXPECT_THAT(run(acquire(ben)), is_array({_, _, _, _, is_text(caller), is(-1), is(1), is(1)}));
}

TEST_F(lone_permit, is_shown_as_one_of_several) {
  auto const counter = names::token_counter(lock_name);
  auto const queue = names::queue(lock_name);
  auto const state = run(scripts::inspect::state{.lock = {lock_name},
                                                 .counter = {counter},
                                                 .queue = {queue},
                                                 .most = 0,
                                                 .publish = "PUBLISH",
                                                 .scope = "plain"}());
  EXPECT_EQ(state.elements[0].text, "zset");
  EXPECT_THAT(state.elements[1], is_array({is(3), is(1), is(1), is_text(caller), _, is(1)}));
  auto const asked = names::asked(lock_name, caller);
  EXPECT_THAT(
      run(scripts::inspect::ask{.lock = {lock_name}, .asked = {asked}, .owner = caller, .mode = "look"}()),
      is_array({is(0), is_number(testing::Gt(0))}));
}

}  // namespace holdfast::contract::lone_permit_test
