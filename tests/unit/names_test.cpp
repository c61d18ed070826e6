#include "script/names.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "script/names_redisson.hpp"

namespace {

namespace names = holdfast::names;

constexpr std::string_view uuid = "11111111-1111-4111-8111-111111111111";

/// The part of a key that Redis Cluster hashes: the text in the first non-empty braces, else the whole key.
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
  EXPECT_EQ(names::token_counter("orders:42"), "{orders:42}:holdfast_token");
  EXPECT_EQ(names::queue("orders:42"), "{orders:42}:holdfast_queue");
}

TEST(names, keeps_the_tag_that_a_name_has) {
  EXPECT_EQ(names::token_counter("{user:7}:cart"), "{user:7}:cart::holdfast_token");
  EXPECT_EQ(names::queue("cart:{user:7}"), "cart:{user:7}::holdfast_queue");
}

TEST(names, tells_a_name_in_braces_from_the_same_without) {
  EXPECT_NE(names::queue("a"), names::queue("{a}"));
  EXPECT_NE(names::token_counter("a"), names::token_counter("{a}"));
}

TEST(names, has_one_inbox_for_each_client_and_lock_beside_the_lock) {
  EXPECT_EQ(names::inbox(uuid, "orders:42"),
            "{orders:42}:holdfast_inbox:11111111-1111-4111-8111-111111111111");
  EXPECT_EQ(names::inbox(uuid, "{user:7}:cart"),
            "{user:7}:cart::holdfast_inbox:11111111-1111-4111-8111-111111111111");
}

TEST(names, has_one_channel_for_hints_to_each_client) {
  EXPECT_EQ(names::hints(uuid), "holdfast_inbox:11111111-1111-4111-8111-111111111111");
}

TEST(names, has_one_note_for_each_request_to_a_fence) {
  EXPECT_EQ(names::fence_mark("orders"), "{orders}:holdfast_fence");
  EXPECT_EQ(names::fence_done("orders", uuid, 7),
            "{orders}:holdfast_fence_done:11111111-1111-4111-8111-111111111111:7");
}

RC_GTEST_PROP(names, gives_no_two_locks_the_same_side_key, ()) {
  auto const first_name = *any_name();
  auto const second_name = *any_name();
  RC_PRE(first_name != second_name);
  RC_ASSERT(names::token_counter(first_name) != names::token_counter(second_name));
  RC_ASSERT(names::queue(first_name) != names::queue(second_name));
  RC_ASSERT(names::token_counter(first_name) != names::queue(second_name));
  RC_ASSERT(names::fence_mark(first_name) != names::fence_mark(second_name));
  RC_ASSERT(names::fence_mark(first_name) != names::fence_done(second_name, uuid, 7));
}

/// As in the ACL rule of a tenant: `~jobs:* ~{jobs:*`.
bool covered(std::string const& key, std::string const& prefix) {
  return key.starts_with(prefix) || key.starts_with("{" + prefix);
}

RC_GTEST_PROP(names, begin_with_the_name_so_that_rights_to_a_prefix_cover_them, ()) {
  auto const name = *any_name();
  auto const prefix = name.substr(0, *rc::gen::inRange(std::size_t{0}, name.size() + 1));
  for (auto const& key : {names::token_counter(name), names::queue(name), names::fence_mark(name),
                          names::fence_done(name, uuid, 7), names::redisson::done(name, uuid),
                          names::inbox(uuid, name), names::asked(name, uuid)}) {
    RC_ASSERT(covered(key, prefix));
  }
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

namespace redisson = names::redisson;

constexpr std::string_view an_owner = "11111111-1111-1111-1111-111111111111:1";

TEST(names, are_those_of_redisson) {
  EXPECT_EQ(redisson::lock_channel("lk"), "redisson_lock__channel:{lk}");
  EXPECT_EQ(redisson::waiter_channel("lk", an_owner),
            "redisson_lock__channel:{lk}:11111111-1111-1111-1111-111111111111:1");
  EXPECT_EQ(redisson::fair_queue("lk"), "redisson_lock_queue:{lk}");
  EXPECT_EQ(redisson::fair_timeouts("lk"), "redisson_lock_timeout:{lk}");
  EXPECT_EQ(redisson::token("lk"), "redisson_lock_token:{lk}");
  EXPECT_EQ(redisson::rw_channel("lk"), "redisson_rwlock:{lk}");
  EXPECT_EQ(redisson::reader_timeout("lk", an_owner),
            "{lk}:11111111-1111-1111-1111-111111111111:1:rwlock_timeout:1");
  EXPECT_EQ(redisson::semaphore_channel("lk"), "redisson_sc:{lk}");
  EXPECT_EQ(redisson::permits("lk"), "{lk}:timeout");
  EXPECT_EQ(redisson::latch_channel("lk"), "redisson_countdownlatch__channel__{lk}");
}

TEST(names, are_those_of_redisson_for_a_name_with_a_tag) {
  EXPECT_EQ(redisson::lock_channel("a{x}b"), "redisson_lock__channel:a{x}b");
  EXPECT_EQ(redisson::fair_queue("a{x}b"), "redisson_lock_queue:a{x}b");
  EXPECT_EQ(redisson::fair_timeouts("a{x}b"), "redisson_lock_timeout:a{x}b");
  EXPECT_EQ(redisson::reader_timeout("a{x}b", an_owner),
            "a{x}b:11111111-1111-1111-1111-111111111111:1:rwlock_timeout:1");
  EXPECT_EQ(redisson::semaphore_channel("a{x}b"), "redisson_sc:a{x}b");
  EXPECT_EQ(redisson::permits("a{x}b"), "a{x}b:timeout");
  EXPECT_EQ(redisson::latch_channel("a{x}b"), "redisson_countdownlatch__channel__{a{x}b}");
}

TEST(names, refuse_braces_that_take_side_keys_to_another_slot) {
  for (auto const* const fitting : {"lk", "a{x}b", "{x}", "a}b{c}d", "a{x}b}{"})
    EXPECT_TRUE(names::fits_in_a_slot(fitting)) << fitting;
  for (auto const* const unfitting : {"a{b", "a}b", "{}z", "a{", "}", "a{}b{c}"})
    EXPECT_FALSE(names::fits_in_a_slot(unfitting)) << unfitting;
}

RC_GTEST_PROP(names, of_redisson_share_a_slot_exactly_when_they_fit, ()) {
  auto const name = *any_name();
  auto const fits = names::fits_in_a_slot(name);
  for (auto const& key : {redisson::lock_channel(name), redisson::waiter_channel(name, an_owner),
                          redisson::fair_queue(name), redisson::fair_timeouts(name), redisson::token(name)}) {
    RC_ASSERT((hashed(key) == hashed(name)) == fits);
  }
}

RC_GTEST_PROP(names, of_the_plain_wire_share_a_slot_exactly_when_they_fit, ()) {
  auto const name = *any_name();
  auto const fits = names::fits_in_a_slot(name);
  for (auto const& key :
       {names::token_counter(name), names::queue(name), names::fence_mark(name),
        names::fence_done(name, uuid, 1), names::inbox(uuid, name), names::asked(name, uuid)}) {
    RC_ASSERT((hashed(key) == hashed(name)) == fits);
  }
}

}  // namespace
