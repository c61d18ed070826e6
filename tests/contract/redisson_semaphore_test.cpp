// The scripts of Redisson's RSemaphore. A test names each deliberate difference from Redisson's own scripts.

#include "scripts/redisson_semaphore.hpp"
#include "contract/redisson_numbers.hpp"
#include "scripts/redisson_number.hpp"
#include "sync/shared_counter.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::contract::redisson_semaphore_test {

using testing::_;
namespace lua = holdfast::scripts::redisson_semaphore;
namespace number = holdfast::scripts::redisson_number;
namespace names = holdfast::names::redisson;
namespace format = holdfast::recipes::redisson;
using holdfast::call;

class redisson_semaphore : public redisson_numbers {
 protected:
  redisson_semaphore() : redisson_numbers{"redisson_sc:{orders}"} {}

  [[nodiscard]] call acquire(int amount, std::string_view owner) const {
    return format::semaphore.acquire(name_, {.owner = owner, .amount = amount});
  }
  [[nodiscard]] call acquire_of(int size, int amount, std::string_view owner) const {
    return format::semaphore.acquire(name_, {.owner = owner, .amount = amount, .size = size});
  }
  [[nodiscard]] call abandon(std::string_view owner) const {
    return format::semaphore.abandon({.name = name_, .owner = owner}, {});
  }
  call add(std::int64_t permits, std::vector<std::string> const& answered = {}) {
    lua::add script{.counter = {name_},
                    .done = {new_mark()},
                    .answered = {},
                    .permits = permits,
                    .publish = "PUBLISH",
                    .channel = channel_,
                    .done_ms = day};
    for (auto const& answered_mark : answered) script.answered.push_back({answered_mark});
    return script();
  }
  call drain() {
    return lua::drain{.counter = {name_}, .done = {new_mark()}, .answered = {}, .done_ms = day}();
  }
  call try_set(std::int64_t permits) {
    return redisson_numbers::try_set(permits, permits, holdfast::sync::permits_of_a_semaphore);
  }
  [[nodiscard]] call read() const {
    return number::read{.counter = {name_}, .description = holdfast::sync::permits_of_a_semaphore}();
  }
  [[nodiscard]] static keys_and_values permits_left(std::string permits) {
    return {{"orders", std::move(permits)}};
  }
};

TEST_F(redisson_semaphore, keeps_vector_12) {
  run(acquire(1, caller), busy());
  EXPECT_EQ(state(), keys_and_values{});
  run(try_set(5), is(1), {"5"});
  EXPECT_EQ(state(), permits_left("5"));
  EXPECT_EQ(raw_.pttl(name_), no_ttl);
  run(try_set(9), is(0));
  run(acquire(3, caller), granted());
  run(acquire(3, rival), busy());
  EXPECT_EQ(state(), permits_left("2"));
  run(add(2), is(1), {"4"});
  run(add(3), is(1), {"7"});
  EXPECT_EQ(state(), permits_left("7"));
  // From here on Redisson publishes -3 and -2, and its own listeners fail on these.
  run(add(-10), is(1));
  EXPECT_EQ(state(), permits_left("-3"));
  run(add(1), is(1));
  EXPECT_EQ(state(), permits_left("-2"));
  run(read(), is(-2));
  run(drain(), is(-2));
  EXPECT_EQ(state(), permits_left("0"));
}

TEST_F(redisson_semaphore, is_made_by_the_first_to_acquire_that_knows_its_size) {
  run(acquire(1, caller), busy());
  run(acquire_of(3, 2, caller), granted(), {"3"});
  EXPECT_EQ(state(), permits_left("1"));
  run(acquire_of(9, 2, rival), busy());
  EXPECT_EQ(state(), permits_left("1")) << "it has a size";
}

TEST_F(redisson_semaphore, is_made_also_by_one_that_wants_more_than_its_size) {
  run(acquire_of(3, 4, caller), busy(), {"3"});
  EXPECT_EQ(state(), permits_left("3"));
}

TEST_F(redisson_semaphore, is_not_made_by_a_bid_that_was_given_up) {
  run(abandon(caller), is(0));
  run(acquire_of(3, 1, caller), busy());
  EXPECT_EQ(state(), keys_and_values{});
}

TEST_F(redisson_semaphore, is_made_by_a_release) {
  run(add(4), is(1), {"4"});
  EXPECT_EQ(state(), permits_left("4"));
}

TEST_F(redisson_semaphore, has_nothing_to_drain_before_it_is_given_permits) {
  run(drain(), is(0));
  run(read(), testing::Field("what", &raw_reply::type, raw_reply::kind::nil));
  EXPECT_EQ(state(), keys_and_values{});
}

TEST_F(redisson_semaphore, is_drained_of_none_by_a_copy_that_comes_late) {
  auto const all = drain();
  run(all, is(0));
  run(add(3), is(1), {"3"});
  run(all, is(0));
  EXPECT_EQ(state(), permits_left("3"));
}

TEST_F(redisson_semaphore, keeps_the_ttl_that_java_gave_it) {
  command({"SET", name_, "5", "PX", "60000"});
  auto const kept_ttl = testing::AllOf(testing::Gt(50'000), testing::Le(60'000));
  run(acquire(1, caller), granted());
  EXPECT_THAT(raw_.pttl(name_), kept_ttl);
  run(add(1), is(1), {"5"});
  EXPECT_THAT(raw_.pttl(name_), kept_ttl) << "Redisson loses it here";
  run(drain(), is(5));
  EXPECT_THAT(raw_.pttl(name_), kept_ttl) << "Redisson loses it here";
  run(acquire(1, rival), busy(kept_ttl));
}

TEST_F(redisson_semaphore, takes_as_many_as_are_left_to_the_last_one) {
  command({"SET", name_, "3"});
  run(acquire(4, caller), busy());
  run(acquire(3, caller), granted());
  EXPECT_EQ(state(), permits_left("0"));
}

TEST_F(redisson_semaphore, knows_a_bid_though_nothing_is_left_for_it_to_take) {
  command({"SET", name_, "2"});
  run(acquire(2, caller), granted());
  command({"SET", name_, "-1"});
  run(acquire(2, caller), granted());
  EXPECT_EQ(state(), permits_left("-1"));
}

TEST_F(redisson_semaphore, gets_back_what_a_bid_took_that_nobody_wants) {
  command({"SET", name_, "5"});
  run(acquire(3, caller), granted());
  run(abandon(caller), is(1), {"5"}, is(0));
  EXPECT_EQ(state(), permits_left("5"));
  run(acquire(3, caller), busy());
  EXPECT_EQ(state(), permits_left("5")) << "a copy of the request that was late took permits for nobody";
}

TEST_F(redisson_semaphore, gives_nothing_to_a_copy_that_is_late_of_a_bid_that_got_nothing) {
  command({"SET", name_, "1"});
  run(acquire(3, caller), busy());
  run(abandon(caller), is(0));
  command({"SET", name_, "5"});
  run(acquire(3, caller), busy());
  EXPECT_EQ(state(), permits_left("5"));
}

TEST_F(redisson_semaphore, is_not_made_anew_by_a_bid_that_is_given_up) {
  command({"SET", name_, "3"});
  run(acquire(3, caller), granted());
  command({"DEL", name_});
  run(abandon(caller), is(0));
  EXPECT_EQ(state(), keys_and_values{});
}

TEST_F(redisson_semaphore, clears_away_the_notes_of_requests_that_were_answered) {
  auto const mark = names::done(name_, std::string{rival});
  command({"SET", mark, "1", "PX", "60000"});
  run(add(1, {mark}), is(1), {"1"});
  EXPECT_FALSE(raw_.exists(mark));
}

TEST_F(redisson_semaphore, says_what_it_found_instead_of_a_number) {
  struct misfit {
    words set;
    std::string found;
  };
  for (auto const& [set, found] :
       {misfit{{"HSET", name_, "a", "1"}, "a hash"},
        misfit{{"ZADD", name_, "1", "a"}, "a sorted set (as the permits of an expiring_semaphore are)"},
        misfit{{"SET", name_, "open"}, "text of something else"},
        misfit{{"SET", name_, "1.5"}, "text of something else"},
        misfit{{"SET", name_, ""}, "text of something else"}}) {
    command({"FLUSHALL"});
    command(set);
    auto const error_reply = is_error("MISFIT " + found + ", not the number of permits of a semaphore");
    for (auto const& script_call : {acquire(1, caller), add(1), drain(), try_set(5), read()}) {
      EXPECT_THAT(raw_.command(eval(script_call)), error_reply) << script_call.source->name;
      EXPECT_THAT(raw_.keys(), testing::ElementsAre(name_)) << script_call.source->name;
    }
  }
  EXPECT_THAT(messages_.take(), testing::IsEmpty());
}

TEST_F(redisson_semaphore, changes_nothing_when_a_right_is_missing) {
  command({"SET", name_, "5"});
  for (std::string const revoked : {"-set", "-incrby", "-decrby", "-get"}) {
    SCOPED_TRACE(revoked);
    auto limited = server_.raw();
    limited.command({"ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "&*", "+@all", revoked});
    limited.command({"AUTH", "limited", "any"});
    for (auto const& script_call : {acquire(1, caller), add(1), drain()}) {
      auto const refused = limited.command(eval(script_call)).is_error();
      EXPECT_EQ(state(), permits_left(refused ? "5" : raw_.get(name_).value_or("")))
          << script_call.source->name;
      command({"DEL", names::done(name_, caller)});
      command({"SET", name_, "5"});
    }
  }
}

TEST_F(redisson_semaphore, gives_and_takes_where_publishing_is_not_allowed) {
  auto limited = server_.raw();
  limited.command({"ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "+@all"});
  limited.command({"AUTH", "limited", "any"});
  EXPECT_THAT(limited.command(eval(add(3))), is(1));
  EXPECT_THAT(limited.command(eval(acquire(2, caller))), is_list({0, 1}));
  EXPECT_EQ(state(), permits_left("1"));
}

TEST_F(redisson_semaphore, takes_nothing_when_the_server_has_no_memory) {
  command({"SET", name_, "5"});
  command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_THAT(raw_.command(eval(acquire(1, caller))), is_error("OOM"));
  EXPECT_THAT(raw_.command(eval(add(1))), is_error("OOM"));
  command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(state(), permits_left("5"));
}

}  // namespace holdfast::contract::redisson_semaphore_test
