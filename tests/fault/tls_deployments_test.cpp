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

/// On a machine with more to do than it can, a failover takes its time.
constexpr auto tls_patience = 60s;
/// Nothing but a message wakes who waits: neither the end of the ttl nor the re-check comes in time.
lock_options const lasting{.ttl = 10min, .renew_every = 100ms};
client_options const told_by_message{.connect_timeout = tls_patience, .recheck = 30s};
constexpr auto before_recheck = 20s;

[[nodiscard]] bool renews_again(client& redis) {
  auto const before = redis.stats().renewals;
  return eventually(tls_patience, [&] { return redis.stats().renewals > before + 2; });
}

[[nodiscard]] failure failure_to_connect(std::string const& url) {
  return failure_of([&] { client{url, {.connect_timeout = tls_patience}}.connect(); });
}

/// The same URL with a server's own authority in place of that which vouches for it; none: with the system's.
std::string with_ca(std::string url, std::string const& ca) {
  url.erase(url.find("?ca="));
  return ca.empty() ? url : url + "?ca=" + ca;
}

/// A holder and somebody who waits for a message, each with a client of its own.
class handover {
 public:
  explicit handover(std::string const& url, std::string const& name)
      : redis_{url, {.connect_timeout = tls_patience}},
        other_{url, told_by_message},
        mine_{redis_, name, lasting},
        theirs_{other_, name} {}

  void hold() { lease_ = mine_.acquire(); }
  [[nodiscard]] bool is_waited_for() {
    next_.emplace(theirs_);
    return eventually([&] { return other_.stats().waits == 1; });
  }
  [[nodiscard]] lease const& held() const { return lease_; }
  /// Still held, renewed where it is now, and still waited for.
  [[nodiscard]] bool goes_on() { return renews_again(redis_) && lease_.valid() && !next_->done(); }
  /// Gives back; true if that wakes the other, whose token is greater where there are tokens.
  [[nodiscard]] bool passes_on() {
    auto const token = lease_.token();
    if (lease_.release() != release_result::released) return false;
    if (!eventually(before_recheck, [&] { return next_->done(); })) return false;
    auto const next = next_->take();
    return next.valid() && (next.token() > token || token == 0);
  }

 private:
  client redis_;
  client other_;
  mutex mine_;
  mutex theirs_;
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
  auto& old = servers_.master();
  old.kill9();
  ASSERT_TRUE(servers_.wait_for_another_master(old, tls_patience));
  EXPECT_TRUE(orders.goes_on());
  EXPECT_EQ(servers_.master().raw().get("orders"), orders.held().owner());
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
               {.connect_timeout = tls_patience}};
  mutex m{redis, "orders", lasting};
  auto const mine = m.acquire();
  ASSERT_TRUE(servers_.wait_until_replicated());
  servers_.sentinel(0).kill9();
  auto& old = servers_.master();
  old.kill9();
  ASSERT_TRUE(servers_.wait_for_another_master(old, tls_patience));
  EXPECT_TRUE(renews_again(redis));
  EXPECT_TRUE(mine.valid());
}

TEST_F(tls_sentinel, of_an_unknown_authority_is_named_with_what_to_do) {
  auto const stranger = redis_server::with({.on = server_options::listen::tls});
  for (auto const& ca : {std::string{}, stranger.ca_file()}) {
    auto const wrong = failure_to_connect(with_ca(servers_.url(), ca));
    EXPECT_EQ(wrong.code, errc::unreachable) << wrong;
    for (std::size_t i = 0; i != servers_.sentinel_count(); ++i)
      EXPECT_THAT(wrong.what, HasSubstr(servers_.sentinel(i).address()));
    EXPECT_THAT(wrong.what, AllOf(HasSubstr("certificate verify failed"), HasSubstr("ca=")));
  }
}

TEST_F(tls_sentinel, asked_without_tls_is_named_with_what_to_do) {
  auto const wrong = failure_to_connect("redis+sentinel://" + servers_.sentinel(0).address() + "/mymaster");
  EXPECT_EQ(wrong.code, errc::unreachable) << wrong;
  EXPECT_THAT(wrong.what, AllOf(HasSubstr(servers_.sentinel(0).address()), HasSubstr("rediss")));
}

/// Sentinels without TLS, the servers with data with it.
TEST(plain_sentinel, of_a_master_with_tls_is_spoken_to_as_the_url_says) {
  auto const master = redis_server::with({.on = server_options::listen::tls});
  auto const watching = redis_server::with(
      {.on = server_options::listen::tcp,
       .args = {"--sentinel", "--tls-replication", "yes", "--tls-ca-cert-file", master.ca_file(),
                "--tls-cert-file", master.cert_file(), "--tls-key-file", master.key_file()},
       .config = "sentinel monitor mymaster 127.0.0.1 " + std::to_string(master.port()) + " 1\n"});
  auto const url = master.url_of_several("sentinel", watching.address(), "/mymaster") + "&sentinel_tls=no";
  client redis{url};
  mutex m{redis, "orders"};
  EXPECT_TRUE(m.acquire().valid());

  auto const stranger = redis_server::with({.on = server_options::listen::tls});
  auto const wrong = failure_to_connect(with_ca(url, stranger.ca_file()) + "&sentinel_tls=no");
  EXPECT_EQ(wrong.code, errc::unreachable) << wrong;
  EXPECT_THAT(wrong.what, AllOf(HasSubstr(master.address()), HasSubstr("certificate verify failed")));
}

/// With a scope an address is none that OpenSSL reads: a server for which no name was checked was taken for
/// any.
TEST(plain_sentinel, that_announces_an_address_with_a_scope_gets_no_other_server_accepted_for_it) {
  auto const six = ::socket(AF_INET6, SOCK_STREAM, 0);
  if (six < 0) GTEST_SKIP() << "no IPv6 here";
  ::close(six);
  auto const master = redis_server::with({.on = server_options::listen::tls});
  scripted_sentinel watching{{.host = "::ffff:127.0.0.1%1", .port = master.port()}};
  auto const url = master.url_of_several("sentinel", watching.address(), "/mymaster") + "&sentinel_tls=no";
  auto const wrong = failure_to_connect(url);
  EXPECT_EQ(wrong.code, errc::unreachable) << wrong;
  EXPECT_THAT(wrong.what, AllOf(HasSubstr("IP address mismatch"), HasSubstr("::ffff:127.0.0.1%1")));
  watching.say({.port = master.port()});
  EXPECT_EQ(failure_to_connect(url).code, std::error_code{});
}

class tls_clustered : public clustered {
 protected:
  explicit tls_clustered(cluster_options how = {.masters = 3, .replicas_each = 0, .tls = true})
      : clustered{std::move(how)} {}

  /// Of all other nodes a client hears from this one.
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
    auto mine = m.acquire();
    auto& master = nodes_.master_of(name);
    EXPECT_EQ(master.raw().get(name), mine.owner());
    used.insert(&master);
    EXPECT_EQ(mine.release(), release_result::released);
  }
  EXPECT_EQ(used.size(), 3U);
}

TEST_F(tls_clustered, follows_a_slot_that_moves_while_its_lock_is_held_and_waited_for) {
  for (auto const* const wire : {"plain", "redisson"}) {
    SCOPED_TRACE(wire);
    handover orders{url() + "&wire=" + wire, name_};
    orders.hold();
    ASSERT_TRUE(orders.is_waited_for());
    auto& from = home();
    auto& to = elsewhere();
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
  auto const without = failure_to_connect(url());
  EXPECT_EQ(without.code, errc::unreachable) << without;
  EXPECT_THAT(without.what, HasSubstr("cert=FILE&key=FILE"));
  auto const& node = nodes_.node(0);
  client redis{url() + "&cert=" + node.cert_file() + "&key=" + node.key_file()};
  for (auto i = 0; i != 10; ++i) {
    mutex m{redis, "orders:" + std::to_string(i)};
    EXPECT_EQ(m.acquire().release(), release_result::released);
  }
}

TEST_F(tls_clustered, of_an_unknown_authority_is_named_with_what_to_do) {
  auto const stranger = redis_server::with({.on = server_options::listen::tls});
  for (auto const& ca : {std::string{}, stranger.ca_file()}) {
    auto const wrong = failure_to_connect(with_ca(nodes_.url(), ca));
    EXPECT_EQ(wrong.code, errc::unreachable) << wrong;
    for (std::size_t i = 0; i != nodes_.size(); ++i)
      EXPECT_THAT(wrong.what, HasSubstr(nodes_.node(i).address()));
    EXPECT_THAT(wrong.what, AllOf(HasSubstr("certificate verify failed"), HasSubstr("ca=")));
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
  auto& old = home();
  old.kill9();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, old, tls_patience));
  EXPECT_TRUE(orders.goes_on());
  EXPECT_EQ(home().raw().get(name_), orders.held().owner());
  EXPECT_TRUE(orders.passes_on());
}

class tls_quorum : public testing::Test {
 protected:
  independent_servers masters_{3, {.on = server_options::listen::tls}};
};

TEST_F(tls_quorum, tokens_grow_whichever_master_is_down) {
  std::int64_t last = 0;
  for (auto const& down : masters_) {
    down->freeze();
    client redis{masters_.url(), {.connect_timeout = 20s}};  // one that knows nothing of the tokens before
    quorum_mutex m{redis, "orders"};
    auto mine = m.acquire();
    EXPECT_GT(mine.token(), last);
    last = mine.token();
    EXPECT_EQ(mine.release(), release_result::released);
    down->thaw();
  }
}

TEST_F(tls_quorum, lock_is_renewed_and_handed_over_by_message) {
  client redis{masters_.url()};
  client other{masters_.url(), told_by_message};
  quorum_mutex m{redis, "orders", lasting};
  quorum_mutex theirs{other, "orders"};
  auto mine = m.acquire();
  waiter next{theirs};
  ASSERT_TRUE(eventually([&] { return other.stats().waits == 1; }));
  EXPECT_TRUE(renews_again(redis));
  EXPECT_FALSE(next.done());
  EXPECT_EQ(mine.release(), release_result::released);
  ASSERT_TRUE(eventually(before_recheck, [&] { return next.done(); }));
  EXPECT_TRUE(next.take().valid());
}

TEST_F(tls_quorum, masters_of_an_unknown_authority_are_named_with_what_to_do) {
  auto const wrong = failure_to_connect(with_ca(masters_.url(), {}));
  EXPECT_EQ(wrong.code, errc::unreachable) << wrong;
  EXPECT_THAT(wrong.what, AllOf(HasSubstr("certificate verify failed"), HasSubstr("ca=")));
}

}  // namespace
}  // namespace holdfast::test
