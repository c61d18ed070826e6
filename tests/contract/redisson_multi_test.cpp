// RedissonMultiLock: several RLocks of one server in one step.

#include "contract/redisson.hpp"
#include "wire/lock_names.hpp"
#include "wire/plain/multi.hpp"

namespace holdfast::contract::redisson_multi_test {

using namespace holdfast::contract::redisson;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
namespace engine = holdfast::engine;
namespace redisson = holdfast::recipes::redisson;

std::string const joined_name = holdfast::recipes::join_names(words{"m1", "m2"});

class redisson_multi_lock : public wire {
 protected:
  raw_reply acquire(std::string_view owner, int handoffs = 1) {
    return run(
        redisson::multi.acquire(joined_name, {.owner = owner, .ttl = 40s, .tokens = handoffs, .join = true}));
  }
  raw_reply release(std::string_view owner, engine::release_policy policy = {}) {
    return run(redisson::multi.release({joined_name, owner}, policy));
  }
  raw_reply abandon(std::string_view owner, engine::release_policy policy = {}) {
    return run(redisson::multi.abandon({joined_name, owner}, policy));
  }
  void given_lock(std::string const& name, std::string_view owner, std::string const& ttl = "20000") {
    command({"HSET", name, std::string{owner}, "1"});
    command({"PEXPIRE", name, ttl});
  }
};

TEST_F(redisson_multi_lock, takes_all_and_gives_all_back) {
  for (auto round = 0; round < 2; ++round) {  // sent twice
    EXPECT_THAT(acquire(A, 5), is_granted(0, 5));
    EXPECT_THAT(keys(), ElementsAre("m1 {A:1} 40000-", "m2 {A:1} 40000-"));
  }
  EXPECT_THAT(messages(), IsEmpty());
  EXPECT_THAT(release(A), is(1));
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{m1} 0", "redisson_lock__channel:{m2} 0"));
  EXPECT_THAT(release(A), is(0));
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_multi_lock, takes_none_when_one_is_busy) {
  given_lock("m2", B);
  EXPECT_THAT(acquire(A), is_busy(about(20'000), B));
  EXPECT_THAT(keys(), ElementsAre("m2 {B:1} 20000-"));
  given_lock("m1", C, "10000");
  EXPECT_THAT(acquire(A), is_busy(about(10'000), C));
  EXPECT_THAT(release(A), is(-1));
  EXPECT_THAT(keys(), ElementsAre("m1 {C:1} 10000-", "m2 {B:1} 20000-"));
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_multi_lock, keeps_what_it_has_of_them) {
  given_lock("m1", A, "600000");
  EXPECT_THAT(acquire(A), is_granted());
  EXPECT_THAT(keys(), ElementsAre("m1 {A:1} 600000-", "m2 {A:1} 40000-"));
}

TEST_F(redisson_multi_lock, gives_the_others_back_when_one_is_lost) {
  given_lock("m2", A);
  EXPECT_THAT(release(A), is(0));
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{m2} 0"));
  given_lock("m1", A);
  given_lock("m2", B);
  EXPECT_THAT(release(A), is(-1));
  EXPECT_THAT(keys(), ElementsAre("m2 {B:1} 20000-"));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{m1} 0"));
}

TEST_F(redisson_multi_lock, is_given_back_by_one_that_leaves) {
  given_lock("m1", A);
  given_lock("m2", B);
  EXPECT_THAT(abandon(A), is(1));
  EXPECT_THAT(keys(), ElementsAre("m2 {B:1} 20000-"));
  EXPECT_THAT(messages(), ElementsAre("redisson_lock__channel:{m1} 0"));
  EXPECT_THAT(abandon(A), is(0));
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_multi_lock, tells_nobody_when_it_is_polled_for) {
  engine::release_policy const quiet{.quiet = true};
  EXPECT_THAT(acquire(A), is_granted());
  EXPECT_THAT(release(A, quiet), is(1));
  EXPECT_THAT(acquire(A), is_granted());
  EXPECT_THAT(abandon(A, quiet), is(1));
  EXPECT_THAT(keys(), IsEmpty());
  EXPECT_THAT(messages(), IsEmpty());
}

TEST_F(redisson_multi_lock, renews_leases_that_are_whole) {
  auto const m3 = holdfast::recipes::join_names(words{"m3", "m4"});
  auto const m5 = holdfast::recipes::join_names(words{"m5", "m6"});
  given_lock("m1", A, "10000");
  given_lock("m2", A, "600000");
  given_lock("m3", A, "10000");
  given_lock("m4", B, "10000");
  given_lock("m5", A, "10000");
  auto const renewal =
      redisson::multi.renew(30s, std::vector<engine::owned>{{joined_name, A}, {m3, A}, {m5, A}});
  for (auto round = 0; round < 2; ++round) {
    EXPECT_THAT(run(renewal), is_list({-2, 3}));
    EXPECT_THAT(keys(), ElementsAre("m1 {A:1} 30000-", "m2 {A:1} 600000-", "m3 {A:1} 10000-",
                                    "m4 {B:1} 10000-", "m5 {A:1} 10000-"));
  }
}

TEST_F(redisson_multi_lock, has_the_ttl_that_its_owner_leaves_it_with) {
  given_lock("m1", A);
  given_lock("m2", A, "600000");
  EXPECT_THAT(run(redisson::multi.set_ttl(10s, std::vector<engine::owned>{{joined_name, A}})), is_list({}));
  EXPECT_THAT(keys(), ElementsAre("m1 {A:1} 10000-", "m2 {A:1} 10000-"));
}

TEST_F(redisson_multi_lock, says_which_key_is_something_else) {
  given_lock("m1", A);
  command({"SET", "m2", "x"});
  EXPECT_THAT(acquire(B), is_error("MISFIT a string, not the hash of a lock of Redisson IN m2"));
  EXPECT_THAT(keys(), ElementsAre("m1 {A:1} 20000-", "m2 x ttl -1"));
}

TEST_F(redisson_multi_lock, hears_the_channel_of_each_name) {
  EXPECT_THAT(redisson::multi.channels(joined_name, A),
              ElementsAre("redisson_lock__channel:{m1}", "redisson_lock__channel:{m2}"));
}

}  // namespace holdfast::contract::redisson_multi_test
