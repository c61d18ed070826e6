/// Several servers that speak nothing but TLS, with clients and with each other.
#include "clustered.hpp"
#include "quorum.hpp"
#include "scripted_sentinel.hpp"
#include "support/sentinel_servers.hpp"

#include <gmock/gmock.h>

#include <sys/socket.h>
#include <unistd.h>

#include <set>

namespace holdfast::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A failover takes long on an overloaded machine.
constexpr auto tls_failover_time = 60s;
/// Only a message wakes a waiter: neither the end of the ttl nor the re-check comes in time.
lock_options const long_ttl{.ttl = 10min, .renew_every = 100ms};
client_options const rare_recheck{.connect_timeout = tls_failover_time, .recheck = 30s};
constexpr auto before_recheck = 20s;

[[nodiscard]] bool renews_again(client& redis) {
  auto const before = redis.stats().renewals;
  return eventually(tls_failover_time, [&] { return redis.stats().renewals > before + 2; });
}

[[nodiscard]] failure failure_to_connect(std::string const& url) {
  return failure_of([&] { client{url, {.connect_timeout = tls_failover_time}}.connect(); });
}

/// The URL with another certificate authority; with that of the system when `ca` is empty.
std::string with_ca(std::string url, std::string const& ca) {
  url.erase(url.find("?ca="));
  return ca.empty() ? url : url + "?ca=" + ca;
}

/// A holder and a waiter that gets the lock by message, each with a client of its own.
class handover {
 public:
  explicit handover(std::string const& url, std::string const& name)
      : redis_{url, {.connect_timeout = tls_failover_time}},
        other_{url, rare_recheck},
        mutex_{redis_, name, long_ttl},
        other_mutex_{other_, name} {}

  void hold() { lease_ = mutex_.acquire(); }
  [[nodiscard]] bool is_waited_for() {
    next_.emplace(other_mutex_);
    return eventually([&] { return other_.stats().waits == 1; });
  }
  [[nodiscard]] lease const& holder_lease() const { return lease_; }
  /// The lease is valid and renewed by the current master, and still waited for.
  [[nodiscard]] bool goes_on() { return renews_again(redis_) && lease_.valid() && !next_->done(); }
  /// Releases; true if that wakes the waiter, and its token, if there are tokens, is greater.
  [[nodiscard]] testing::AssertionResult passes_on() {
    auto const token = lease_.token();
    if (auto const end = lease_.release(); end != release_result::released)
      return testing::AssertionFailure() << "release: " << to_string(end);
    if (!eventually(before_recheck, [&] { return next_->done(); }))
      return testing::AssertionFailure() << "the waiter isn't woken";
    auto const next = next_->take();
    if (!next.valid()) return testing::AssertionFailure() << "the next lease is over";
    if (next.token() <= token && token != 0)
      return testing::AssertionFailure() << "token " << next.token() << " behind " << token;
    return testing::AssertionSuccess();
  }

 private:
  client redis_;
  client other_;
  mutex mutex_;
  mutex other_mutex_;
  lease lease_;
  std::optional<waiter> next_;
};

class tls_sentinel : public testing::Test {
 protected:
  sentinel_servers servers_{{.tls = true}};
};

TEST_F(tls_sentinel, lock_is_held_renewed_and_waited_for_while_its_master_dies) {
  handover orders{servers_.url(), "orders"};
  orders.hold();
  ASSERT_TRUE(orders.is_waited_for());
  ASSERT_TRUE(servers_.wait_until_replicated());
  auto& old_master = servers_.master();
  old_master.kill9();
  ASSERT_TRUE(servers_.wait_for_another_master(old_master, tls_failover_time));
  EXPECT_TRUE(orders.goes_on());
  EXPECT_EQ(servers_.master().raw().get("orders"), orders.holder_lease().owner());
  EXPECT_TRUE(orders.passes_on());
}

TEST_F(tls_sentinel, failover_with_nobody_dead_is_heard_of_and_followed) {
  handover orders{servers_.url(), "orders"};
  orders.hold();
  ASSERT_TRUE(orders.is_waited_for());
  ASSERT_TRUE(servers_.wait_until_replicated());
  servers_.failover();
  EXPECT_TRUE(orders.goes_on());
  EXPECT_TRUE(orders.passes_on());
}

TEST_F(tls_sentinel, others_are_known_and_spoken_to_from_the_one_that_the_url_names) {
  client redis{servers_.data(0).url_of_several("sentinel", servers_.sentinel(0).address(), "/mymaster"),
               {.connect_timeout = tls_failover_time}};
  mutex m{redis, "orders", long_ttl};
  auto const lease = m.acquire();
  ASSERT_TRUE(servers_.wait_until_replicated());
  servers_.sentinel(0).kill9();
  auto& old_master = servers_.master();
  old_master.kill9();
  ASSERT_TRUE(servers_.wait_for_another_master(old_master, tls_failover_time));
  EXPECT_TRUE(renews_again(redis));
  EXPECT_TRUE(lease.valid());
}

TEST_F(tls_sentinel, of_an_unknown_authority_is_named_with_what_to_do) {
  auto const stranger = redis_server::with({.transport = server_transport::tls});
  for (auto const& ca : {std::string{}, stranger.ca_file()}) {
    auto const failure = failure_to_connect(with_ca(servers_.url(), ca));
    EXPECT_EQ(failure.code, errc::unreachable) << failure;
    for (std::size_t i = 0; i != servers_.sentinel_count(); ++i)
      EXPECT_THAT(failure.message, HasSubstr(servers_.sentinel(i).address()));
    EXPECT_THAT(failure.message, AllOf(HasSubstr("certificate verify failed"), HasSubstr("ca=")));
  }
}

TEST_F(tls_sentinel, asked_without_tls_is_named_with_what_to_do) {
  auto const failure = failure_to_connect("redis+sentinel://" + servers_.sentinel(0).address() + "/mymaster");
  EXPECT_EQ(failure.code, errc::unreachable) << failure;
  EXPECT_THAT(failure.message, AllOf(HasSubstr(servers_.sentinel(0).address()), HasSubstr("rediss")));
}

/// Sentinels without TLS, servers with data with TLS.
TEST(plain_sentinel, of_a_master_with_tls_is_spoken_to_as_the_url_says) {
  auto const master = redis_server::with({.transport = server_transport::tls});
  auto const watching = redis_server::with(
      {.transport = server_transport::tcp,
       .args = {"--sentinel", "--tls-replication", "yes", "--tls-ca-cert-file", master.ca_file(),
                "--tls-cert-file", master.cert_file(), "--tls-key-file", master.key_file()},
       .config = "sentinel monitor mymaster 127.0.0.1 " + std::to_string(master.port()) + " 1\n"});
  auto const url = master.url_of_several("sentinel", watching.address(), "/mymaster") + "&sentinel_tls=no";
  client redis{url};
  mutex m{redis, "orders"};
  EXPECT_TRUE(m.acquire().valid());

  auto const stranger = redis_server::with({.transport = server_transport::tls});
  auto const failure = failure_to_connect(with_ca(url, stranger.ca_file()) + "&sentinel_tls=no");
  EXPECT_EQ(failure.code, errc::unreachable) << failure;
  EXPECT_THAT(failure.message, AllOf(HasSubstr(master.address()), HasSubstr("certificate verify failed")));
}

/// OpenSSL doesn't read an address with a scope. Without a check of the name any server was accepted for that
/// address.
TEST(plain_sentinel, that_announces_an_address_with_a_scope_gets_no_other_server_accepted_for_it) {
  auto const probe = ::socket(AF_INET6, SOCK_STREAM, 0);
  if (probe < 0) GTEST_SKIP() << "no IPv6 here";
  ::close(probe);
  auto const master = redis_server::with({.transport = server_transport::tls});
  scripted_sentinel watching{{.host = "::ffff:127.0.0.1%1", .port = master.port()}};
  auto const url = master.url_of_several("sentinel", watching.address(), "/mymaster") + "&sentinel_tls=no";
  auto const failure = failure_to_connect(url);
  EXPECT_EQ(failure.code, errc::unreachable) << failure;
  EXPECT_THAT(failure.message, AllOf(HasSubstr("IP address mismatch"), HasSubstr("::ffff:127.0.0.1%1")));
  watching.set_report({.port = master.port()});
  EXPECT_EQ(failure_to_connect(url).code, std::error_code{});
}

class tls_clustered : public clustered {
 protected:
  explicit tls_clustered(cluster_options options = {.masters = 3, .replicas_each = 0, .tls = true})
      : clustered{std::move(options)} {}

  /// The client learns of all other nodes from this one.
  [[nodiscard]] std::string url() {
    return nodes_.node(0).url_of_several("cluster", nodes_.node(0).address());
  }
};

TEST_F(tls_clustered, locks_are_spread_over_its_masters) {
  client redis{url()};
  std::set<redis_server*> used;
  for (auto i = 0; i != 30; ++i) {
    auto const name = "orders:" + std::to_string(i);
    mutex m{redis, name};
    auto lease = m.acquire();
    auto& master = nodes_.master_of(name);
    EXPECT_EQ(master.raw().get(name), lease.owner());
    used.insert(&master);
    EXPECT_EQ(lease.release(), release_result::released);
  }
  EXPECT_EQ(used.size(), 3U);
}

TEST_F(tls_clustered, follows_a_slot_that_moves_while_its_lock_is_held_and_waited_for) {
  for (auto const* const wire : {"plain", "redisson"}) {
    SCOPED_TRACE(wire);
    handover orders{url() + "&wire=" + wire, name_};
    orders.hold();
    ASSERT_TRUE(orders.is_waited_for());
    auto& from = slot_master();
    auto& to = another_master();
    nodes_.begin_migration(slot_, from, to);
    nodes_.move_keys(slot_, from, to);
    EXPECT_TRUE(orders.goes_on()) << "where only ASK leads";
    nodes_.end_migration(slot_, from, to);
    EXPECT_TRUE(orders.goes_on()) << "where MOVED leads";
    EXPECT_TRUE(orders.passes_on());
  }
}

TEST_F(tls_clustered, shows_its_own_certificate_to_nodes_that_ask_for_one) {
  for (auto* const node : nodes_.masters())
    EXPECT_EQ(node->raw().command({"CONFIG", "SET", "tls-auth-clients", "yes"}).text, "OK");
  auto const failure = failure_to_connect(url());
  EXPECT_EQ(failure.code, errc::unreachable) << failure;
  EXPECT_THAT(failure.message, HasSubstr("cert=FILE&key=FILE"));
  auto const& node = nodes_.node(0);
  client redis{url() + "&cert=" + node.cert_file() + "&key=" + node.key_file()};
  for (auto i = 0; i != 10; ++i) {
    mutex m{redis, "orders:" + std::to_string(i)};
    EXPECT_EQ(m.acquire().release(), release_result::released);
  }
}

TEST_F(tls_clustered, of_an_unknown_authority_is_named_with_what_to_do) {
  auto const stranger = redis_server::with({.transport = server_transport::tls});
  for (auto const& ca : {std::string{}, stranger.ca_file()}) {
    auto const failure = failure_to_connect(with_ca(nodes_.url(), ca));
    EXPECT_EQ(failure.code, errc::unreachable) << failure;
    for (std::size_t i = 0; i != nodes_.size(); ++i)
      EXPECT_THAT(failure.message, HasSubstr(nodes_.node(i).address()));
    EXPECT_THAT(failure.message, AllOf(HasSubstr("certificate verify failed"), HasSubstr("ca=")));
  }
}

class tls_clustered_replicas : public tls_clustered {
 protected:
  tls_clustered_replicas() : tls_clustered{{.tls = true}} {}
};

TEST_F(tls_clustered_replicas, take_over_while_a_lock_is_held_and_waited_for) {
  handover orders{url(), name_};
  orders.hold();
  ASSERT_TRUE(orders.is_waited_for());
  ASSERT_TRUE(nodes_.wait_until_replicated());
  auto& old_master = slot_master();
  old_master.kill9();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, old_master, tls_failover_time));
  EXPECT_TRUE(orders.goes_on());
  EXPECT_EQ(slot_master().raw().get(name_), orders.holder_lease().owner());
  EXPECT_TRUE(orders.passes_on());
}

class tls_quorum : public testing::Test {
 protected:
  independent_servers masters_{3, {.transport = server_transport::tls}};
};

TEST_F(tls_quorum, tokens_grow_whichever_master_is_down) {
  std::int64_t last = 0;
  for (auto const& down : masters_) {
    down->freeze();
    client redis{masters_.url(), {.connect_timeout = 20s}};  // a client that knows no earlier tokens
    quorum_mutex m{redis, "orders"};
    auto lease = m.acquire();
    EXPECT_GT(lease.token(), last);
    last = lease.token();
    EXPECT_EQ(lease.release(), release_result::released);
    down->thaw();
  }
}

TEST_F(tls_quorum, lock_is_renewed_and_handed_over_by_message) {
  client redis{masters_.url()};
  client other{masters_.url(), rare_recheck};
  quorum_mutex m{redis, "orders", long_ttl};
  quorum_mutex other_mutex{other, "orders"};
  auto lease = m.acquire();
  waiter next{other_mutex};
  ASSERT_TRUE(eventually([&] { return other.stats().waits == 1; }));
  EXPECT_TRUE(renews_again(redis));
  EXPECT_FALSE(next.done());
  EXPECT_EQ(lease.release(), release_result::released);
  ASSERT_TRUE(eventually(before_recheck, [&] { return next.done(); }));
  EXPECT_TRUE(next.take().valid());
}

TEST_F(tls_quorum, masters_of_an_unknown_authority_are_named_with_what_to_do) {
  auto const failure = failure_to_connect(with_ca(masters_.url(), {}));
  EXPECT_EQ(failure.code, errc::unreachable) << failure;
  EXPECT_THAT(failure.message, AllOf(HasSubstr("certificate verify failed"), HasSubstr("ca=")));
}

}  // namespace
}  // namespace holdfast::test
