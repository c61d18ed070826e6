/// The server refuses for want of rights, or of a password.
#include "fault.hpp"

namespace holdfast::test {
namespace {

class rights : public fault {
 protected:
  [[nodiscard]] std::string url_as(std::string const& user, std::string const& password) const {
    return "redis+unix://" + user + ":" + password + "@" + server_.socket_path();
  }
  void allow(std::vector<std::string> rules) {
    rules.insert(rules.begin(), {"ACL", "SETUSER", "app", "reset", "on", ">s3cret-of-app"});
    EXPECT_EQ(raw_.command(rules).text, "OK");
  }
};

TEST_F(rights, are_missed_with_a_wrong_password_which_is_never_shown) {
  allow({"~*", "&*", "+@all"});
  for (auto const& url :
       {url_as("app", "wr0ng-one"), url_as("nobody", "wr0ng-one"), url_as("", "wr0ng-one")}) {
    client redis{url};
    EXPECT_EQ(redis.url().find("wr0ng-one"), std::string::npos);
    auto const f = failure_of([&] { redis.connect(); });
    EXPECT_EQ(f.code, errc::unauthorized) << f;
    EXPECT_FALSE(f.mentions("wr0ng-one")) << f;
  }
}

TEST_F(rights, are_missed_without_a_password) {
  auto const server = redis_server::with({.args = {"--requirepass", "s3cret"}});
  client redis{server.url()};
  auto const f = failure_of([&] { redis.connect(); });
  EXPECT_EQ(f.code, errc::unauthorized) << f;
  EXPECT_TRUE(f.mentions("password")) << f;
  client with_password{"redis+unix://:s3cret@" + server.socket_path()};
  mutex m{with_password, "orders"};
  EXPECT_EQ(m.acquire().release(), release_result::released);
}

TEST_F(rights, to_channels_can_be_missing_and_the_lock_works_by_polling_with_one_warning) {
  allow({"~*", "resetchannels", "+@all"});
  log_lines log;
  client first_client{url_as("app", "s3cret-of-app"), with_long_timeouts()};
  client second_client{url_as("app", "s3cret-of-app"), with_long_timeouts({.log = log.hook()})};
  mutex first{first_client, "orders"};
  mutex second{second_client, "orders"};
  for (auto round = 0; round < 3; ++round) {
    auto lease = first.acquire();
    waiter next{second};
    ASSERT_TRUE(eventually(
        [&] { return second_client.stats().waiting_now == 1 && second_client.stats().waits > 0; }));
    EXPECT_EQ(lease.release(), release_result::released);
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    EXPECT_EQ(next.take().release(), release_result::released);
  }
  EXPECT_EQ(log.of(log_level::warning).size(), 1u);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(rights, to_channels_are_an_error_of_each_wait_for_who_insists_on_the_inbox) {
  allow({"~*", "resetchannels", "+@all"});
  client holder{server_.url(), with_long_timeouts()};
  client inbox_client{url_as("app", "s3cret-of-app"), with_long_timeouts({.wake = wake::inbox})};
  mutex holder_mutex{holder, "orders"};
  mutex waiting_mutex{inbox_client, "orders"};
  auto lease = holder_mutex.acquire();
  for (auto round = 0; round < 2; ++round) {
    auto const refusal = failure_of([&] { (void)waiting_mutex.try_acquire_for(20s); });
    EXPECT_EQ(refusal.code, errc::unauthorized);
    EXPECT_TRUE(refusal.mentions("holdfast_inbox")) << refusal;
  }
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(waiting_mutex.try_acquire());
}

TEST_F(rights, to_channels_can_be_missing_for_the_releaser_only) {
  allow({"~*", "resetchannels", "+@all"});
  client first_client{url_as("app", "s3cret-of-app"), with_long_timeouts()};
  client second_client{server_.url(), with_long_timeouts()};
  mutex first{first_client, "orders"};
  mutex second{second_client, "orders"};
  auto lease = first.acquire();
  waiter next{second};
  ASSERT_TRUE(eventually([&] { return second_client.stats().waits == 1; }));
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return next.done(); }));
}

TEST_F(rights, to_commands_are_named_when_they_are_missing) {
  allow({"~*", "&*", "+@all", "-evalsha", "-eval"});
  client redis{url_as("app", "s3cret-of-app"), with_long_timeouts({.cas = cas::lua})};
  mutex m{redis, "orders"};
  auto const f = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(f.code, errc::unauthorized) << f;
  EXPECT_TRUE(f.mentions("evalsha")) << f;
}

TEST_F(rights, to_keys_are_named_when_they_are_missing) {
  allow({"~other*", "&*", "+@all"});
  client redis{url_as("app", "s3cret-of-app"), with_long_timeouts()};
  mutex m{redis, "orders"};
  auto const f = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(f.code, errc::unauthorized) << f;
  EXPECT_TRUE(f.mentions("key")) << f;
}

TEST_F(rights, taken_from_the_inbox_by_a_proxy_without_pubsub_make_it_poll) {
  flaky_proxy proxy{server_.socket_path()};
  proxy.refuse_pubsub();
  log_lines log;
  client holder{server_.url(), with_long_timeouts()};
  client redis{proxy.url(), with_long_timeouts({.log = log.hook()})};
  mutex holder_mutex{holder, "orders"};
  mutex m{redis, "orders"};
  auto lease = holder_mutex.acquire();
  waiter next{m};
  ASSERT_TRUE(eventually([&] { return redis.stats().waits == 1; }));
  lease.release();
  EXPECT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_EQ(log.of(log_level::warning).size(), 1u);
  client inbox_client{proxy.url(), with_long_timeouts({.wake = wake::inbox})};
  mutex inbox_mutex{inbox_client, "orders"};
  EXPECT_NE(failure_of([&] { (void)inbox_mutex.try_acquire_for(20s); }).code, std::error_code{});
}

}  // namespace
}  // namespace holdfast::test
