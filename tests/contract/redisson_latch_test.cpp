// The scripts of Redisson's RCountDownLatch. A test names each deliberate difference from Redisson's own
// scripts.

#include "scripts/redisson_latch.hpp"
#include "contract/redisson_numbers.hpp"
#include "scripts/redisson_number.hpp"
#include "sync/shared_counter.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::contract::redisson_latch_test {

namespace lua = holdfast::scripts::redisson_latch;
namespace number = holdfast::scripts::redisson_number;
namespace format = holdfast::recipes::redisson;
using holdfast::call;

class redisson_latch : public redisson_numbers {
 protected:
  redisson_latch() : redisson_numbers{"redisson_countdownlatch__channel__{orders}"} {}

  [[nodiscard]] call look() const { return format::latch.acquire(name_, {.owner = caller}); }
  call try_set(std::int64_t count) {
    return redisson_numbers::try_set(count, 1, holdfast::sync::count_of_a_latch);
  }
  call count_down(std::int64_t n = 1) {
    return lua::count_down{.counter = {name_},
                           .done = {new_mark()},
                           .answered = {},
                           .n = n,
                           .publish = "PUBLISH",
                           .channel = channel_,
                           .done_ms = day}();
  }
  call open() {
    return lua::open{.counter = {name_},
                     .done = {new_mark()},
                     .answered = {},
                     .publish = "PUBLISH",
                     .channel = channel_,
                     .done_ms = day}();
  }
  [[nodiscard]] call read() const {
    return number::read{.counter = {name_}, .description = holdfast::sync::count_of_a_latch}();
  }
  [[nodiscard]] static keys_and_values count_state(std::string count) {
    return {{"orders", std::move(count)}};
  }
};

TEST_F(redisson_latch, keeps_vector_14) {
  run(look(), granted());
  run(try_set(2), is(1), {"1"});
  EXPECT_EQ(state(), count_state("2"));
  EXPECT_EQ(raw_.pttl(name_), no_ttl);
  run(look(), busy());
  run(try_set(5), is(0));
  run(count_down(), is(1));
  EXPECT_EQ(state(), count_state("1"));
  run(count_down(), is(1), {"0"});
  EXPECT_EQ(state(), keys_and_values{});
  run(look(), granted());
  run(count_down(), is(0));
  EXPECT_EQ(state(), keys_and_values{});
  run(try_set(3), is(1), {"1"});
  run(open(), is(1), {"0"});  // Redisson's delete publishes 1, which wakes nobody
  EXPECT_EQ(state(), keys_and_values{});
  run(open(), is(0));
  run(try_set(0), is(1), {"1"});
  EXPECT_EQ(state(), count_state("0"));
  run(read(), is(0));
  run(look(), granted());
}

TEST_F(redisson_latch, counts_down_several_at_once_and_not_below_zero) {
  command({"SET", name_, "5"});
  run(count_down(3), is(1));
  EXPECT_EQ(state(), count_state("2"));
  run(count_down(7), is(1), {"0"});
  EXPECT_EQ(state(), keys_and_values{});
}

TEST_F(redisson_latch, tells_nobody_when_it_was_open_already) {
  for (auto const* const count : {"0", "-2"}) {
    command({"SET", name_, count});
    run(look(), granted());
    run(count_down(), is(1));
    EXPECT_EQ(state(), keys_and_values{});
  }
}

TEST_F(redisson_latch, keeps_the_ttl_that_somebody_gave_it) {
  command({"SET", name_, "5", "PX", "60000"});
  auto const kept_ttl = testing::AllOf(testing::Gt(50'000), testing::Le(60'000));
  run(count_down(), is(1));
  EXPECT_THAT(raw_.pttl(name_), kept_ttl);
  run(look(), busy(kept_ttl));
}

TEST_F(redisson_latch, says_what_it_found_instead_of_a_count) {
  for (auto const& [set, found] : std::vector<std::pair<words, std::string>>{
           {{"LPUSH", name_, "1"}, "a list"}, {{"SET", name_, "open"}, "text of something else"}}) {
    command({"FLUSHALL"});
    command(set);
    auto const error_reply = is_error("MISFIT " + found + ", not the count of a latch");
    for (auto const& script_call : {look(), try_set(1), count_down(), open(), read()}) {
      EXPECT_THAT(raw_.command(eval(script_call)), error_reply) << script_call.source->name;
      EXPECT_THAT(raw_.keys(), testing::ElementsAre(name_)) << script_call.source->name;
    }
  }
  EXPECT_THAT(messages_.take(), testing::IsEmpty());
}

}  // namespace holdfast::contract::redisson_latch_test
