/// The holder that is in the way: client records, and the report of a wait that ended without the lock.
#include "law.hpp"

#include <gmock/gmock.h>

#include <unistd.h>

#include <array>

namespace holdfast::test {
namespace {

using testing::HasSubstr;

class client_record : public testing::Test {
 protected:
  std::string record_of(client const& redis) { return "holdfast_client:" + redis.uuid(); }
  std::string field(client const& redis, std::string const& name) {
    return raw_.command({"HGET", record_of(redis), name}).text;
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
};

TEST_F(client_record, is_written_down_for_as_long_as_there_is_anything_to_do_with_locks) {
  std::string key;
  {
    client redis{server_.url(), with_long_timeouts({.label = "nightly import"})};
    key = record_of(redis);
    mutex m{redis, "orders"};
    auto const lease = m.acquire();
    ASSERT_TRUE(eventually([&] { return raw_.exists(key); }));
    std::array<char, 256> host{};
    ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
    EXPECT_EQ(field(redis, "host"), host.data());
    EXPECT_EQ(field(redis, "pid"), std::to_string(::getpid()));
    EXPECT_EQ(field(redis, "label"), "nightly import");
    EXPECT_EQ(field(redis, "program"), "holdfast_laws");
    EXPECT_GT(std::stoll(field(redis, "since")), 1'700'000'000'000'000);
    EXPECT_GT(raw_.pttl(key), 30'000);
    EXPECT_LE(raw_.pttl(key), 60'000);
  }
  EXPECT_TRUE(eventually([&] { return !raw_.exists(key); })) << "it ends with its client";
}

TEST_F(client_record, is_written_down_ahead_of_the_first_lease) {
  HOLDFAST_ON_ONE_SERVER("elsewhere the record is on a node of its own, or on several");
  client redis{server_.url(), with_long_timeouts({.label = "deploy"})};
  mutex m{redis, "orders"};
  auto const lease = m.acquire();
  EXPECT_EQ(field(redis, "label"), "deploy");
}

TEST_F(client_record, costs_no_request_with_each_lease) {
  client redis{server_.url(), with_long_timeouts()};
  mutex m{redis, "orders"};
  m.acquire().release();
  passes_in_one_round_of(5, [&] {  // unless the machine stops it for 20 s
    auto const commands = commands_at_rest(redis);
    for (auto i = 0; i < 10; ++i) m.acquire().release();
    EXPECT_LE(redis.stats().commands, commands + 20);
  });
}

TEST_F(client_record, is_written_down_by_the_time_that_it_waits) {
  HOLDFAST_ON_ONE_SERVER("elsewhere the record is on a node of its own, or on several");
  client holder{server_.url(), with_long_timeouts()};
  mutex holder_mutex{holder, "orders"};
  auto const lease = holder_mutex.acquire();
  client redis{server_.url(), with_long_timeouts({.label = "next"})};
  mutex m{redis, "orders"};
  pending next;
  m.async_acquire(next.handler());
  ASSERT_TRUE(eventually([&] { return raw_.command({"ZCARD", "{orders}:holdfast_queue"}).integer == 1; }));
  EXPECT_EQ(field(redis, "label"), "next");
}

TEST_F(client_record, of_a_server_that_has_not_answered_does_not_outlast_the_request_for_the_lock) {
  HOLDFAST_ON_ONE_SERVER("the proxy stands before one server");
  flaky_proxy proxy{server_.socket_path()};
  client redis{proxy.url(), {.label = "next", .connect_timeout = 300ms}};
  mutex m{redis, "orders"};
  proxy.refuse_connections(true);
  EXPECT_EQ(code_of([&] { static_cast<void>(m.try_acquire()); }), errc::unreachable);
  proxy.refuse_connections(false);
  EXPECT_FALSE(raw_.exists(record_of(redis)));
  EXPECT_TRUE(eventually([&] { return code_of([&] { m.acquire().release(); }) == std::error_code{}; }));
  EXPECT_EQ(field(redis, "label"), "next") << "it is written with the next request";
}

TEST_F(client_record, is_named_to_one_that_still_waits) {
  client holder{server_.url(), with_long_timeouts({.label = "nightly import"})};
  mutex holder_mutex{holder, "orders"};
  auto const lease = holder_mutex.acquire();
  ASSERT_TRUE(has_record(holder, raw_));
  client redis{server_.url(), with_long_timeouts()};
  mutex m{redis, "orders"};
  pending next;
  m.async_acquire(next.handler());
  ASSERT_TRUE(eventually([&] { return m.last_busy().has_value(); }));
  EXPECT_EQ(m.last_busy()->holder.label, "nightly import");
  EXPECT_FALSE(m.last_busy()->never_expires);
  EXPECT_FALSE(next.done());
}

TEST_F(client_record, needs_no_connection_of_its_own_for_short_work) {
  HOLDFAST_ON_ONE_SERVER("the proxy that counts connections stands before one");
  passes_in_one_round_of(5, [&] {  // the work is short unless the machine stops it for half a second
    flaky_proxy proxy{server_.socket_path()};
    client redis{proxy.url(), with_long_timeouts()};
    mutex m{redis, "orders"};
    m.acquire().release();
    EXPECT_TRUE(always(800ms, [&] { return proxy.connections() == 1; }));
  });
}

TEST_F(client_record, is_named_to_one_that_waited_in_vain) {
  client holder{server_.url(), with_long_timeouts({.label = "nightly import"})};
  mutex holder_mutex{holder, "orders", {.ttl = 20s}};
  auto const lease = holder_mutex.acquire();
  ASSERT_TRUE(has_record(holder, raw_));
  client redis{server_.url(), with_long_timeouts()};
  mutex m{redis, "orders"};
  EXPECT_EQ(m.last_busy(), std::nullopt) << "nothing was busy yet";
  EXPECT_FALSE(m.try_acquire_for(100ms));
  auto const busy = m.last_busy();
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->holder.owner, lease.owner());
  EXPECT_EQ(busy->holder.pid, ::getpid());
  EXPECT_EQ(busy->holder.label, "nightly import");
  ASSERT_TRUE(busy->held_for);
  EXPECT_GE(*busy->held_for, 50ms) << "it waited for 100 ms, by another clock than the server's";
  EXPECT_LT(*busy->held_for, 60s);
  ASSERT_TRUE(busy->ttl_left);
  EXPECT_GT(*busy->ttl_left, 5s);
  EXPECT_LE(*busy->ttl_left, 20s);
  EXPECT_EQ(busy->ahead, 0);
  EXPECT_THAT(busy->to_string(),
              testing::MatchesRegex("held for .*(ms|s) by .* pid [0-9]+ 'nightly import'"));
}

TEST_F(client_record, can_be_named_for_as_long_as_a_key_is_kept_though_its_client_is_gone) {
  std::string key;
  {
    client redis{server_.url(), with_long_timeouts({.label = "hourly report"})};
    key = record_of(redis);
    mutex m{redis, "orders", {.ttl = 30s}};
    EXPECT_EQ(m.acquire().keep_for(200s), release_result::kept);
    ASSERT_TRUE(has_record(redis, raw_));
  }
  EXPECT_TRUE(eventually([&] { return raw_.pttl(key) > 100'000; }));
  client redis{server_.url(), with_long_timeouts()};
  mutex m{redis, "orders"};
  EXPECT_FALSE(m.try_acquire());
  EXPECT_EQ(m.last_busy()->holder.label, "hourly report");
}

TEST_F(client_record, is_asked_for_once_and_remembered) {
  client holder{server_.url(), with_long_timeouts({.label = "nightly import"})};
  mutex holder_mutex{holder, "orders"};
  auto const lease = holder_mutex.acquire();
  ASSERT_TRUE(has_record(holder, raw_));
  client redis{server_.url(), with_long_timeouts()};
  mutex m{redis, "orders"};
  EXPECT_FALSE(m.try_lock());
  EXPECT_TRUE(m.last_busy());
  auto const commands = commands_at_rest(redis);
  EXPECT_EQ(m.last_busy()->holder.label, "nightly import");
  EXPECT_EQ(redis.stats().commands, commands);
}

TEST_F(client_record, counts_those_ahead_here_and_elsewhere) {
  client holder{server_.url(), with_long_timeouts()};
  mutex holder_mutex{holder, "orders"};
  auto const lease = holder_mutex.acquire();
  client early{server_.url(), with_long_timeouts()};
  mutex queued{early, "orders"};
  pending ahead;
  queued.async_acquire(ahead.handler());
  ASSERT_TRUE(eventually([&] { return raw_.command({"ZCARD", "{orders}:holdfast_queue"}).integer == 1; }));
  client redis{server_.url(), with_long_timeouts()};
  mutex m{redis, "orders"};
  pending neighbour;
  m.async_acquire(neighbour.handler());
  ASSERT_TRUE(eventually([&] { return raw_.command({"ZCARD", "{orders}:holdfast_queue"}).integer == 2; }));
  ASSERT_TRUE(eventually([&] { return redis.stats().waits == 1; }));
  EXPECT_FALSE(m.try_acquire_for(100ms));
  EXPECT_EQ(m.last_busy()->ahead, 2);
  EXPECT_THAT(m.last_busy()->to_string(), HasSubstr(", 2 ahead of you"));
}

TEST_F(client_record, can_be_this_process_itself) {
  client redis{server_.url(), with_long_timeouts({.label = "mine"})};
  mutex m{redis, "orders"};
  auto const lease = m.acquire();
  auto const commands = commands_at_rest(redis, raw_);
  EXPECT_FALSE(m.try_acquire());
  auto const busy = m.last_busy();
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->holder.owner, lease.owner());
  EXPECT_EQ(busy->holder.label, "mine");
  EXPECT_EQ(busy->holder.pid, ::getpid());
  EXPECT_TRUE(has_sent_nothing(redis, commands)) << "no request for what is known here";
}

TEST_F(client_record, is_unknown_for_another_library_and_for_a_client_without_a_record) {
  for (std::string const owner : {"redsync's value", "ffffffff-ffff-4fff-8fff-ffffffffffff:7"}) {
    raw_.command({"SET", "orders", owner, "PX", "20000"});
    client redis{server_.url(), with_long_timeouts()};
    mutex m{redis, "orders"};
    EXPECT_FALSE(m.try_acquire());
    auto const busy = m.last_busy();
    ASSERT_TRUE(busy);
    EXPECT_EQ(busy->held_for, std::nullopt);
    EXPECT_EQ(busy->to_string(), "held by unknown (" + owner + ")");
  }
}

TEST_F(client_record, is_unknown_when_the_record_is_no_record) {
  client holder{server_.url(), with_long_timeouts()};
  mutex holder_mutex{holder, "orders"};
  auto const lease = holder_mutex.acquire();
  raw_.command({"SET", record_of(holder), "spoilt"});
  client redis{server_.url(), with_long_timeouts()};
  mutex m{redis, "orders"};
  EXPECT_FALSE(m.try_acquire());
  EXPECT_THAT(m.last_busy()->to_string(), HasSubstr("by unknown (" + lease.owner()));
  EXPECT_TRUE(lease.valid());
}

TEST_F(client_record, is_no_reason_to_fail_without_the_right_to_write_records) {
  raw_.command({"ACL", "SETUSER", "default", "-hset"});
  client holder{server_.url(), with_long_timeouts()};
  mutex holder_mutex{holder, "orders", {.ttl = 60s, .renew_every = 200ms}};
  auto const lease = holder_mutex.acquire();
  // The client writes its record when its inbox opens.
  EXPECT_TRUE(eventually([&] { return raw_.listeners("holdfast_inbox:" + holder.uuid()) >= 1; }));
  auto const renewals = holder.stats().renewals;
  EXPECT_TRUE(eventually([&] { return holder.stats().renewals >= renewals + 3; }));
  EXPECT_TRUE(lease.valid());
}

TEST_F(client_record, is_refused_with_a_label_that_is_too_long) {
  EXPECT_EQ(code_of([&] {
              client const redis{server_.url(), with_long_timeouts({.label = std::string(201, 'x')})};
            }),
            std::errc::invalid_argument);
}

}  // namespace
}  // namespace holdfast::test
