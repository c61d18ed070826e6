/// The plain wire on several masters: quorum_mutex and the RedLocks of other libraries on the same name
/// exclude each other.
#include "interop.hpp"

#include <holdfast/client.hpp>
#include <holdfast/quorum_mutex.hpp>

#include <algorithm>

namespace holdfast::test {
namespace {

class plain_quorum : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!peer::is_prepared(GetParam())) GTEST_SKIP() << not_prepared;
  }

  /// Whether no running master has the lock.
  [[nodiscard]] bool is_gone() {
    return std::ranges::none_of(
        servers_, [](auto const& server) { return server->runs() && server->raw().exists("orders"); });
  }

  independent_servers servers_;
  client redis_{servers_.url()};
};

INSTANTIATE_TEST_SUITE_P(with, plain_quorum, testing::Values("redsync", "node-redlock"), name_of_peer);

TEST_P(plain_quorum, keeps_them_out_while_we_hold) {
  peer peer_process{GetParam(), servers_};
  auto lease = quorum_mutex{redis_, "orders", {.ttl = 10s}}.acquire();
  EXPECT_EQ(plain_lock(peer_process, "orders").try_lock(100ms, 10s), "false");
  EXPECT_TRUE(lease.valid());
  auto const waiting = plain_lock(peer_process, "orders", 2).try_lock(30s, 20s);
  EXPECT_TRUE(always(300ms, [&] { return !waiting.is_answered(); }));
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_EQ(waiting.answer(30s), "true");
  EXPECT_FALSE(quorum_mutex(redis_, "orders").try_acquire());
  EXPECT_EQ(plain_lock(peer_process, "orders", 2).unlock(), "ok");
  EXPECT_TRUE(eventually([&] { return is_gone(); }));
}

TEST_P(plain_quorum, keeps_us_out_while_they_hold) {
  peer peer_process{GetParam(), servers_};
  plain_lock const peer_lock{peer_process, "orders"};
  quorum_mutex holdfast_lock{redis_, "orders", {.ttl = 10s}};
  EXPECT_EQ(peer_lock.try_lock(5s, 60s), "true");
  EXPECT_FALSE(holdfast_lock.try_acquire());
  EXPECT_FALSE(holdfast_lock.try_acquire_for(200ms));
  EXPECT_EQ(peer_lock.unlock(), "ok");
  EXPECT_TRUE(holdfast_lock.try_acquire_for(20s));
  EXPECT_TRUE(eventually([&] { return is_gone(); }));
}

TEST_P(plain_quorum, goes_from_one_to_the_other_while_two_masters_are_down) {
  peer peer_process{GetParam(), servers_};
  plain_lock const peer_lock{peer_process, "orders"};
  quorum_mutex holdfast_lock{redis_, "orders", {.ttl = 10s}};
  servers_[1].kill9();
  servers_[3].kill9();
  {
    auto const lease = holdfast_lock.try_acquire_for(20s);
    ASSERT_TRUE(lease);
    EXPECT_EQ(peer_lock.try_lock(100ms, 10s), "false");
  }
  EXPECT_EQ(peer_lock.try_lock(20s, 60s), "true");
  EXPECT_FALSE(holdfast_lock.try_acquire_for(200ms));
  EXPECT_EQ(peer_lock.unlock(), "ok");
  EXPECT_TRUE(holdfast_lock.try_acquire_for(20s));
  EXPECT_TRUE(eventually([&] { return is_gone(); }));
}

TEST_P(plain_quorum, loses_no_increment_of_a_counter_to_a_mixed_crowd) {
  peer peer_process{GetParam(), servers_};
  auto const peer_run = plain_lock(peer_process, "orders").increment("counter", 30, 20s);
  quorum_mutex holdfast_lock{redis_, "orders", {.ttl = 20s}};
  auto raw = servers_[0].raw();
  for (auto left = 100; left > 0; --left) {
    auto const lease = holdfast_lock.try_acquire_for(60s);
    ASSERT_TRUE(lease);
    raw.command({"SET", "counter", std::to_string(std::stoi(raw.get("counter").value_or("0")) + 1)});
  }
  EXPECT_EQ(peer_run.answer(90s), "ok");
  EXPECT_EQ(raw.get("counter"), "130");
}

}  // namespace
}  // namespace holdfast::test
