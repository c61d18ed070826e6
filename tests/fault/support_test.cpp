/// The tools of the fault tests do to a server or network what their names say.
#include "support/deployment_under_test.hpp"
#include "support/eventually.hpp"
#include "support/flaky_proxy.hpp"
#include "support/independent_servers.hpp"
#include "support/judge.hpp"
#include "support/raw_redis.hpp"
#include "support/redis_server.hpp"
#include "support/rounds.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace holdfast::test {
namespace {

std::string path_in(std::string const& url) { return url.substr(std::string{"redis+unix://"}.size()); }

TEST(redis_server, starts_empty_after_a_stop) {
  redis_server server;
  server.raw().command({"SET", "k", "v"});
  server.stop();
  server.start();
  EXPECT_FALSE(server.raw().exists("k"));
}

TEST(redis_server, keeps_its_data_through_a_sigkill_when_persistent) {
  auto server = redis_server::with({.persistent = true});
  server.raw().command({"SET", "k", "v"});
  server.kill9();
  server.start();
  EXPECT_EQ(server.raw().get("k"), "v");
}

TEST(redis_server, listens_on_tcp_and_tls) {
  auto const tcp = redis_server::with({.transport = server_transport::tcp});
  auto const tls = redis_server::with({.transport = server_transport::tls});
  EXPECT_EQ(tcp.raw().command({"CONFIG", "GET", "port"}).elements.at(1).text, std::to_string(tcp.port()));
  EXPECT_EQ(tls.raw().command({"CONFIG", "GET", "tls-port"}).elements.at(1).text, std::to_string(tls.port()));
}

TEST(raw_redis, counts_commands_and_lists_connections) {
  redis_server const server;
  auto redis = server.raw();
  auto other = server.raw();
  other.command({"SET", "a", "1"});
  other.command({"SET", "b", "1"});
  EXPECT_EQ(redis.calls_of("set"), 2u);
  EXPECT_TRUE(redis.client_ids("normal").empty()) << "those without a name are the tests' own";
  other.command({"CLIENT", "SETNAME", "x"});
  EXPECT_EQ(redis.client_ids("normal").size(), 1u);
  EXPECT_EQ(redis.keys().size(), 2u);
}

TEST(raw_servers, of_a_quorum_say_the_median_of_their_numbers) {
  independent_servers masters;
  std::vector<redis_server*> all;
  for (auto const& master : masters) all.push_back(master.get());
  for (std::size_t i = 0; i != 3; ++i) masters[i].raw().command({"SET", "k", std::string(10 + i, 'x')});
  raw_servers raw{topology::quorum, all, masters[0].socket_path()};
  EXPECT_EQ(raw.command({"STRLEN", "k"}).integer, 10) << "two masters don't have it, which is no majority";
  masters[3].raw().command({"SET", "k", "another"});
  EXPECT_TRUE(raw.exists("k"));
}

TEST(flaky_proxy, passes_and_records) {
  redis_server const server;
  flaky_proxy const proxy{server.socket_path()};
  raw_redis redis{path_in(proxy.url())};
  EXPECT_EQ(redis.command({"set", "k", "v"}).text, "OK");
  EXPECT_EQ(redis.get("k"), "v");
  EXPECT_EQ(proxy.count("SET"), 1u);
  EXPECT_TRUE(proxy.requests().at(0).has("v"));
}

TEST(flaky_proxy, cuts_before_or_after_the_server_has_run_the_request) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  raw_redis redis{path_in(proxy.url())};
  auto const is_set = [](request const& r) { return r.name == "SET"; };
  proxy.once(is_set, fate::cut_before());
  EXPECT_ANY_THROW(redis.command({"SET", "before", "1"}));
  EXPECT_FALSE(server.raw().exists("before"));
  proxy.once(is_set, fate::cut_after());
  EXPECT_ANY_THROW(redis.command({"SET", "after", "1"}));
  EXPECT_TRUE(server.raw().exists("after"));
}

TEST(flaky_proxy, delivers_late_what_a_connection_carried_that_has_ended) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  raw_redis redis{path_in(proxy.url())};
  auto direct = server.raw();
  for (auto const& effect : {fate::hold_back(), fate::hold_back(100ms)}) {
    direct.del("k");
    proxy.once([](request const& r) { return r.name == "SET"; }, effect);
    EXPECT_THROW(redis.command({"SET", "k", "v"}), std::runtime_error);
    if (effect.delay > 1s) {
      EXPECT_EQ(proxy.held_back(), 1);
      EXPECT_FALSE(direct.exists("k"));
      proxy.deliver();
    }
    EXPECT_TRUE(eventually([&] { return proxy.held_back() == 0 && direct.get("k") == "v"; }));
  }
}

TEST(flaky_proxy, keeps_what_comes_behind_a_request_with_it) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  raw_redis redis{path_in(proxy.url())};
  auto direct = server.raw();
  redis.command({"PING"});
  proxy.once([](request const& r) { return r.name == "SET"; }, fate::keep());
  std::jthread const caller{
      [&] { EXPECT_THROW(redis.pipeline({{"SET", "k", "v"}, {"SET", "l", "w"}}), std::runtime_error); }};
  EXPECT_TRUE(eventually([&] { return proxy.count("SET") == 2; }));
  EXPECT_FALSE(direct.exists("k"));
  proxy.hold_back_all();
  EXPECT_TRUE(eventually([&] { return proxy.connections() == 0; }));
  proxy.deliver();
  EXPECT_TRUE(eventually([&] { return proxy.held_back() == 0 && direct.get("l") == "w"; }));
}

TEST(flaky_proxy, answers_in_the_place_of_the_server_and_in_order) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  raw_redis redis{path_in(proxy.url())};
  proxy.once([](request const& r) { return r.name == "SET"; }, fate::error("LOADING wait"));
  EXPECT_EQ(redis.command({"SET", "k", "v"}).text, "LOADING wait");
  EXPECT_EQ(redis.command({"SET", "k", "v"}).text, "OK");
  proxy.refuse_pubsub();
  EXPECT_TRUE(redis.command({"SUBSCRIBE", "c"}).is_error());
}

TEST(flaky_proxy, delays_replies_and_freezes) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  raw_redis redis{path_in(proxy.url())};
  proxy.once([](request const&) { return true; }, fate::delay_reply(100ms));
  auto const start = boot_now();
  redis.command({"PING"});
  EXPECT_GE(boot_now() - start, 100'000'000);
  proxy.freeze_replies();
  auto thawer = std::thread{[&] {
    EXPECT_TRUE(eventually([&] { return server.raw().exists("k"); }));
    proxy.thaw();
  }};
  EXPECT_EQ(redis.command({"SET", "k", "v"}).text, "OK");
  thawer.join();
}

TEST(flaky_proxy, cuts_one_way_only) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  raw_redis subscriber{path_in(proxy.url())};
  raw_redis other{path_in(proxy.url())};
  subscriber.command({"SUBSCRIBE", "c"});
  other.command({"PING"});
  proxy.freeze_requests();
  server.raw().command({"PUBLISH", "c", "heard"});
  EXPECT_TRUE(eventually([&] { return proxy.messages() == 1; }));
  auto set = std::thread{[&] { EXPECT_EQ(other.command({"SET", "k", "v"}).text, "OK"); }};
  EXPECT_TRUE(always(100ms, [&] { return !server.raw().exists("k"); }));
  proxy.thaw();
  set.join();
  EXPECT_TRUE(server.raw().exists("k"));
  EXPECT_EQ(subscriber.command({"PING"}).elements.at(2).text, "heard");
}

TEST(flaky_proxy, listens_on_a_port_too) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  client redis{"redis://" + proxy.address()};
  mutex lock{redis, "orders"};
  auto const lease = lock.acquire();
  EXPECT_TRUE(server.raw().exists("orders"));
  EXPECT_GE(proxy.count("EVALSHA") + proxy.count("EVAL"), 1u);
}

TEST(flaky_proxy, swallows_messages_only) {
  redis_server const server;
  flaky_proxy proxy{server.socket_path()};
  raw_redis subscriber{path_in(proxy.url())};
  subscriber.command({"SUBSCRIBE", "c"});
  proxy.swallow_messages(true);
  EXPECT_EQ(server.raw().command({"PUBLISH", "c", "lost"}).integer, 1);
  EXPECT_TRUE(eventually([&] { return proxy.messages() == 1; }));
  proxy.swallow_messages(false);
  server.raw().command({"PUBLISH", "c", "found"});
  EXPECT_EQ(subscriber.command({"PING"}).elements.at(2).text, "found");
}

TEST(rounds, pass_with_one_that_is_fine_and_fail_with_none) {
  auto rounds = 0;
  passes_in_one_round_of(5, [&] { EXPECT_EQ(++rounds, 3); });
  EXPECT_EQ(rounds, 3);
  auto const never_fine = [&] { passes_in_one_round_of(5, [&] { ASSERT_EQ(++rounds, 0); }); };
  round_results const results{never_fine};
  EXPECT_FALSE(results.fine());
  EXPECT_EQ(rounds, 8);
}

TEST(rounds, are_repeated_only_if_they_take_too_long) {
  auto rounds = 0;
  auto const quick = [&] { retry_if_slower_than(1h, [&] { EXPECT_EQ(++rounds, 2); }); };
  round_results const results{quick};
  EXPECT_FALSE(results.fine());
  EXPECT_EQ(rounds, 1);
  retry_if_slower_than(0s, [&] { EXPECT_EQ(++rounds, 3); });
  EXPECT_EQ(rounds, 3);
}

TEST(closed_port, refuses_connections) {
  closed_port const port;
  client redis{"redis://127.0.0.1:" + std::to_string(port.number()), {.connect_timeout = 100ms}};
  EXPECT_THROW(redis.connect(), error);
}

TEST(judge, finds_overlap_and_token_disorder_only_where_they_are) {
  EXPECT_EQ(judge({{10, 20, 1, 1}, {20, 30, 2, 2}, {31, 31, 3, 1}}), "");
  EXPECT_NE(judge({{10, 20, 1, 1}, {19, 30, 2, 2}}), "");
  EXPECT_NE(judge({{10, 20, 2, 1}, {21, 30, 1, 2}}), "");
}

}  // namespace
}  // namespace holdfast::test
