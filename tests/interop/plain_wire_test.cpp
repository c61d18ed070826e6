/// The plain wire: Holdfast's mutex and the `SET NX` locks of other libraries on the same name exclude each
/// other.
#include "interop.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <memory>

#include "support/pending.hpp"

namespace holdfast::test {
namespace {

class plain_wire : public interop, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    if (!peer::is_prepared(GetParam())) GTEST_SKIP() << not_prepared;
  }
};

INSTANTIATE_TEST_SUITE_P(with, plain_wire, testing::Values("redsync", "redis-py", "node-redlock"),
                         name_of_peer);

TEST_P(plain_wire, keeps_them_out_while_we_hold) {
  peer peer_process{GetParam(), server_};
  client redis{server_.url()};
  auto lease = mutex{redis, "orders", {.ttl = 10s}}.acquire();
  EXPECT_EQ(plain_lock(peer_process, "orders").try_lock(100ms, 10s), "false");
  auto const waiting = plain_lock(peer_process, "orders", 2).try_lock(15s, 10s);
  EXPECT_TRUE(always(300ms, [&] { return !waiting.is_answered(); }));
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_EQ(waiting, "true");
  EXPECT_EQ(plain_lock(peer_process, "orders", 2).unlock(), "ok");
  EXPECT_FALSE(raw_.exists("orders"));
}

TEST_P(plain_wire, keeps_us_out_while_they_hold) {
  peer peer_process{GetParam(), server_};
  plain_lock const peer_lock{peer_process, "orders"};
  client redis{server_.url()};
  mutex holdfast_lock{redis, "orders", {.ttl = 10s}};
  EXPECT_EQ(peer_lock.try_lock(1s, 30s), "true");
  EXPECT_FALSE(holdfast_lock.try_acquire());
  EXPECT_FALSE(holdfast_lock.try_acquire_for(200ms));
  EXPECT_EQ(peer_lock.unlock(), "ok");
  EXPECT_TRUE(holdfast_lock.try_acquire_for(20s));
}

TEST_P(plain_wire, lets_us_in_when_their_lease_ends_after_a_crash) {
  peer peer_process{GetParam(), server_};
  EXPECT_EQ(plain_lock(peer_process, "orders").try_lock(1s, 1s), "true");
  peer_process.kill9();
  client redis{server_.url()};
  EXPECT_TRUE(mutex(redis, "orders", {.ttl = 10s}).try_acquire_for(20s));
}

TEST_P(plain_wire, lets_them_in_when_our_lease_ends_after_a_crash) {
  peer peer_process{GetParam(), server_};
  auto holdfast_process = worker::session(server_.url(), "mutex_inbox", "orders", 4s);
  EXPECT_EQ(holdfast_process.reply_to("acquire").rfind("held ", 0), 0u);
  auto const waiting = plain_lock(peer_process, "orders").try_lock(60s, 10s);
  EXPECT_TRUE(always(5s, [&] { return !waiting.is_answered(); })) << "we renew";
  holdfast_process.kill9();
  EXPECT_EQ(waiting, "true");
}

TEST_P(plain_wire, has_our_release_leave_what_they_took_over_alone) {
  peer peer_process{GetParam(), server_};
  auto holdfast_process = worker::session(server_.url(), "mutex_inbox", "orders", 1s);
  EXPECT_EQ(holdfast_process.reply_to("acquire").rfind("held ", 0), 0u);
  holdfast_process.freeze();
  EXPECT_EQ(plain_lock(peer_process, "orders").try_lock(15s, 30s), "true");
  auto const owner = raw_.get("orders");
  holdfast_process.thaw();
  EXPECT_EQ(holdfast_process.reply_to("release"), "ended " + code_word(release_result::lost));
  EXPECT_EQ(raw_.get("orders"), owner);
  EXPECT_EQ(plain_lock(peer_process, "orders").unlock(), "ok");
}

TEST_P(plain_wire, keeps_them_out_while_we_read) {
  peer peer_process{GetParam(), server_};
  client redis{server_.url()};
  client elsewhere{server_.url()};
  shared_mutex prices{redis, "prices", {.ttl = 10s}};
  shared_mutex remote{elsewhere, "prices", {.ttl = 10s}};
  auto reading = prices.acquire_shared();
  EXPECT_EQ(plain_lock(peer_process, "prices").try_lock(100ms, 10s), "false") << "one reads";
  auto other = remote.acquire_shared();
  EXPECT_EQ(plain_lock(peer_process, "prices").try_lock(100ms, 10s), "false") << "two read";
  auto const waiting = plain_lock(peer_process, "prices", 2).try_lock(15s, 10s);
  EXPECT_EQ(reading.release(), release_result::released);
  EXPECT_TRUE(always(300ms, [&] { return !waiting.is_answered(); })) << "the other one reads still";
  EXPECT_TRUE(other.valid());
  EXPECT_EQ(other.release(), release_result::released);
  EXPECT_EQ(waiting, "true");
  EXPECT_FALSE(prices.try_acquire_shared());
  EXPECT_EQ(plain_lock(peer_process, "prices", 2).unlock(), "ok");
  EXPECT_FALSE(raw_.exists("prices"));
}

TEST_P(plain_wire, has_our_readers_wait_while_they_hold) {
  peer peer_process{GetParam(), server_};
  plain_lock const peer_lock{peer_process, "prices"};
  client redis{server_.url()};
  client elsewhere{server_.url()};
  shared_mutex prices{redis, "prices", {.ttl = 10s}};
  shared_mutex remote{elsewhere, "prices", {.ttl = 10s}};
  EXPECT_EQ(peer_lock.try_lock(1s, 30s), "true");
  EXPECT_FALSE(prices.try_acquire_shared());
  pending first;
  pending second;
  prices.async_acquire_shared(first.handler());
  remote.async_acquire_shared(second.handler());
  EXPECT_TRUE(always(300ms, [&] { return !first.done() && !second.done(); }));
  EXPECT_EQ(peer_lock.unlock(), "ok");
  EXPECT_TRUE(eventually(20s, [&] { return first.done() && second.done(); })) << "together";
  EXPECT_EQ(peer_lock.try_lock(100ms, 10s), "false");
  EXPECT_TRUE(first.take()->valid());
  EXPECT_TRUE(second.take()->valid());
}

TEST_P(plain_wire, lets_them_in_when_our_reader_s_lease_ends_after_a_crash) {
  peer peer_process{GetParam(), server_};
  auto holdfast_process = worker::session(server_.url(), "shared_mutex_reader", "prices", 4s);
  EXPECT_EQ(holdfast_process.reply_to("acquire").rfind("held ", 0), 0u);
  auto const waiting = plain_lock(peer_process, "prices").try_lock(60s, 10s);
  EXPECT_TRUE(always(5s, [&] { return !waiting.is_answered(); })) << "it is renewed";
  holdfast_process.kill9();
  EXPECT_EQ(waiting, "true");
}

class plain_crowd : public interop {};

TEST_F(plain_crowd, loses_none_of_ten_thousand_increments_of_an_unprotected_counter) {
  constexpr auto increments_per_peer = 1000;
  constexpr auto increments_per_process = 3500;
  std::vector<std::unique_ptr<peer>> peers;
  for (auto const* name : {"redsync", "redis-py", "node-redlock"}) {
    if (!peer::is_prepared(name)) GTEST_SKIP() << not_prepared;
    peers.push_back(std::make_unique<peer>(name, server_));
  }
  std::vector<call> peer_runs;
  peer_runs.reserve(peers.size());
  for (auto& peer_process : peers) {
    peer_runs.push_back(plain_lock(*peer_process, "orders").increment("counter", increments_per_peer, 20s));
  }
  auto const request =
      "increment " + server_.socket_path() + " counter " + std::to_string(increments_per_process);
  auto first = worker::session(server_.url(), "mutex_inbox", "orders", 20s);
  auto second = worker::session(server_.url(), "mutex_inbox", "orders", 20s);
  first.write_line(request);
  second.write_line(request);
  EXPECT_EQ(first.read_line(90s), "ok");
  EXPECT_EQ(second.read_line(90s), "ok");
  for (auto const& run : peer_runs) EXPECT_EQ(run.answer(90s), "ok");
  EXPECT_EQ(raw_.get("counter"), "10000");
}

}  // namespace
}  // namespace holdfast::test
