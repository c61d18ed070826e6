// What somebody has written into the keys of a lock, or a caller says, doesn't keep the server busy without
// end.
#include "contract/contract.hpp"
#include "contract/rw.hpp"
#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "wire/plain/exclusive.hpp"
#include "wire/plain/permits.hpp"

namespace holdfast::contract::hostile_keys_test {

using testing::ElementsAre;
using testing::Gt;

class hostile_keys : public testing::Test {
 protected:
  raw_reply run(call const& script) { return ask(raw_, script); }
  void write(words const& command) { ASSERT_FALSE(raw_.command(command).is_error()); }

  std::string const name_{lock_name};
  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
};

TEST_F(hostile_keys, with_a_count_of_holds_beyond_all_bounds_leave_the_time_of_a_read_lock) {
  for (std::string const count : {"1000000000000000", "inf", "nan"}) {
    write({"HSET", "rw", "mode", "read", std::string{rw::a}, "1", std::string{rw::b}, count});
    write({"PEXPIRE", "rw", "20000"});
    write({"SET", names::redisson::reader_timeout("rw", rw::a), "1", "PX", "30000"});
    EXPECT_THAT(run(rw::release_read(rw::a)), is(1)) << count;
    EXPECT_EQ(raw_.command({"HKEYS", "rw"}).elements.size(), count == "nan" ? 0U : 2U) << count;
    raw_.del("rw");
  }
}

TEST_F(hostile_keys, with_a_count_below_zero_do_not_make_room_for_one_beyond_all_bounds) {
  write({"HSET", "rw", "mode", "read", std::string{rw::a}, "1", std::string{rw::b}, "-1e18",
         std::string{rw::c}, "1e17"});
  write({"PEXPIRE", "rw", "20000"});
  EXPECT_THAT(run(rw::release_read(rw::a)), is(1));
  EXPECT_THAT(raw_.pttl("rw"), Gt(0));
}

TEST_F(hostile_keys, with_a_count_of_holds_beyond_all_bounds_are_released_by_force) {
  for (auto const field : {std::string_view{}, rw::b}) {
    write({"HSET", "rw", "mode", "read", std::string{rw::b}, "1000000000000000"});
    write({"SET", names::redisson::reader_timeout("rw", rw::b), "1", "PX", "30000"});
    EXPECT_THAT(run(rw::force(field)), is(1));
    EXPECT_THAT(raw_.keys("*"), ElementsAre());
  }
}

TEST_F(hostile_keys, with_more_expired_permits_than_are_out_answer_who_asks) {
  write({"ZADD", name_, "-1", std::string{names::permits_marker} + "5", "1", "a", "1", "b", "1", "c"});
  (void)run(recipes::plain::permits.acquire(
      lock_name, {.owner = caller, .ttl = std::chrono::milliseconds{full_ttl}, .amount = 5, .join = true}));
  EXPECT_FALSE(raw_.command({"PING"}).is_error());
}

TEST_F(hostile_keys, with_a_number_of_permits_that_is_none_answer_who_asks) {
  write({"SET", names::permits(lock_name), "nan"});
  write({"ZADD", names::permit_queue(lock_name), "1000", std::string{anna}});
  (void)run(recipes::plain::permits.acquire(
      lock_name, {.owner = caller, .ttl = std::chrono::milliseconds{full_ttl}, .amount = 1, .join = true}));
  EXPECT_FALSE(raw_.command({"PING"}).is_error());
}

/// No client has that owner id.
TEST_F(hostile_keys, of_readers_are_given_back_by_who_calls_itself_their_word) {
  auto const word = names::held_by_readers;
  write({"SET", name_, std::string{word}, "PX", "30000"});
  write({"ZADD", names::readers(lock_name), "4102444800000", std::string{rival} + ":u"});
  write({"ZADD", names::queue(lock_name), "1", std::string{anna} + ":u"});
  EXPECT_THAT(run(recipes::plain::exclusive.release({.name = lock_name, .owner = word}, {})), is(1));
  EXPECT_FALSE(raw_.exists(name_));
}

}  // namespace holdfast::contract::hostile_keys_test
