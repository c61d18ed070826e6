#include "base/hash_slot.hpp"

#include <gtest/gtest.h>

namespace {

using holdfast::hash_slot;

// The values of CLUSTER KEYSLOT in Redis 7.0.
TEST(hash_slot, is_that_of_the_cluster) {
  EXPECT_EQ(hash_slot("123456789"), 12739);
  EXPECT_EQ(hash_slot("lk"), 5002);
  EXPECT_EQ(hash_slot("redisson_lock__channel:{lk}"), 5002);
}

TEST(hash_slot, goes_by_the_first_pair_of_braces_with_something_in_it) {
  EXPECT_EQ(hash_slot("a{x}b"), hash_slot("x"));
  EXPECT_EQ(hash_slot("a{x}b"), 16287);
  EXPECT_EQ(hash_slot("a{b"), 13340);
  EXPECT_EQ(hash_slot("a}b"), 7866);
  EXPECT_EQ(hash_slot("{}z"), 2337);
  EXPECT_EQ(hash_slot("{a{b}c}"), hash_slot("a{b"));
}

}  // namespace
