#include "script/names.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace {

namespace names = holdfast::names;

constexpr std::string_view uuid = "11111111-1111-4111-8111-111111111111";

/// What Redis Cluster hashes of a key: the text in the first braces that hold any, else all.
std::string hashed(std::string const& key) {
  auto const open = key.find('{');
  if (open == std::string::npos) return key;
  auto const close = key.find('}', open + 1);
  if (close == std::string::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

/// Short, and with many braces and colons.
rc::Gen<std::string> any_name() {
  return rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', 'b', '{', '}', ':')));
}

TEST(names, puts_a_name_without_braces_into_braces) {
  EXPECT_EQ(names::token_counter("orders:42"), "holdfast_token:{orders:42}");
  EXPECT_EQ(names::queue("orders:42"), "holdfast_queue:{orders:42}");
}

TEST(names, keeps_the_tag_that_a_name_has) {
  EXPECT_EQ(names::token_counter("{user:7}:cart"), "holdfast_token::{user:7}:cart");
  EXPECT_EQ(names::queue("cart:{user:7}"), "holdfast_queue::cart:{user:7}");
}

TEST(names, tells_a_name_in_braces_from_the_same_without) {
  EXPECT_NE(names::queue("a"), names::queue("{a}"));
  EXPECT_NE(names::token_counter("a"), names::token_counter("{a}"));
}

TEST(names, has_one_inbox_for_each_client) {
  EXPECT_EQ(names::inbox(uuid), "holdfast_inbox:11111111-1111-4111-8111-111111111111");
}

TEST(names, has_one_note_for_each_request_to_a_fence) {
  EXPECT_EQ(names::fence_mark("orders"), "holdfast_fence:{orders}");
  EXPECT_EQ(names::fence_done("orders", uuid, 7),
            "holdfast_fence_done:{orders}:11111111-1111-4111-8111-111111111111:7");
}

RC_GTEST_PROP(names, gives_no_two_locks_the_same_side_key, ()) {
  auto const one = *any_name();
  auto const other = *any_name();
  RC_PRE(one != other);
  RC_ASSERT(names::token_counter(one) != names::token_counter(other));
  RC_ASSERT(names::queue(one) != names::queue(other));
  RC_ASSERT(names::token_counter(one) != names::queue(other));
  RC_ASSERT(names::fence_mark(one) != names::fence_mark(other));
  RC_ASSERT(names::fence_mark(one) != names::fence_done(other, uuid, 7));
}

RC_GTEST_PROP(names, brings_side_keys_into_the_slot_of_the_lock_wherever_a_tag_can, ()) {
  auto const name = *any_name();
  auto const braces = name.find_first_of("{}") != std::string::npos;
  RC_PRE(!braces || hashed(name) != name);
  RC_ASSERT(hashed(names::token_counter(name)) == hashed(name));
  RC_ASSERT(hashed(names::queue(name)) == hashed(name));
  RC_ASSERT(hashed(names::fence_mark(name)) == hashed(name));
  RC_ASSERT(hashed(names::fence_done(name, uuid, 7)) == hashed(name));
}

}  // namespace
