// The scripts of permits with leases on the plain wire.

#include "contract/permits.hpp"

namespace holdfast::contract::permits_test {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Ge;
using testing::Gt;
using testing::Le;

TEST_F(permits, are_taken_of_as_many_as_the_caller_offers) {
  EXPECT_THAT(run(acquire(try_request(caller), 1, 3)), is_granted());
  EXPECT_EQ(out(), (parties{{caller}}));
  EXPECT_EQ(size(), 3);
  EXPECT_THAT(left_of_holder(caller), left_of(full_ttl));
  EXPECT_FALSE(raw_.exists(names::permits(lock_name))) << "nobody has set it";
  EXPECT_THAT(run(acquire(try_request(rival), 2, 9)), is_granted(last_token + 2));
  EXPECT_EQ(out(), (parties{{caller}, {rival, 2}}));
  EXPECT_EQ(size(), 3) << "the first offer counts while permits are out";
  EXPECT_THAT(run(acquire(try_request(anna), 1, 9)),
              is_short(AllOf(Gt(0), Le(full_ttl)), -1, caller, 3, 3, last_token + 2));
}

TEST_F(permits, are_taken_once_by_a_request_that_is_sent_again) {
  EXPECT_THAT(run(acquire(try_request(caller), 2, 3)), is_granted());
  EXPECT_THAT(run(acquire(try_request(caller), 2, 3)), is_granted(last_token + 2));
  EXPECT_EQ(out(), (parties{{caller, 2}}));
  EXPECT_THAT(run(acquire(try_request(rival), 1, 3)), is_granted(last_token + 3));
  EXPECT_THAT(run(acquire(try_request(rival), 1, 3)), is_granted(last_token + 4));
  EXPECT_EQ(out(), (parties{{caller, 2}, {rival}}));
  EXPECT_THAT(run(release(caller)), is(1));
  EXPECT_THAT(run(release(caller)), is(0));
  EXPECT_EQ(out(), (parties{{rival}}));
}

TEST_F(permits, have_a_first_token_where_the_counter_is_lost) {
  raw_.del(names::token_counter(lock_name));
  EXPECT_THAT(run(acquire(try_request(caller), 1, 1)), is_list({Gt(now_ms() * 1'000 - 60'000'000), 1}));
  EXPECT_EQ(out(), (parties{{caller}}));
}

TEST_F(permits, are_none_where_nobody_says_how_many_there_are) {
  EXPECT_THAT(run(acquire(try_request(caller))), is_short(-2, -1, "", -1, 0));
  EXPECT_THAT(run(acquire(join_request(caller))), is_short(-2, 0, "", -1, 0));
  given_size(1);
  EXPECT_THAT(run(acquire(join_request(caller))), is_granted());
  EXPECT_THAT(waiting(), parties{});
}

TEST_F(permits, are_as_many_as_was_said_whatever_is_offered) {
  given_size(1);
  EXPECT_THAT(run(acquire(try_request(caller), 2, 5)), is_short(-2, -1, "", 1, 0));
  EXPECT_THAT(run(acquire(try_request(caller), 1, 5)), is_granted());
  EXPECT_EQ(size(), 1);
}

TEST_F(permits, are_none_where_their_number_is_no_number) {
  raw_.command({"SET", names::permits(lock_name), "some"});
  EXPECT_THAT(run(acquire(try_request(caller), 1, 5)), is_short(-2, -1, "", -1, 0));
  EXPECT_FALSE(raw_.exists(std::string{lock_name}));
}

TEST_F(permits, wait_behind_those_that_came_earlier_even_where_fewer_would_do) {
  given_out(3, {{rival, 2}});
  subscription inboxes{server_, {ben}};
  given_waiting({{ben, 2, 500}});
  EXPECT_THAT(run(acquire(try_request(caller))), is_short(AllOf(Gt(0), Le(20'000)), -1, rival, 3, 2));
  EXPECT_THAT(run(acquire(join_request(caller))), is_short(AllOf(Gt(0), Le(20'000)), 1, rival, 3, 2));
  EXPECT_THAT(waiting(), testing::ElementsAre(party{ben, 2}, party{caller}));
  EXPECT_THAT(run(acquire(join_request_after(1s, anna))), is_granted()) << "it came before";
  EXPECT_THAT(out(), testing::UnorderedElementsAre(party{rival, 2}, party{anna}));
}

TEST_F(permits, go_to_the_first_waiters_at_a_release_with_a_message_to_each) {
  given_out(3, {{caller, 3}});
  given_waiting({{rival, 1, 40}, {anna, 2, 30}, {ben, 1, 20}});
  subscription inboxes{server_, {rival, anna, ben}};
  EXPECT_THAT(run(release(caller)), is(1));
  EXPECT_THAT(out(), testing::UnorderedElementsAre(party{rival}, party{anna, 2}));
  EXPECT_THAT(waiting(), parties{{ben}});
  EXPECT_THAT(left_of_holder(anna), AllOf(Gt(0), Le(2'000))) << "until it renews them";
  EXPECT_THAT(inboxes.take(),
              testing::ElementsAre(granted(rival, last_token + 1, 1), granted(anna, last_token + 2, 1)));
  EXPECT_THAT(run(release(caller)), is(0));
  EXPECT_THAT(inboxes.take(), testing::IsEmpty());
  EXPECT_THAT(run(acquire(join_request(anna), 2)), is_granted(last_token + 3)) << "it missed the message";
  EXPECT_THAT(left_of_holder(anna), left_of(full_ttl));
  EXPECT_THAT(run(release(anna)), is(1));
  EXPECT_THAT(inboxes.take(), testing::ElementsAre(granted(ben, last_token + 4, 1)));
  EXPECT_EQ(out().size(), 2u);
}

TEST_F(permits, pass_by_a_waiter_that_nobody_hears) {
  given_out(2, {{caller, 2}});
  given_waiting({{rival, 2, 30}, {anna, 1, 20}});
  subscription inboxes{server_, {anna}};
  EXPECT_THAT(run(release(caller)), is(1));
  EXPECT_THAT(out(), parties{{anna}});
  EXPECT_THAT(waiting(), parties{});
  EXPECT_FALSE(raw_.exists(names::permit_queue(lock_name))) << "its weight is left";
}

TEST_F(permits, pass_by_a_dead_waiter_for_more_than_are_left) {
  given_out(3, {{caller, 2}, {sibling}});
  given_waiting({{rival, 3, 500}, {anna, 1, 20}});
  subscription inboxes{server_, {anna}};
  EXPECT_THAT(run(release(sibling)), is(1));
  EXPECT_THAT(out(), testing::UnorderedElementsAre(party{caller, 2}, party{anna}));
  EXPECT_THAT(waiting(), parties{});
}

TEST_F(permits, do_not_pass_by_a_living_waiter_for_more_than_are_left) {
  given_out(3, {{caller, 2}, {sibling}});
  given_waiting({{rival, 3, 500}, {anna, 1, 20}});
  subscription inboxes{server_, {anna, rival}};
  EXPECT_THAT(run(release(sibling)), is(1));
  EXPECT_THAT(out(), (parties{{caller, 2}}));
  EXPECT_THAT(run(release(caller)), is(1));
  EXPECT_THAT(out(), (parties{{rival, 3}}));
  EXPECT_THAT(waiting(), parties{{anna}});
}

TEST_F(permits, are_not_held_up_by_a_waiter_for_more_than_there_are) {
  given_out(2, {{caller, 2}});
  given_waiting({{rival, 3, 500}, {anna, 1, 20}});
  subscription inboxes{server_, {rival, anna}};
  EXPECT_THAT(run(release(caller)), is(1));
  EXPECT_THAT(out(), parties{{anna}});
  EXPECT_THAT(waiting(), (parties{{rival, 3}}));
  EXPECT_THAT(run(resize("set", 4)), is(1));
  EXPECT_THAT(out(), testing::UnorderedElementsAre(party{anna}, party{rival, 3}));
  EXPECT_THAT(inboxes.take(), testing::SizeIs(2));
}

TEST_F(permits, are_for_who_only_asks_when_nobody_else_could_have_them) {
  given_out(2, {{rival}});
  given_waiting({{ben, 3, 500}});
  subscription inboxes{server_, {ben}};
  EXPECT_THAT(run(acquire(try_request(caller))), is_granted()) << "ben wants more than there are";
  EXPECT_THAT(run(acquire(try_request(anna))),
              is_short(AllOf(Gt(0), Le(20'000)), -1, rival, 2, 2, last_token + 1));
  EXPECT_THAT(waiting(), (parties{{ben, 3}}));
}

TEST_F(permits, come_back_when_their_time_is_over_and_go_to_the_first_waiter) {
  given_out(3, {{caller, 1, -5}, {sibling, 1, -3}, {rival}});
  given_waiting({{anna, 1, 30}});
  subscription inboxes{server_, {anna}};
  EXPECT_THAT(run(acquire(join_request(ben))), is_granted(last_token + 2)) << "there is one for each";
  EXPECT_THAT(out(), testing::UnorderedElementsAre(party{rival}, party{anna}, party{ben}));
  EXPECT_THAT(inboxes.take(), testing::ElementsAre(granted(anna, last_token + 1, 1)));
}

TEST_F(permits, come_back_when_their_time_is_over_however_many_they_are) {
  given_out(3, {{caller, 3, -5}});
  EXPECT_THAT(run(counts()), is_list({3, 3, 0}));
  EXPECT_FALSE(raw_.exists(std::string{lock_name}));
  given_out(3, {{caller, 2, -5}, {rival}});
  EXPECT_THAT(run(acquire(try_request(anna), 2)), is_granted());
  EXPECT_THAT(out(), testing::UnorderedElementsAre(party{rival}, party{anna, 2}));
}

TEST_F(permits, leave_no_key_when_the_last_comes_back) {
  (void)run(acquire(try_request(caller), 1, 2));
  EXPECT_THAT(run(release(caller)), is(1));
  EXPECT_THAT(raw_.keys("*"), testing::ElementsAre(names::token_counter(lock_name)));
  (void)run(acquire(try_request(caller), 2, 2));
  EXPECT_THAT(run(abandon(caller)), is(1));
  EXPECT_THAT(raw_.keys("*"), testing::ElementsAre(names::token_counter(lock_name)));
}

TEST_F(permits, are_not_taken_back_from_others) {
  given_out(2, {{caller}});
  EXPECT_THAT(run(release(rival)), is(0));
  EXPECT_THAT(run(abandon(rival)), is(0));
  EXPECT_THAT(out(), parties{{caller}});
}

TEST_F(permits, leave_room_when_a_waiter_for_many_gives_up) {
  given_out(3, {{caller, 2}});
  given_waiting({{rival, 2, 500}, {anna, 1, 20}});
  subscription inboxes{server_, {rival, anna}};
  EXPECT_THAT(run(abandon(rival)), is(0));
  EXPECT_THAT(out(), testing::UnorderedElementsAre(party{caller, 2}, party{anna}));
  EXPECT_THAT(inboxes.take(), testing::ElementsAre(granted(anna, last_token + 1, 1)));
  EXPECT_THAT(waiting(), parties{});
}

TEST_F(permits, go_to_nobody_when_a_waiter_gives_up_where_nobody_says_how_many_there_are) {
  given_waiting({{rival, 1, 500}, {anna, 1, 20}});
  subscription inboxes{server_, {rival, anna}};
  EXPECT_THAT(run(abandon(rival)), is(0));
  EXPECT_THAT(inboxes.take(), testing::IsEmpty());
  EXPECT_THAT(out(), parties{});
  EXPECT_THAT(waiting(), parties{{anna}});
}

TEST_F(permits, are_renewed_while_their_time_is_not_over) {
  given_out(4, {{caller, 2, 1'000}, {rival, 1, -1}});
  EXPECT_THAT(run(renew({{lock_name, caller}, {lock_name, rival}, {lock_name, anna}})), is_list({2, 3}));
  EXPECT_THAT(left_of_holder(caller), left_of(full_ttl));
  (void)run(counts());
  EXPECT_THAT(out(), (parties{{caller, 2}}));
  raw_.command({"SET", "other", "x"});
  EXPECT_THAT(run(renew({{"other", caller}, {lock_name, caller}})), is_list({-1}));
}

TEST_F(permits, become_fewer_as_they_come_back) {
  given_out(3, {{caller, 2}, {rival}});
  EXPECT_THAT(run(resize("set", 1)), is(1));
  EXPECT_EQ(size(), 1);
  EXPECT_THAT(run(counts()), is_list({-2, 1, 3}));
  EXPECT_THAT(run(acquire(try_request(anna))), is_short(Gt(0), -1, caller, 1, 3));
  (void)run(release(caller));
  EXPECT_THAT(run(acquire(try_request(anna))), is_short(Gt(0), -1, rival, 1, 1));
  (void)run(release(rival));
  EXPECT_THAT(run(acquire(try_request(anna))), is_granted());
  EXPECT_EQ(raw_.pttl(names::permits(lock_name)), no_ttl);
}

TEST_F(permits, become_more_once_however_often_that_is_sent) {
  given_out(1, {{caller}});
  given_waiting({{rival, 1, 30}, {anna, 1, 20}});
  subscription inboxes{server_, {rival, anna}};
  auto const more = resize("add", 1);
  EXPECT_THAT(run(more), is(1));
  EXPECT_THAT(run(more), is(1));
  EXPECT_EQ(size(), 2);
  EXPECT_THAT(out(), testing::UnorderedElementsAre(party{caller}, party{rival}));
  EXPECT_THAT(inboxes.take(), testing::SizeIs(1));
  EXPECT_THAT(run(resize("add", -7)), is(1));
  EXPECT_EQ(size(), 0) << "never less than none";
}

TEST_F(permits, become_more_where_the_set_is_left_with_nobody_in_it) {
  given_out(2, {});  // as it is when the last one's time is over, and who looked wanted other names, too
  given_waiting({{rival, 3, 30}});
  subscription inboxes{server_, {rival}};
  EXPECT_THAT(run(resize("set", 3)), is(1));
  EXPECT_THAT(out(), (parties{{rival, 3}}));
  EXPECT_THAT(run(counts()), is_list({0, 3, 3}));
  EXPECT_THAT(out(), (parties{{rival, 3}}));
}

TEST_F(permits, leave_no_key_when_they_are_said_and_nobody_has_any) {
  given_out(2, {});
  EXPECT_THAT(run(resize("set", 3)), is(1));
  EXPECT_FALSE(raw_.exists(std::string{lock_name}));
  given_out(3, {{caller, 1, -5}});
  EXPECT_THAT(run(resize("set", 4)), is(1));
  EXPECT_FALSE(raw_.exists(std::string{lock_name})) << "the time of the last was over";
}

TEST_F(permits, are_counted_from_what_is_offered_where_nobody_has_said_it) {
  EXPECT_THAT(run(counts(5)), is_list({5, 5, 0}));
  EXPECT_THAT(run(resize("add", 2, 5)), is(1));
  EXPECT_THAT(run(counts(5)), is_list({7, 7, 0}));
}

TEST_F(permits, are_said_once) {
  auto const first = resize("try", 3);
  EXPECT_THAT(run(first), is(1));
  EXPECT_THAT(run(first), is(1)) << "the same request";
  EXPECT_THAT(run(resize("try", 4)), is(0));
  EXPECT_THAT(run(counts()), is_list({3, 3, 0}));
  EXPECT_THAT(run(resize("set", 0)), is(1));
  EXPECT_THAT(run(resize("try", 4)), is(0)) << "none is a number, too";
}

TEST_F(permits, say_that_the_key_is_something_else) {
  auto const name = std::string{lock_name};
  struct other {
    words command;
    std::string kind;
  };
  for (auto const& [command, kind] :
       {other{{"SET", name, std::string{rival}},
              "MISFIT a lock that is a mutex or shared_mutex, not the permits"},
        other{{"SET", name, std::string{names::held_by_readers}}, "MISFIT a lock that is a mutex"},
        other{{"SET", name, "5"}, "MISFIT a number"}, other{{"SET", name, "x"}, "MISFIT a string"},
        other{{"HSET", name, "a", "1"}, "MISFIT a hash"},
        other{{"ZADD", name, "5", std::string{caller}}, "MISFIT a zset"}}) {
    raw_.del(name);
    raw_.command(command);
    auto const before = raw_.command({"DUMP", name}).text;
    EXPECT_THAT(run(acquire(join_request(caller), 1, 3)), is_error(kind));
    EXPECT_THAT(run(resize("set", 3)), is_error(kind));
    EXPECT_THAT(run(counts()), is_error(kind));
    EXPECT_THAT(run(release(caller)), is(-1));
    EXPECT_THAT(run(abandon(caller)), is(0));
    EXPECT_EQ(raw_.command({"DUMP", name}).text, before);
    EXPECT_FALSE(raw_.exists(names::permit_queue(lock_name)));
  }
}

TEST_F(permits, exclude_a_mutex_of_the_name) {
  (void)run(acquire(try_request(caller), 1, 3));
  EXPECT_THAT(run(contract::acquire(join_request(rival))), is_error("WRONGTYPE zset"));
  EXPECT_THAT(run(fair_acquire(join_request(rival))), is_error("WRONGTYPE zset"));
  EXPECT_THAT(out(), parties{{caller}});
}

TEST_F(permits, are_left_where_a_side_key_is_spoilt) {
  given_out(1, {{caller}});
  given_waiting({{rival, 1, 30}});
  raw_.command({"DEL", names::token_counter(lock_name)});
  raw_.command({"HSET", names::token_counter(lock_name), "a", "1"});
  subscription inboxes{server_, {rival}};
  EXPECT_THAT(run(release(caller)), is(1));
  EXPECT_THAT(out(), parties{});
  EXPECT_THAT(waiting(), parties{{rival}});
}

TEST_F(permits, wait_without_messages_where_there_is_no_right_to_publish) {
  given_out(1, {{caller}});
  given_waiting({{rival, 1, 30}});
  auto const mute = lua::release{.lock = {keys_.lock},
                                 .counter = {names::token_counter(lock_name)},
                                 .queue = {names::permit_queue(lock_name)},
                                 .size = {names::permits(lock_name)},
                                 .owner = caller,
                                 .grant_ms = 2000,
                                 .publish = "NOSUCHCOMMAND"}();
  EXPECT_THAT(run(mute), is(1));
  EXPECT_THAT(out(), parties{});
  EXPECT_THAT(waiting(), parties{{rival}});
  EXPECT_THAT(run(acquire(join_request(rival), 1, 1)), is_granted(last_token + 2));
}

}  // namespace holdfast::contract::permits_test
