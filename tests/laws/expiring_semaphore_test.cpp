/// holdfast::expiring_semaphore on either wire: permits that are leases, renewed, lost, released by other
/// clients, and expired when their holder is gone.
#include "waiting.hpp"

#include <holdfast/expiring_semaphore.hpp>

#include <gmock/gmock.h>

#include "script/names.hpp"

namespace holdfast::test {
namespace {

std::string const channel = "redisson_sc:{license}";
std::string const permits_key = "{license}:timeout";

/// Two clients on one wire that send requests only after a message, except in the first seconds of a wait.
class licensing : public testing::TestWithParam<wire> {
 protected:
  [[nodiscard]] virtual wire format() const { return GetParam(); }
  [[nodiscard]] bool on_redisson() const { return format() == wire::redisson; }
  [[nodiscard]] client_options options(milliseconds recheck = 30s) const {
    return with_long_timeouts({.recheck = recheck, .wire = format()});
  }

  void SetUp() override {
    first_.emplace(server_.url(), options());
    second_.emplace(server_.url(), options());
    locals_.emplace(*first_, "license");
    remotes_.emplace(*second_, "license");
  }

  /// A caller of the client waits, and hears of a release.
  [[nodiscard]] bool waits_for(client& waiter) {
    auto const heard_on = on_redisson() ? channel : names::inbox(waiter.uuid(), "license");
    return eventually([&] {
      return waiter.stats().waits >= 1 && raw_.listeners(heard_on) >= 1 &&
             (on_redisson() || raw_.exists(names::permit_queue("license")));
    });
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();

 private:
  std::optional<client> first_;
  std::optional<client> second_;
  std::optional<expiring_semaphore> locals_;
  std::optional<expiring_semaphore> remotes_;

 protected:
  client& first_client() { return *first_; }
  client& second_client() { return *second_; }
  expiring_semaphore& local() { return *locals_; }
  expiring_semaphore& remote() { return *remotes_; }
};

class licensing_on_redisson : public licensing {
 protected:
  [[nodiscard]] wire format() const override { return wire::redisson; }
};

INSTANTIATE_TEST_SUITE_P(wires, licensing, testing::Values(wire::plain, wire::redisson),
                         [](auto const& info) { return info.param == wire::plain ? "plain" : "redisson"; });

TEST_P(licensing, gives_out_as_many_as_it_has_each_with_an_id_of_its_own) {
  EXPECT_TRUE(local().try_set_permits(3));
  EXPECT_FALSE(remote().try_set_permits(4));
  auto first = local().acquire();
  auto second = local().acquire();
  auto third = remote().try_acquire();
  ASSERT_TRUE(third);
  EXPECT_FALSE(remote().try_acquire());
  EXPECT_FALSE(local().try_acquire_for(50ms));
  EXPECT_EQ(std::set({first.owner(), second.owner(), third->owner()}).size(), 3u);
  if (on_redisson()) {
    EXPECT_EQ(first.owner().size(), 32u);
    EXPECT_EQ(raw_.command({"ZCARD", permits_key}).integer, 3);
    EXPECT_EQ(raw_.get("license"), "0");
  } else {
    EXPECT_EQ(raw_.command({"ZCARD", "license"}).integer, 1 + 3);
  }
  EXPECT_EQ(second.release(), release_result::released);
  EXPECT_EQ(local().available(), 1);
  EXPECT_EQ(local().permits(), 3);
  EXPECT_EQ(local().acquired(), 2);
  EXPECT_TRUE(remote().try_acquire());
}

TEST_P(licensing, has_the_size_that_it_was_constructed_with) {
  expiring_semaphore first{first_client(), "license", 2};
  expiring_semaphore second{second_client(), "license", 9};
  auto const one = first.try_acquire();
  auto const two = second.try_acquire();
  EXPECT_TRUE(one && two);
  EXPECT_FALSE(second.try_acquire()) << "the first one has given it its size";
  EXPECT_EQ(second.permits(), 2);
}

TEST_P(licensing, wakes_a_waiter_of_another_client_by_message) {
  local().try_set_permits(1);
  auto permit = local().acquire();
  pending waiting;
  remote().async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(second_client()));
  EXPECT_EQ(permit.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return waiting.done(); }));
  EXPECT_TRUE(waiting.take()->valid());
}

TEST_P(licensing, serves_the_waiters_of_its_process_while_it_holds_permits_itself) {
  local().try_set_permits(2);
  auto first = local().acquire();
  auto second = local().acquire();
  std::vector<pending> waiting(3);
  for (auto& p : waiting) local().async_acquire(p.handler());
  ASSERT_TRUE(waits_for(first_client()));
  first.release();
  EXPECT_TRUE(eventually([&] { return waiting[0].done(); }));
  second.release();
  EXPECT_TRUE(eventually([&] { return waiting[1].done(); }));
  EXPECT_FALSE(waiting[2].done());
  waiting[0].take()->release();
  EXPECT_TRUE(eventually([&] { return waiting[2].done(); }));
}

TEST_P(licensing, is_renewed_past_two_ttls) {
  local().try_set_permits(2);
  expiring_semaphore brief{first_client(), "license", {.ttl = 3s, .renew_every = 100ms}};
  auto const first = brief.acquire();
  auto const second = brief.acquire();
  EXPECT_TRUE(always(6500ms, [&] { return first.valid() && second.valid(); }));
  EXPECT_FALSE(remote().try_acquire());
  EXPECT_EQ(remote().acquired(), 2);
}

TEST_P(licensing, tells_the_holder_when_a_fixed_ttl_is_over_and_gives_the_permit_to_a_waiter) {
  local().try_set_permits(1);
  expiring_semaphore fixed{first_client(), "license", {.ttl = 1s, .watchdog = false}};
  auto permit = fixed.acquire();
  pending waiting;
  remote().async_acquire(waiting.handler());
  ASSERT_TRUE(eventually([&] { return waiting.done(); })) << "nobody tells it: it knows when to look";
  auto next_permit = waiting.take();
  EXPECT_FALSE(permit.valid());
  EXPECT_TRUE(eventually([&] { return permit.lost().stop_requested(); }));
  EXPECT_EQ(permit.lost_because(), loss_cause::limit_reached);
  EXPECT_EQ(permit.release(), release_result::lost);
  EXPECT_EQ(remote().available(), 0) << "the same permit was given back twice";
  EXPECT_EQ(next_permit->release(), release_result::released);
  EXPECT_EQ(remote().available(), 1);
}

TEST_P(licensing, is_given_back_by_its_id_from_elsewhere_and_the_holder_is_told) {
  local().try_set_permits(1);
  expiring_semaphore watched{first_client(), "license", {.ttl = 10s, .renew_every = 50ms}};
  auto permit = watched.acquire();
  EXPECT_EQ(remote().release(permit.owner()), release_result::released);
  EXPECT_EQ(remote().release(permit.owner()), release_result::lost);
  EXPECT_TRUE(eventually([&] { return permit.lost().stop_requested(); }));
  EXPECT_EQ(permit.lost_because(), loss_cause::key_gone);
  EXPECT_EQ(permit.release(), release_result::lost);
  EXPECT_EQ(remote().available(), 1);
}

TEST_P(licensing, is_given_its_number_again_when_the_server_has_lost_it) {
  client rechecking_client{server_.url(), options(100ms)};
  expiring_semaphore rechecking{rechecking_client, "license"};
  rechecking.try_set_permits(1);
  auto permit = rechecking.acquire();
  pending waiting;
  rechecking.async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(rechecking_client));
  raw_.command({"FLUSHALL"});
  ASSERT_TRUE(eventually([&] { return waiting.done(); })) << "nobody else gives it";
  EXPECT_TRUE(waiting.take()->valid());
  remote().try_set_permits(5);  // no effect yet, but the client knows the number after a loss
  raw_.command({"FLUSHALL"});
  EXPECT_TRUE(remote().try_acquire());
  EXPECT_EQ(remote().permits(), 5);
  remote().add_permits(-2);
  raw_.command({"FLUSHALL"});
  EXPECT_TRUE(remote().try_acquire());
  EXPECT_EQ(remote().permits(), 3);
}

TEST_F(licensing_on_redisson, leaves_alone_what_java_holds_for_ever) {
  raw_.command({"SET", "license", "0"});
  raw_.command({"ZADD", permits_key, "922337203685477", std::string(16, '\xa1')});
  EXPECT_FALSE(local().try_acquire_for(50ms));
  EXPECT_EQ(local().acquired(), 1);
  EXPECT_EQ(local().release("a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"), release_result::released);
  EXPECT_TRUE(local().try_acquire());
}

TEST_P(licensing, changes_its_number_while_permits_are_out) {
  local().set_permits(2);
  auto const first = local().acquire();
  auto const second = local().acquire();
  remote().set_permits(1);
  EXPECT_EQ(local().available(), -1);
  EXPECT_EQ(local().permits(), 1);
  remote().add_permits(2);
  EXPECT_EQ(local().available(), 1);
  EXPECT_TRUE(remote().try_acquire());
}

TEST_P(licensing, gives_nothing_to_a_waiter_that_was_cancelled) {
  local().try_set_permits(1);
  auto permit = local().acquire();
  std::stop_source stop;
  pending waiting;
  remote().async_acquire(waiting.handler(), stop.get_token());
  ASSERT_TRUE(waits_for(second_client()));
  stop.request_stop();
  EXPECT_TRUE(eventually([&] { return waiting.done(); }));
  EXPECT_EQ(code_of([&] { (void)waiting.take(); }), errc::cancelled);
  permit.release();
  EXPECT_TRUE(eventually([&] { return local().available() == 1; }));
  EXPECT_EQ(local().acquired(), 0);
  EXPECT_FALSE(raw_.exists(on_redisson() ? permits_key : "license"));
}

TEST_P(licensing, gets_a_permit_within_recheck_when_every_message_is_lost) {
  HOLDFAST_ON_ONE_SERVER("the proxy that loses messages stands before one");
  flaky_proxy proxy{server_.socket_path()};
  proxy.swallow_messages(true);
  client deaf{proxy.url(), options(500ms)};
  expiring_semaphore wanted{deaf, "license"};
  local().try_set_permits(1);
  auto permit = local().acquire();
  pending waiting;
  wanted.async_acquire(waiting.handler());
  ASSERT_TRUE(waits_for(deaf));
  permit.release();
  EXPECT_TRUE(eventually([&] { return waiting.done(); }));
}

TEST_P(licensing, gets_a_permit_by_polling) {
  client polling{server_.url(), options(1s)};
  expiring_semaphore wanted{polling, "license", {.wake = wake::poll}};
  local().try_set_permits(1);
  auto permit = local().acquire();
  pending waiting;
  wanted.async_acquire(waiting.handler());
  ASSERT_TRUE(eventually([&] { return polling.stats().rechecks >= 3; }));
  permit.release();
  EXPECT_TRUE(eventually([&] { return waiting.done(); }));
}

TEST_P(licensing, comes_back_by_itself_when_its_holder_is_killed) {
  local().try_set_permits(1);
  auto dead =
      worker::session(server_.url_for_workers(),
                      on_redisson() ? "expiring_semaphore_redisson" : "expiring_semaphore", "license", 1s);
  ASSERT_EQ(dead.reply_to("acquire").rfind("held ", 0), 0u);
  pending waiting;
  remote().async_acquire(waiting.handler());
  // A holder that was stopped for long may have lost the permit already.
  ASSERT_TRUE(eventually([&] { return second_client().stats().waits >= 1 || waiting.done(); }));
  dead.kill9();
  ASSERT_TRUE(eventually([&] { return waiting.done(); }));
  EXPECT_TRUE(waiting.take()->valid());
  EXPECT_EQ(local().permits(), 1);
}

TEST_P(licensing, refuses_ids_that_are_none) {
  local().try_set_permits(1);
  for (auto const* const id : {"", "a1", "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1g1"}) {
    EXPECT_EQ(code_of([&] { local().release(id); }), std::errc::invalid_argument) << id;
    EXPECT_THAT(message_of([&] { local().release(id); }),
                testing::HasSubstr(on_redisson() ? "32 hexadecimal digits" : "a uuid and a number"));
  }
  auto const id = on_redisson() ? std::string(32, 'a') : "11111111-1111-4111-8111-111111111111:7";
  EXPECT_EQ(local().release(id), release_result::lost);
  EXPECT_EQ(code_of([&] { local().set_permits(-1); }), std::errc::invalid_argument);
}

TEST_P(licensing, refuses_numbers_that_no_semaphore_could_have) {
  for (auto const number : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31}) {
    EXPECT_EQ(code_of([&] { (void)local().acquire(number); }), std::errc::invalid_argument) << number;
    EXPECT_EQ(code_of([&] { (void)local().try_acquire(number); }), std::errc::invalid_argument) << number;
    EXPECT_EQ(code_of([&] { local().async_acquire([](auto, auto) {}, number); }),
              std::errc::invalid_argument);
  }
  EXPECT_FALSE(raw_.exists("license"));
}

TEST_F(licensing_on_redisson, refuses_more_than_a_permit_to_a_lease) {
  local().try_set_permits(3);
  EXPECT_EQ(code_of([&] { (void)local().try_acquire(2); }), std::errc::invalid_argument);
  EXPECT_EQ(code_of([&] { expiring_semaphore const s{first_client(), "a{b"}; }), std::errc::invalid_argument);
}

TEST_F(licensing_on_redisson, says_what_it_found_under_its_name) {
  raw_.command({"SET", "license", "1"});
  raw_.command({"ZADD", permits_key, "922337203685477", std::string(32, 'a')});
  for (auto const& call : std::vector<std::function<void()>>{[&] { (void)local().acquire(); },
                                                             [&] { (void)local().available(); },
                                                             [&] { local().add_permits(1); }}) {
    EXPECT_EQ(code_of(call), errc::wrong_type);
    EXPECT_THAT(message_of(call), testing::AllOf(testing::HasSubstr("\"license\""), testing::HasSubstr("32"),
                                                 testing::HasSubstr("Redisson before 3.17")));
  }
}

}  // namespace
}  // namespace holdfast::test
