// The scripts of permits without leases, and leases beside them.

#include "contract/permits.hpp"

namespace holdfast::contract::permits_test {

using testing::Gt;
using testing::Le;

class lasting_permits : public permits {
 protected:
  static std::string lasting(std::string_view owner) {
    return std::string{owner}.append(names::lasting_suffix);
  }
  [[nodiscard]] static call take(engine::acquire_request request, int amount = 1, int size = 0) {
    request.amount = amount;
    request.size = size;
    return recipes::plain::lasting_permits.acquire(lock_name, request);
  }
  [[nodiscard]] call give_back(std::int64_t number, std::string_view client, std::int64_t offered = 0,
                               std::vector<std::string_view> const& takers = {}) {
    make_mark();
    return lua::give_back{.lock = keys_.lock,
                          .counter = keys_.counter,
                          .queue = keys_.queue,
                          .size = keys_.size,
                          .done = {mark()},
                          .answered = {},
                          .number = number,
                          .client = client,
                          .offered = offered,
                          .grant_ms = 2000,
                          .publish = "PUBLISH",
                          .done_ms = day,
                          .takers = {takers.begin(), takers.end()}}();
  }
  [[nodiscard]] call drain(std::int64_t offered = 0) {
    make_mark();
    return lua::drain{.lock = keys_.lock,
                      .counter = keys_.counter,
                      .queue = keys_.queue,
                      .size = keys_.size,
                      .done = {mark()},
                      .answered = {},
                      .offered = offered,
                      .grant_ms = 2000,
                      .publish = "PUBLISH",
                      .done_ms = day}();
  }
  /// `copied`: a copy of its request may still come.
  [[nodiscard]] static call give_up(std::string_view owner, bool copied) {
    return recipes::plain::lasting_permits.abandon({.name = lock_name, .owner = owner}, {.copied = copied});
  }
  static std::string_view client_of(std::string_view owner) { return owner.substr(0, 36); }

  std::string const a_ = lasting(caller);
  std::string const b_ = lasting(rival);
};

TEST_F(lasting_permits, are_taken_for_longer_than_any_lease) {
  EXPECT_THAT(run(take(try_request(caller), 2, 3)), is_granted());
  EXPECT_EQ(out(), (parties{{a_, 2}}));
  EXPECT_GT(left_of_holder(a_), std::int64_t{365} * day);
  EXPECT_GT(raw_.pttl(std::string{lock_name}), std::int64_t{365} * day);
  EXPECT_THAT(run(take(try_request(caller), 2, 3)), is_granted(last_token + 2)) << "sent again";
  EXPECT_EQ(out(), (parties{{a_, 2}}));
}

TEST_F(lasting_permits, come_back_by_count_and_once) {
  ASSERT_THAT(run(take(try_request(caller), 3, 3)), is_granted());
  auto const one = give_back(1, client_of(caller));
  EXPECT_THAT(run(one), is(1));
  EXPECT_THAT(run(one), is(1)) << "sent again";
  EXPECT_EQ(out(), (parties{{a_, 2}}));
  EXPECT_THAT(run(give_back(1, client_of(caller))), is(1));
  EXPECT_EQ(out(), (parties{{a_}}));
  EXPECT_THAT(run(give_back(1, client_of(caller))), is(1));
  EXPECT_FALSE(raw_.exists(std::string{lock_name}));
  EXPECT_FALSE(raw_.exists(names::permits(lock_name))) << "nobody has set it";
}

TEST_F(lasting_permits, come_back_from_the_client_that_gives_them_back_and_then_from_others) {
  ASSERT_THAT(run(take(try_request(caller), 2, 5)), is_granted());
  ASSERT_THAT(run(take(try_request(rival), 2, 5)), is_granted(last_token + 2));
  EXPECT_THAT(run(give_back(1, client_of(caller))), is(1));
  EXPECT_THAT(out(), testing::UnorderedElementsAre(party{a_}, party{b_, 2}));
  EXPECT_THAT(run(give_back(2, client_of(caller))), is(1));
  EXPECT_EQ(out(), (parties{{b_}}));
  EXPECT_THAT(run(counts()), is_list({4, 5, 1}));
}

TEST_F(lasting_permits, come_back_from_the_owner_that_took_them_first) {
  auto const newer = std::string{client_of(caller)} + ":9";
  ASSERT_THAT(run(take(try_request(caller), 1, 5)), is_granted());
  ASSERT_THAT(run(take(try_request(newer), 2, 5)), is_granted(last_token + 2));
  EXPECT_THAT(run(give_back(1, client_of(caller))), is(1));
  EXPECT_EQ(out(), (parties{{lasting(newer), 2}})) << "its answer may be on its way";
  EXPECT_THAT(run(give_up(newer, false)), is(1));
  EXPECT_THAT(run(counts()), is_list({0, -1, 0})) << "all are back";
}

TEST_F(lasting_permits, come_back_from_behind_a_hundred_others) {
  std::vector<std::string> owners;
  for (int i = 0; i != 250; ++i)
    owners.push_back(std::string{client_of(rival)} + ":" + std::to_string(i + 1));
  for (auto const& owner : owners) (void)run(take(try_request(owner), 1, 250));
  EXPECT_THAT(run(give_back(249, client_of(caller))), is(1));
  EXPECT_THAT(run(counts()), is_list({249, 250, 1}));
  EXPECT_THAT(run(give_back(3, client_of(caller))), is(1));
  EXPECT_THAT(run(counts()), is_list({252, 252, 0})) << "two are new";
}

TEST_F(lasting_permits, let_the_first_in_the_queue_in) {
  ASSERT_THAT(run(take(try_request(caller), 2, 2)), is_granted());
  given_waiting({{rival, 1, 30}, {b_, 1, 20}});
  subscription inboxes{server_, {rival}};
  EXPECT_THAT(run(give_back(2, client_of(caller))), is(1));
  EXPECT_THAT(out(), testing::UnorderedElementsAre(party{rival}, party{b_}));
  EXPECT_THAT(inboxes.take(),
              testing::ElementsAre(granted(rival, last_token + 2, 1), granted(rival, last_token + 3, 1)));
  EXPECT_THAT(left_of_holder(b_), Le(2'000)) << "until it asks";
  EXPECT_THAT(raw_.pttl(std::string{lock_name}), testing::AllOf(Gt(0), Le(3'001)));
}

TEST_F(lasting_permits, leave_a_set_that_ends_with_what_a_message_granted) {
  given_out(2, {{b_}});
  ASSERT_THAT(run(take(try_request(caller))), is_granted());
  EXPECT_THAT(run(give_back(1, client_of(caller))), is(1));
  EXPECT_EQ(out(), (parties{{b_}}));
  EXPECT_THAT(raw_.pttl(std::string{lock_name}), Le(21'001));
}

TEST_F(lasting_permits, leave_what_a_message_granted_to_its_client) {
  given_out(2, {{b_}});
  EXPECT_THAT(run(give_back(1, client_of(caller))), is(1));
  EXPECT_EQ(out(), (parties{{b_}}));
  EXPECT_THAT(run(counts()), is_list({2, 3, 1})) << "one is new";
  ASSERT_THAT(run(take(try_request(caller))), is_granted());
  EXPECT_THAT(run(give_back(2, client_of(caller))), is(1));
  EXPECT_EQ(out(), (parties{{b_}}));
  EXPECT_THAT(run(counts()), is_list({3, 4, 1})) << "one came back, one is new";
}

TEST_F(lasting_permits, are_not_taken_by_a_late_copy_for_an_owner_that_has_given_up) {
  auto const request = take(try_request(caller), 2, 3);
  ASSERT_THAT(run(request), is_granted());
  EXPECT_THAT(run(give_up(caller, true)), is(1));
  EXPECT_THAT(run(request), is_short(-2, -2, "", -1, 0, 0));
  EXPECT_FALSE(raw_.exists(std::string{lock_name}));
  EXPECT_THAT(run(take(try_request(rival), 3, 3)), is_granted(last_token + 2));
  EXPECT_THAT(run(request), is_short(-2, -2, "", -1, 0, 0));
  EXPECT_EQ(out(), (parties{{b_, 3}}));
  auto const mark = names::done_prefix(lock_name) + a_;
  EXPECT_THAT(raw_.pttl(mark), testing::AllOf(Gt(30 * 60'000), Le(60 * 60'000)));
}

TEST_F(lasting_permits, leave_no_key_of_an_owner_that_gives_up_where_no_copy_is_left) {
  EXPECT_THAT(run(give_up(caller, false)), is(0));
  EXPECT_THAT(raw_.keys("*done*"), testing::IsEmpty());
}

TEST_F(lasting_permits, leave_a_set_that_ends_with_leases_when_their_owner_gives_up) {
  given_out(3, {{rival}});
  ASSERT_THAT(run(take(try_request(caller))), is_granted());
  EXPECT_THAT(run(give_up(caller, false)), is(1));
  EXPECT_EQ(out(), (parties{{rival}}));
  EXPECT_THAT(raw_.pttl(std::string{lock_name}), Le(21'001));
}

TEST_F(lasting_permits, leave_a_set_that_ends_with_leases_when_they_are_given_back_by_force) {
  given_out(3, {{rival}});
  ASSERT_THAT(run(take(try_request(caller))), is_granted());
  EXPECT_THAT(run(release(a_)), is(1));
  EXPECT_EQ(out(), (parties{{rival}}));
  EXPECT_THAT(raw_.pttl(std::string{lock_name}), Le(21'001));
}

TEST_F(lasting_permits, leave_those_with_leases_alone) {
  given_out(3, {{rival, 2}});
  ASSERT_THAT(run(take(try_request(caller))), is_granted());
  EXPECT_THAT(run(give_back(2, client_of(caller))),
              is_error("MISFIT 2 permits with leases, of an expiring_semaphore, not 2 permits without "
                       "leases, of a semaphore"));
  EXPECT_THAT(out(), testing::UnorderedElementsAre(party{rival, 2}, party{a_}));
  EXPECT_THAT(run(give_back(1, client_of(caller))), is(1));
  EXPECT_EQ(out(), (parties{{rival, 2}}));
  EXPECT_THAT(raw_.pttl(std::string{lock_name}), Le(21'001)) << "it ends with them";
  EXPECT_THAT(run(release(rival)), is(1));
}

TEST_F(lasting_permits, are_new_where_fewer_are_out) {
  EXPECT_THAT(run(give_back(2, client_of(caller))), is(1));
  EXPECT_THAT(run(counts()), is_list({2, 2, 0}));
  EXPECT_THAT(run(give_back(2, client_of(caller), 9)), is(1));
  EXPECT_THAT(run(counts()), is_list({4, 4, 0}));
}

TEST_F(lasting_permits, are_new_beside_those_that_come_back) {
  ASSERT_THAT(run(take(try_request(caller), 1, 1)), is_granted());
  EXPECT_THAT(run(give_back(3, client_of(caller))), is(1));
  EXPECT_THAT(run(counts()), is_list({3, 3, 0}));
  EXPECT_FALSE(raw_.exists(std::string{lock_name}));
}

TEST_F(lasting_permits, are_drained_once) {
  EXPECT_THAT(run(drain()), is(0)) << "nobody has said how many there are";
  ASSERT_THAT(run(take(try_request(caller), 1, 4)), is_granted());
  auto const all = drain();
  EXPECT_THAT(run(all), is(3));
  EXPECT_THAT(run(all), is(3)) << "sent again";
  EXPECT_THAT(run(counts()), is_list({0, 1, 1}));
  EXPECT_THAT(run(drain()), is(0));
  EXPECT_THAT(run(give_back(1, client_of(caller))), is(1));
  EXPECT_THAT(run(counts()), is_list({1, 1, 0}));
}

TEST_F(lasting_permits, are_drained_of_none_by_a_copy_that_comes_late) {
  auto const all = drain();
  EXPECT_THAT(run(all), is(0));
  EXPECT_THAT(run(give_back(3, client_of(caller))), is(1));
  EXPECT_THAT(run(all), is(0));
  EXPECT_THAT(run(counts()), is_list({3, 3, 0}));
}

TEST_F(lasting_permits, come_back_by_no_copy_of_a_request_that_was_refused) {
  given_out(2, {{rival}});
  auto const one = give_back(1, client_of(caller));
  auto const refused = run(one);
  ASSERT_TRUE(refused.is_error());
  ASSERT_THAT(run(take(try_request(caller))), is_granted());
  EXPECT_EQ(run(one).text, refused.text);
  EXPECT_THAT(out(), testing::UnorderedElementsAre(party{a_}, party{rival}));
}

TEST_F(lasting_permits, taken_by_force_are_not_given_back_again) {
  ASSERT_THAT(run(take(try_request(caller), 3, 4)), is_granted());
  ASSERT_THAT(run(take(try_request(rival), 1, 4)), is_granted(last_token + 2));
  ASSERT_THAT(run(release(a_)), is(1));
  EXPECT_THAT(run(give_back(1, client_of(caller), 0, {a_})), is(1));
  auto const rest = give_back(2, client_of(caller), 0, {a_});
  EXPECT_THAT(run(rest), is(1));
  EXPECT_THAT(run(rest), is(1)) << "sent again";
  EXPECT_THAT(run(counts()), is_list({3, 4, 1}));
  EXPECT_EQ(out(), (parties{{b_}}));
  EXPECT_THAT(run(give_back(2, client_of(caller), 0, {a_, b_})), is(1));
  EXPECT_THAT(run(counts()), is_list({5, 5, 0})) << "one is new";
}

TEST_F(lasting_permits, taken_by_force_are_not_taken_by_a_copy_that_comes_late) {
  auto const request = take(try_request(caller), 1, 2);
  ASSERT_THAT(run(request), is_granted());
  ASSERT_THAT(run(release(a_)), is(1));
  (void)run(request);
  EXPECT_THAT(out(), testing::IsEmpty());
}

TEST_F(lasting_permits, are_drained_of_what_those_in_the_queue_leave) {
  given_out(3, {{rival, 3, -1}});
  given_waiting({{caller, 1, 30}});
  subscription inboxes{server_, {caller}};
  EXPECT_THAT(run(drain()), is(2));
  EXPECT_EQ(out(), (parties{{caller}}));
  EXPECT_THAT(inboxes.take(), testing::ElementsAre(granted(caller, last_token + 1, 1)));
  EXPECT_THAT(run(counts()), is_list({0, 1, 1}));
}

TEST_F(lasting_permits, are_drained_to_none_where_the_last_has_expired) {
  given_out(0, {{rival, 1, -1}});
  EXPECT_THAT(run(drain()), is(0));
  EXPECT_FALSE(raw_.exists(std::string{lock_name}));
}

TEST_F(lasting_permits, are_counted_of_none_where_nobody_said_how_many_there_are) {
  EXPECT_THAT(run(counts()), is_list({0, -1, 0}));
}

}  // namespace holdfast::contract::permits_test
