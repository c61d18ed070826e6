/// Sentinels whose answers the test sets, and independent servers.
#include "told_sentinel.hpp"

#include <gmock/gmock.h>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

TEST_F(told_sentinel, request_that_a_demoted_master_refuses_goes_to_the_new_one) {
  client redis{"redis+sentinel://" + sentinel_->address() + "/mymaster", {.log = log_.hook()}};
  mutex m{redis, "orders", {.replicas = 0}};
  auto other_lease = mutex{redis, "other", {.ttl = 10min, .watchdog = false}}.acquire();
  m.acquire().release();
  auto const refused_before = refused_by(*first_);
  ASSERT_FALSE(sentinel_->raw().command({"SENTINEL", "REMOVE", "mymaster"}).is_error());
  ASSERT_FALSE(first_->raw().command({"REPLICAOF", "127.0.0.1", std::to_string(second_->port())}).is_error());
  ASSERT_FALSE(
      sentinel_->raw()
          .command({"SENTINEL", "MONITOR", "mymaster", "127.0.0.1", std::to_string(second_->port()), "1"})
          .is_error());
  auto const lease = m.acquire();
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(second_->raw().get("orders"), lease.owner());
  EXPECT_GT(refused_by(*first_), refused_before) << "the old one was asked";
  EXPECT_TRUE(eventually([&] { return other_lease.lost().stop_requested(); }));
  EXPECT_EQ(other_lease.lost_because(), loss_cause::key_gone);
}

TEST_F(told_sentinel, master_that_comes_back_empty_is_noticed_at_once) {
  client redis{"redis+sentinel://" + sentinel_->address() + "/mymaster"};
  mutex m{redis, "orders", {.ttl = 10min}};
  auto const lease = m.acquire();
  first_->kill9();
  first_->start();  // before the only sentinel has missed it
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::key_gone);
}

TEST_F(told_sentinel, replica_that_is_called_the_master_is_not_believed) {
  passes_in_one_round_of(5, [&] {  // a round in which the client asks before the sentinel knows
    auto const replica =
        redis_server::make({.transport = server_transport::tcp,
                            .args = {"--replicaof", "127.0.0.1 " + std::to_string(first_->port())}});
    auto const misled = watching(*replica);
    client redis{"redis+sentinel://" + misled->address() + "/mymaster", {.connect_timeout = 500ms}};
    auto const failure = failure_of([&] { redis.connect(); });
    EXPECT_EQ(failure.code, errc::unreachable);
    EXPECT_THAT(failure.message,
                HasSubstr(replica->address() + " is a replica and not, or no more, the master"));
  });
}

TEST_F(told_sentinel, sentinel_that_takes_long_to_reach_is_given_the_time_for_it) {
  flaky_proxy slow_proxy{sentinel_->socket_path()};
  auto const is_handshake = [](request const& r) { return r.has("SETNAME"); };
  slow_proxy.decide(
      [=](request const& r) { return is_handshake(r) ? fate::delay_reply(1500ms) : fate::pass(); });
  client redis{"redis+sentinel://" + slow_proxy.address() + "/mymaster", {.connect_timeout = 20s}};
  EXPECT_TRUE(mutex(redis, "orders").acquire().valid());
}

TEST_F(told_sentinel, sentinels_that_go_on_disagreeing_are_named) {
  auto const other_sentinel = watching(*second_);
  client redis{"redis+sentinel://" + sentinel_->address() + "," + other_sentinel->address() + "/mymaster",
               {.log = log_.hook()}};
  mutex m{redis, "orders"};
  auto const lease = m.acquire();
  ASSERT_TRUE(eventually(30s, [&] { return !log_.of(log_level::warning).empty(); }));
  auto const line = log_.of(log_level::warning).front();
  EXPECT_THAT(line, HasSubstr("the sentinels disagree"));
  EXPECT_THAT(line, HasSubstr(sentinel_->address() + " says " + first_->address()));
  EXPECT_THAT(line, HasSubstr(other_sentinel->address() + " says " + second_->address()));
  EXPECT_TRUE(lease.valid());
}

}  // namespace
}  // namespace holdfast::test
