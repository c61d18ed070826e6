// The record of the last run under a lock.

#include "scripts/run.hpp"
#include "contract/contract.hpp"
#include "script/names.hpp"

namespace holdfast::contract::run_test {

namespace lua = holdfast::scripts::run;
namespace names = holdfast::names;

std::string const record_key = names::last_run(lock_name);

holdfast::call look() { return lua::look{.lock = {lock_key}, .record = {record_key}}(); }
holdfast::call forget(std::string_view owner) {
  return lua::forget{.record = {record_key}, .owner = owner}();
}

struct ending {
  std::string took_ms{};
  std::string exit_code{};
};

holdfast::call note(std::string_view owner, ending const& end = {}) {
  return lua::note{.lock = {lock_key},
                   .record = {record_key},
                   .owner = owner,
                   .began = 1'000'000,
                   .counts_until = 5'000'000,
                   .took_ms = end.took_ms,
                   .exit_code = end.exit_code,
                   .host = "web-3",
                   .pid = 812,
                   .label = "hourly report",
                   .token = 77,
                   .life_ms = minute}();
}

class last_run : public testing::Test {
 protected:
  raw_reply run(holdfast::call const& script) { return redis.command(eval(script)); }
  std::string field(std::string const& name) { return redis.command({"HGET", record_key, name}).text; }

  raw_redis redis = empty_server().raw();
};

auto const is_clock = is_number(testing::Gt(1'700'000'000'000'000));

TEST_F(last_run, is_unknown_at_first) {
  EXPECT_THAT(run(look()), is_array({is_clock, is(0), is_array({})}));
  EXPECT_THAT(run(forget(caller)), is(0));
  EXPECT_FALSE(redis.exists(record_key));
}

TEST_F(last_run, is_noted_by_the_holder_at_its_beginning_and_its_end) {
  redis.command({"SET", lock_key, std::string{caller}});
  EXPECT_THAT(run(note(caller)), is(1));
  EXPECT_EQ(field("owner"), caller);
  EXPECT_EQ(field("began"), "1000000");
  EXPECT_EQ(field("until"), "5000000");
  EXPECT_EQ(field("took_ms"), "");
  EXPECT_EQ(field("exit"), "");
  EXPECT_EQ(field("host"), "web-3");
  EXPECT_EQ(field("pid"), "812");
  EXPECT_EQ(field("label"), "hourly report");
  EXPECT_EQ(field("token"), "77");
  EXPECT_THAT(redis.pttl(record_key), left_of(minute));
  EXPECT_THAT(run(note(caller, {"250", "3"})), is(1));
  EXPECT_EQ(field("took_ms"), "250");
  EXPECT_EQ(field("exit"), "3");
}

TEST_F(last_run, is_begun_anew_by_the_next_one) {
  redis.command({"SET", lock_key, std::string{caller}});
  EXPECT_THAT(run(note(caller, {"250", "3"})), is(1));
  redis.command({"SET", lock_key, std::string{rival}});
  EXPECT_THAT(run(note(rival)), is(1));
  EXPECT_EQ(field("owner"), rival);
  EXPECT_EQ(field("took_ms"), "");
  EXPECT_EQ(field("exit"), "");
}

TEST_F(last_run, is_never_noted_by_one_who_lost_the_lock) {
  EXPECT_THAT(run(note(caller)), is(0));
  EXPECT_FALSE(redis.exists(record_key));
  redis.command({"SET", lock_key, std::string{rival}});
  EXPECT_THAT(run(note(rival)), is(1));
  EXPECT_THAT(run(note(caller, {"250", "0"})), is(0));
  EXPECT_EQ(field("owner"), rival);
}

TEST_F(last_run, tells_whether_its_lock_is_held_still) {
  redis.command({"SET", lock_key, std::string{caller}});
  EXPECT_THAT(run(note(caller)), is(1));
  EXPECT_THAT(run(look()), is_array({is_clock, is(1), testing::_}));
  redis.command({"SET", lock_key, std::string{rival}});
  EXPECT_THAT(run(look()), is_array({is_clock, is(0), testing::_}));
  redis.del(lock_key);
  EXPECT_THAT(run(look()), is_array({is_clock, is(0), testing::_}));
}

TEST_F(last_run, is_the_same_under_a_lock_of_redisson) {
  redis.command({"HSET", lock_key, std::string{caller}, "1"});
  EXPECT_THAT(run(note(rival)), is(0));
  EXPECT_THAT(run(note(caller)), is(1));
  EXPECT_THAT(run(look()), is_array({is_clock, is(1), testing::_}));
}

TEST_F(last_run, is_forgotten_if_it_is_the_one_meant) {
  redis.command({"SET", lock_key, std::string{caller}});
  EXPECT_THAT(run(note(caller)), is(1));
  EXPECT_THAT(run(forget(rival)), is(0));
  EXPECT_THAT(run(forget(caller)), is(1));
  EXPECT_FALSE(redis.exists(record_key));
}

TEST_F(last_run, is_not_written_over_a_key_of_another_type) {
  redis.command({"SET", lock_key, std::string{caller}});
  redis.command({"SET", record_key, "mine"});
  EXPECT_EQ(run(note(caller)).type, raw_reply::kind::error);
  EXPECT_THAT(run(look()), is_array({is_clock, is(0), is_array({})}));
  EXPECT_THAT(run(forget(caller)), is(0));
  EXPECT_EQ(redis.get(record_key), "mine");
}

}  // namespace holdfast::contract::run_test
