// The RLock and the RFencedLock, step by step as in the reference's vectors.

#include "contract/redisson.hpp"

namespace holdfast::contract::redisson_lock_test {

using namespace holdfast::contract::redisson;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
namespace engine = holdfast::engine;
namespace redisson = holdfast::recipes::redisson;

constexpr std::string_view name = "mylock";
constexpr engine::release_policy loud{};
constexpr engine::release_policy quiet{.quiet = true};

engine::acquire_request request_of(std::string_view owner, int tokens = 1) {
  return {.owner = owner, .ttl = 30s, .tokens = tokens, .join = true};
}

engine::acquire_request listening_request(std::string_view owner) {
  auto request = request_of(owner);
  request.listening = true;
  return request;
}

MATCHER(stays_free, "") {
  return arg.elements.size() == 7 && arg.elements[0].integer == 2 && arg.elements[1].integer >= 1 &&
         arg.elements[1].integer <= 5 && arg.elements[2].integer == -1 && arg.elements[5].text.empty();
}

class redisson_lock : public wire {
 protected:
  raw_reply acquire(std::string_view owner, int tokens = 1) {
    return run(redisson::lock.acquire(name, request_of(owner, tokens)));
  }
  raw_reply release(std::string_view owner, engine::release_policy policy = loud) {
    return run(redisson::lock.release({name, owner}, policy));
  }
  raw_reply abandon(std::string_view owner, engine::release_policy policy = loud) {
    return run(redisson::lock.abandon({name, owner}, policy));
  }
  /// One connection of this fixture listens on all channels. To the script it is the only waiting caller if
  /// `next.listening` is set.
  raw_reply pass(std::string_view owner, engine::acquire_request const& next,
                 engine::release_policy policy = loud) {
    return run(redisson::lock.pass({name, owner}, policy, next));
  }
  void given(words const& state) { ASSERT_FALSE(command(state).is_error()) << state.front(); }
  void given_lock(std::string_view owner, std::string const& ttl = "20000", std::string const& count = "1") {
    given({"HSET", std::string{name}, std::string{owner}, count});
    given({"PEXPIRE", std::string{name}, ttl});
  }
};

TEST_F(redisson_lock, is_taken_and_given_back_with_one_message) {
  EXPECT_THAT(acquire(A), is(1));
  EXPECT_THAT(keys(), ElementsAre("mylock {A:1} 30000-"));
  EXPECT_THAT(acquire(B), is_busy(about(30'000), A));
  EXPECT_THAT(release(B), is(-1));
  EXPECT_THAT(keys(), ElementsAre("mylock {A:1} 30000-"));
  EXPECT_THAT(messages(), IsEmpty());
  EXPECT_THAT(release(A), is(1));
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{mylock} 0"));
  EXPECT_THAT(release(A), is(0));
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_lock, is_held_once_however_often_the_request_is_sent) {
  for (auto round = 0; round < 3; ++round) EXPECT_THAT(acquire(A), is(1));
  EXPECT_THAT(keys(), ElementsAre("mylock {A:1} 30000-"));
  EXPECT_THAT(release(A), is(1));
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_F(redisson_lock, gives_as_many_handoffs_as_are_asked_for) { EXPECT_THAT(acquire(A, 65), is(65)); }

TEST_F(redisson_lock, keeps_a_longer_ttl_when_it_is_asked_for_again) {
  given_lock(A, "600000");
  EXPECT_THAT(acquire(A), is(1));
  EXPECT_THAT(keys(), ElementsAre("mylock {A:1} 600000-"));
}

TEST_F(redisson_lock, is_given_back_at_once_whatever_count_another_library_left) {
  given_lock(A, "20000", "3");
  EXPECT_THAT(release(A), is(1));
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{mylock} 0"));
}

TEST_F(redisson_lock, tells_nobody_when_it_is_polled_for) {
  EXPECT_THAT(acquire(A), is(1));
  EXPECT_THAT(keys(), ElementsAre("mylock {A:1} 30000-"));
  EXPECT_THAT(release(A, quiet), is(1));
  given_lock(A);
  EXPECT_THAT(abandon(A, quiet), is(1));
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_lock, is_busy_without_a_ttl_too) {
  given({"HSET", "mylock", std::string{B}, "1"});
  EXPECT_THAT(acquire(A), is_busy(no_ttl, B));
  EXPECT_THAT(keys(), ElementsAre("mylock {B:1} ttl -1"));
}

TEST_F(redisson_lock, keeps_its_channel_beside_a_name_with_a_tag) {
  EXPECT_THAT(run(redisson::lock.acquire("a{x}b", request_of(A))), is(1));
  EXPECT_THAT(run(redisson::lock.release({"a{x}b", A}, loud)), is(1));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:a{x}b 0"));
}

TEST_F(redisson_lock, says_what_else_stands_in_its_key) {
  struct sample {
    words state;
    std::string found;
  };
  for (auto const& [state, found] :
       {sample{{"SET", "mylock", "x"}, "a string"},
        {{"RPUSH", "mylock", "x"}, "a list"},
        {{"ZADD", "mylock", "1", "x"}, "a zset"},
        {{"HSET", "mylock", "mode", "read", "u:1", "1"}, "a read-write lock"},
        {{"HSET", "mylock", "a", "1", "b", "2", "c", "3"}, "a hash of 3 fields"}}) {
    command({"DEL", "mylock"});
    given(state);
    auto const before = keys();
    EXPECT_THAT(acquire(A), is_error("MISFIT " + found + ", not the hash of a lock of Redisson"));
    EXPECT_THAT(release(A), is(-1)) << found;
    EXPECT_THAT(abandon(A), is(0)) << found;
    EXPECT_THAT(pass(A, listening_request(E)), is_list({-1})) << found;
    EXPECT_EQ(keys(), before);
  }
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_lock, is_given_back_by_one_that_leaves) {
  given_lock(A);
  EXPECT_THAT(abandon(A), is(1));
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{mylock} 0"));
  EXPECT_THAT(abandon(A), is(0));
  given_lock(B);
  EXPECT_THAT(abandon(A), is(0));
  EXPECT_THAT(keys(), ElementsAre("mylock {B:1} 20000-"));
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_lock, is_given_back_where_the_right_to_publish_is_missing) {
  command({"ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "+@all"});
  command({"AUTH", "limited", "any"});
  given_lock(A);
  EXPECT_THAT(release(A), is(1));
  EXPECT_THAT(keys(), IsEmpty());
  given_lock(A);
  EXPECT_THAT(pass(A, request_of(E)), stays_free());
}

TEST_F(redisson_lock, passes_to_the_next_when_nobody_else_hears) {
  for (auto const handoffs : {1, 65}) {
    command({"DEL", "mylock"});
    given_lock(B);
    auto next = listening_request(C);
    next.tokens = handoffs;
    EXPECT_THAT(pass(B, next), is_list({1, 0, handoffs}));
    EXPECT_THAT(keys(), ElementsAre("mylock {C:1} 30000-"));
    EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{mylock} 0"));
    EXPECT_THAT(pass(B, next), is_list({1, 0, handoffs}));  // sent twice
    EXPECT_THAT(keys(), ElementsAre("mylock {C:1} 30000-"));
    EXPECT_THAT(messages(), IsEmpty());
  }
}

TEST_F(redisson_lock, stays_free_for_others_that_hear) {
  given_lock(B);
  EXPECT_THAT(pass(B, request_of(C)), stays_free());
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{mylock} 0"));
  EXPECT_THAT(pass(B, request_of(C)), is_list({0}));  // sent twice
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(messages(), IsEmpty());

  subscription const other_subscription{server_};
  given_lock(B);
  EXPECT_THAT(pass(B, listening_request(C)), stays_free());
}

TEST_F(redisson_lock, stays_free_for_others_that_poll) {
  given_lock(B);
  EXPECT_THAT(pass(B, request_of(C), quiet), stays_free());
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_lock, is_not_passed_on_by_who_has_it_not) {
  EXPECT_THAT(pass(B, listening_request(C)), is_list({0}));
  EXPECT_THAT(keys(), IsEmpty());
  given_lock(A);
  EXPECT_THAT(pass(B, listening_request(C)), is_list({-1}));
  EXPECT_THAT(keys(), ElementsAre("mylock {A:1} 20000-"));
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_lock, is_renewed_for_its_owner_only_and_never_shortened) {
  given({"HSET", "l1", std::string{A}, "1"});
  given({"HSET", "l2", std::string{B}, "1"});
  given({"HSET", "l3", std::string{A}, "2"});
  given({"HSET", "l5", std::string{A}, "1"});
  given({"SET", "l6", std::string{A}});
  given({"PEXPIRE", "l1", "10000"});
  given({"PEXPIRE", "l2", "10000"});
  given({"PEXPIRE", "l3", "600000"});
  auto const renewal = redisson::lock.renew(
      30s, std::vector<engine::owned>{{"l1", A}, {"l2", A}, {"l3", A}, {"l4", A}, {"l5", A}, {"l6", A}});
  for (auto round = 0; round < 2; ++round) {
    EXPECT_THAT(run(renewal), is_list({-2, 4, -6}));
    EXPECT_THAT(keys(), ElementsAre("l1 {A:1} 30000-", "l2 {B:1} 10000-", "l3 {A:2} 600000-",
                                    "l5 {A:1} 30000-", "l6 A ttl -1"));
  }
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_lock, has_the_ttl_that_its_owner_leaves_it_with) {
  given_lock(A, "600000");
  for (auto const& [owner, reply] : {std::pair{A, is_list({})}, {B, is_list({-1})}})
    EXPECT_THAT(run(redisson::lock.set_ttl(10s, std::vector<engine::owned>{{name, owner}})), reply);
  EXPECT_THAT(keys(), ElementsAre("mylock {A:1} 10000-"));
}

constexpr std::string_view counter = "redisson_lock_token:{mylock}";

class redisson_fenced_lock : public redisson_lock {
 protected:
  raw_reply acquire(std::string_view owner, int tokens = 1) {
    return run(redisson::fenced.acquire(name, request_of(owner, tokens)));
  }
  raw_reply pass(std::string_view owner, engine::acquire_request const& next,
                 engine::release_policy policy = loud) {
    return run(redisson::fenced.pass({name, owner}, policy, next));
  }
};

TEST_F(redisson_fenced_lock, counts_its_acquisitions) {
  EXPECT_THAT(acquire(A), is_granted(1));
  EXPECT_THAT(keys(), ElementsAre("mylock {A:1} 30000-", "redisson_lock_token:{mylock} 1 ttl -1"));
  EXPECT_THAT(acquire(A), is_granted(2));  // sent twice
  EXPECT_THAT(keys(), ElementsAre("mylock {A:1} 30000-", "redisson_lock_token:{mylock} 2 ttl -1"));
  EXPECT_THAT(acquire(B), is_busy(about(30'000), A));
  EXPECT_THAT(keys(), ElementsAre("mylock {A:1} 30000-", "redisson_lock_token:{mylock} 2 ttl -1"));
  EXPECT_THAT(messages(), IsEmpty());
  EXPECT_THAT(release(A), is(1));
  EXPECT_THAT(keys(), ElementsAre("redisson_lock_token:{mylock} 2 ttl -1"));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{mylock} 0"));
  EXPECT_THAT(acquire(B), is_granted(3));
  EXPECT_THAT(keys(), ElementsAre("mylock {B:1} 30000-", "redisson_lock_token:{mylock} 3 ttl -1"));
}

TEST_F(redisson_fenced_lock, is_busy_without_a_ttl_too) {
  EXPECT_THAT(acquire(B), is_granted(1));
  given({"PERSIST", "mylock"});
  EXPECT_THAT(acquire(A), is_busy(no_ttl, B));
  EXPECT_THAT(keys(), ElementsAre("mylock {B:1} ttl -1", "redisson_lock_token:{mylock} 1 ttl -1"));
}

TEST_F(redisson_fenced_lock, takes_tokens_for_handoffs_behind_the_last_one) {
  given({"SET", std::string{counter}, "41"});
  EXPECT_THAT(acquire(A, 65), is_granted(42, 65));
  EXPECT_EQ(raw_.get(std::string{counter}), "106");
}

TEST_F(redisson_fenced_lock, passes_with_tokens) {
  given_lock(B);
  auto next = listening_request(C);
  next.tokens = 3;
  EXPECT_THAT(pass(B, next), is_list({1, 1, 3}));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{mylock} 0"));
  EXPECT_THAT(pass(B, next), is_list({1, 4, 3}));  // sent twice
  EXPECT_THAT(keys(), ElementsAre("mylock {C:1} 30000-", "redisson_lock_token:{mylock} 6 ttl -1"));
  EXPECT_THAT(pass(C, request_of(B)), stays_free());
  EXPECT_THAT(keys(), ElementsAre("redisson_lock_token:{mylock} 6 ttl -1"));
  EXPECT_THAT(pass(C, request_of(B)), is_list({0}));
  given_lock(A);
  EXPECT_THAT(pass(C, request_of(B)), is_list({-1}));
}

TEST_F(redisson_fenced_lock, says_what_else_stands_in_its_keys_and_takes_nothing) {
  struct sample {
    words state;
    std::string found;
  };
  std::string const key{counter};
  for (auto const& [state, found] : {sample{{"RPUSH", key, "x"}, "a list"},
                                     {{"SET", key, "many"}, "a string without a number"},
                                     {{"SET", key, "-1"}, "a string without a number"}}) {
    command({"DEL", key});
    given(state);
    auto const reason = "MISFIT " + found + ", not the token counter of a lock of Redisson IN " + key;
    EXPECT_THAT(acquire(A), is_error(reason));
    EXPECT_FALSE(raw_.exists("mylock"));
    given_lock(A);
    EXPECT_THAT(pass(A, listening_request(E)), is_error(reason));
    EXPECT_THAT(release(A), is(1));
  }
  command({"DEL", key});
  given({"SET", "mylock", "x"});
  EXPECT_THAT(acquire(A), is_error("MISFIT a string, not the hash of a lock of Redisson"));
  EXPECT_THAT(keys(), ElementsAre("mylock x ttl -1"));
}

}  // namespace holdfast::contract::redisson_lock_test
