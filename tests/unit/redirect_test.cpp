#include "topology/redirect.hpp"

#include <gtest/gtest.h>

namespace holdfast::topology {
namespace {

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
            refusal::kind::not_yet);
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
    EXPECT_EQ(read_refusal(words).type, refusal::kind::not_yet) << words;
    EXPECT_TRUE(read_refusal(words).halfway) << words;
  }
  EXPECT_FALSE(read_refusal("TRYAGAIN Multiple keys request during rehashing of slot").halfway);
}

}  // namespace
}  // namespace holdfast::topology
