// Locks over several names: their encoding, and the order of their requests. Tests of their scripts are in
// tests/contract.

#include "wire/plain/multi.hpp"
#include "wire/lock_names.hpp"

#include <gmock/gmock.h>

#include "engine/access.hpp"
#include "engine/core.hpp"
#include "engine/failure.hpp"
#include "engine/lock_queue.hpp"
#include "sync/try_and_back_off.hpp"

namespace {

using namespace holdfast::sync;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> split_of_joined(std::vector<std::string> const& names) {
  std::vector<std::string> result;
  auto const joined = holdfast::recipes::join_names(names);
  for (auto const name : holdfast::recipes::split_names(joined)) result.emplace_back(name);
  return result;
}

TEST(multi_names, are_the_same_after_joining_and_splitting_whatever_bytes_they_have) {
  for (auto const& names : std::vector<std::vector<std::string>>{
           {"a"}, {"a", "b"}, {"1:a1:b"}, {"1:a", "1:b"}, {"", "x"}, {std::string{"\0:\r\n", 4}, "12"}}) {
    EXPECT_EQ(split_of_joined(names), names);
  }
}

TEST(multi_names, never_join_to_the_same_from_different_lists) {
  auto const join = [](std::vector<std::string> const& names) {
    return holdfast::recipes::join_names(names);
  };
  EXPECT_NE(join({"a", "b"}), join({"ab"}));
  EXPECT_NE(join({"a", "b"}), join({"1:a1:b"}));
  EXPECT_NE(join({"a:1", "b"}), join({"a", "1:b"}));
}

TEST(multi_names, keep_their_kinds_whatever_bytes_they_have) {
  std::vector<holdfast::multi_name> const all{"2=write:", holdfast::read("a:1=read"),
                                              holdfast::permits(std::string{"\0=:", 3}, 2, 5)};
  auto const joined = holdfast::recipes::join_names(all);
  std::vector<std::string> kinds;
  std::vector<std::string> names;
  for (auto const& [name, kind] : holdfast::recipes::split_kinds(joined)) {
    kinds.emplace_back(kind);
    names.emplace_back(name);
  }
  EXPECT_THAT(kinds, ElementsAre("write", "read", "2/5"));
  EXPECT_THAT(names, ElementsAre(all[0].name, all[1].name, all[2].name));
  EXPECT_EQ(holdfast::recipes::split_names(joined).size(), 3u);
  EXPECT_NE(joined, holdfast::recipes::join_names(names));
}

TEST(multi_names, are_shown_in_part_when_there_are_many) {
  auto const title = [](std::vector<std::string_view> const& names) {
    return holdfast::recipes::title_of(names);
  };
  EXPECT_EQ(title({"a"}), R"("a")");
  EXPECT_EQ(title({"a", "b"}), R"("a" and "b")");
  EXPECT_EQ(title({"a", "b", "c"}), R"("a", "b" and 1 more)");
  EXPECT_EQ(title(std::vector<std::string_view>(16, "n")), R"("n", "n" and 14 more)");
}

TEST(multi_names, have_their_keys_in_the_order_locks_counters_queues) {
  auto const joined = holdfast::recipes::join_names(std::vector<std::string>{"a", "b"});
  auto const call = holdfast::recipes::plain::multi.release({.name = joined, .owner = "me"}, {});
  auto position = std::size_t{0};
  for (auto const* const key : {"\r\na\r\n", "\r\nb\r\n", "{a}:holdfast_token", "{b}:holdfast_token",
                                "{a}:holdfast_queue", "{b}:holdfast_queue"}) {
    auto const next = call.tail().find(key, position);
    ASSERT_NE(next, std::string::npos) << key;
    position = next;
  }
}

TEST(multi_names, ask_one_after_the_other_and_wait_for_the_first_only) {
  try_and_back_off three{3};
  std::vector<std::size_t> requested;
  while (!three.complete()) {
    EXPECT_EQ(three.may_wait(), requested.empty());
    requested.push_back(three.next());
    three.got();
  }
  EXPECT_THAT(requested, ElementsAre(0, 1, 2));
}

TEST(multi_names, begin_the_next_round_with_the_one_that_was_busy) {
  try_and_back_off three{3};
  three.got();
  three.got();
  three.busy();  // the last one
  std::vector<std::size_t> requested;
  EXPECT_TRUE(three.may_wait());
  while (!three.complete()) {
    requested.push_back(three.next());
    three.got();
  }
  EXPECT_THAT(requested, ElementsAre(2, 0, 1));
  three.again();
  EXPECT_EQ(three.next(), 2u);
}

class multi_failure : public testing::Test {
 protected:
  static holdfast::error explained(std::string_view words) {
    auto const name = holdfast::recipes::join_names(std::vector<std::string>{"a", "b", "my list"});
    holdfast::client const unconnected{"redis+unix:///nonexistent/redis.sock"};
    auto const& core = holdfast::engine::access::core_of(unconnected);
    auto const queue = core->pin(holdfast::recipes::plain::multi, name);
    return *holdfast::engine::explain(words, *queue, core->constants());
  }
};

TEST_F(multi_failure, names_the_one_key_that_is_no_lock) {
  auto const failure = explained("WRONGTYPE list my list");
  EXPECT_EQ(failure.code(), holdfast::errc::wrong_type);
  EXPECT_THAT(failure.what(), HasSubstr("the key \"my list\" holds a list"));
}

TEST_F(multi_failure, names_the_one_lock_whose_side_keys_are_something_else) {
  auto const failure = explained("WRONGTYPE beside b");
  EXPECT_THAT(failure.what(), testing::AllOf(HasSubstr("a key beside the lock \"b\""), HasSubstr("{b}")));
}

TEST_F(multi_failure, says_of_other_errors_which_locks_they_are_about) {
  EXPECT_THAT(explained("OOM command not allowed").what(), HasSubstr(R"(the lock "a", "b" and 1 more)"));
  EXPECT_THAT(explained("NOPERM no").what(), HasSubstr("keys of each name"));
}

}  // namespace
