#include "topology/redirect.hpp"

#include "topology/of_replica.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace holdfast::topology {
namespace {

resp::reply refused(std::string words) {
  resp::reply answer;
  answer.type = resp::kind::error;
  answer.text = std::move(words);
  return answer;
}

TEST(redirect, names_slot_host_and_port) {
  auto const moved = read_refusal("MOVED 3999 10.0.0.1:6381");
  EXPECT_EQ(moved.type, refusal::kind::moved);
  EXPECT_EQ(moved.slot, 3999);
  EXPECT_EQ(moved.host, "10.0.0.1");
  EXPECT_EQ(moved.port, 6381);
  EXPECT_EQ(read_refusal("ASK 0 redis-3.example:7000").type, refusal::kind::ask);
}

TEST(redirect, may_leave_the_host_out_or_have_colons_in_it) {
  EXPECT_EQ(read_refusal("MOVED 1 :6381").host, "");
  EXPECT_EQ(read_refusal("MOVED 1 :6381").port, 6381);
  EXPECT_EQ(read_refusal("ASK 1 fd00::1:6381").host, "fd00::1");
}

TEST(redirect, that_cannot_be_read_is_for_whoever_asked) {
  for (auto const* const words : {"MOVED", "MOVED 1", "MOVED 1 host", "MOVED x a:1", "MOVED 16384 a:1",
                                  "MOVED 1 a:0", "MOVED 1 a:65536"}) {
    EXPECT_EQ(read_refusal(words).type, refusal::kind::other) << words;
  }
}

TEST(redirect, tells_what_passes_by_itself_from_what_needs_another_node) {
  EXPECT_EQ(read_refusal("TRYAGAIN Multiple keys request during rehashing of slot").type,
            refusal::kind::halved);
  EXPECT_EQ(read_refusal("LOADING Redis is loading the dataset in memory").type, refusal::kind::not_yet);
  EXPECT_EQ(read_refusal("CLUSTERDOWN Hash slot not served").type, refusal::kind::unserved);
  EXPECT_EQ(read_refusal("READONLY You can't write against a read only replica.").type,
            refusal::kind::unserved);
  EXPECT_EQ(read_refusal("WRONGTYPE Operation against a key").type, refusal::kind::other);
  EXPECT_EQ(read_refusal("").type, refusal::kind::other);
}

TEST(redirect, knows_a_script_that_was_stopped_halfway) {
  for (auto const* const words :
       {"ERR Script attempted to access a non local key in a cluster node script: 0a91, on @user_script:97.",
        "ERR Error running script (call to f_0a91): @user_script:97: @user_script: 97: Lua script attempted "
        "to "
        "access a non local key in a cluster node"}) {
    EXPECT_EQ(read_refusal(words).type, refusal::kind::halved) << words;
    EXPECT_TRUE(read_refusal(words).halfway) << words;
  }
  EXPECT_FALSE(read_refusal("TRYAGAIN Multiple keys request during rehashing of slot").halfway);
}

/// Whoever may name a lock, or stand at a barrier, chooses a part of these errors.
TEST(redirect, is_not_read_from_what_an_error_quotes) {
  for (std::string const words :
       {"non local key in a cluster node", "x -READONLY y", "ERR WAIT cannot be used with replica instances",
        "ERR Error running script -READONLY x"}) {
    for (std::string const error : {"WRONGTYPE hash beside ", "BROKEN 1 left 0 ", "MISFIT 2 IN "}) {
      auto const answer = refused(error + words);
      EXPECT_EQ(read_refusal(answer.text).type, refusal::kind::other) << answer.text;
      EXPECT_FALSE(is_of_replica(answer)) << answer.text;
      EXPECT_FALSE(is_wait_at_replica(answer)) << answer.text;
    }
  }
}

TEST(redirect, tells_a_replica_by_the_words_of_each_server) {
  for (auto const* const words :
       {"READONLY You can't write against a read only replica.",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        "ERR Error running script (call to f_0a91): @user_script:1: @user_script: 1: -READONLY You can't "
        "write "
        "against a read only replica."}) {
    EXPECT_TRUE(is_of_replica(refused(words))) << words;
  }
  EXPECT_TRUE(
      is_wait_at_replica(refused("ERR WAIT cannot be used with replica instances. Please also note")));
}

}  // namespace
}  // namespace holdfast::topology
