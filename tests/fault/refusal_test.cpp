/// The server refuses, is not ready, is absent, or is no Redis.
#include "fake_server.hpp"
#include "fault.hpp"
#include "support/deployment_under_test.hpp"

#include <holdfast/fair_mutex.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/semaphore.hpp>

#include <algorithm>
#include <future>
#include <thread>

namespace holdfast::test {
namespace {

class refusal : public fault {
 protected:
  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), with_long_timeouts({.cas = cas::lua})};
  mutex lock_{redis_, "orders", {.ttl = 60s, .renew_every = 100ms}};
};

std::vector<std::string> const refusals{
    "OOM command not allowed when used memory > 'maxmemory'.",
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
    "READONLY You can't write against a read only replica.",
    "CLUSTERDOWN The cluster is down",
};

TEST_F(refusal, is_reported_in_the_server_s_words) {
  for (auto const& words : refusals) {
    lock_.acquire().release();
    proxy_.decide(
        [words](request const& r) { return kind_of(r).size() == 40 ? fate::error(words) : fate::pass(); });
    auto const f = failure_of([&] { (void)lock_.try_acquire_for(20s); });
    EXPECT_EQ(f.code, errc::refused) << f;
    EXPECT_TRUE(f.mentions(words.substr(0, 20))) << f;
    EXPECT_TRUE(f.mentions("orders")) << f;
    proxy_.decide({});
    EXPECT_TRUE(nothing_left_behind());
  }
}

TEST_F(refusal, of_a_renewal_does_not_end_the_lease) {
  auto const operations = learn(server_);
  for (auto const& words : refusals) {
    SCOPED_TRACE(words);
    auto lease = lock_.acquire();
    std::atomic<int> refused = 0;
    auto const decision = proxy_.decide_by([&](request const& r) {
      if (kind_of(r) != operations.renew) return fate::pass();
      ++refused;
      return fate::error(words);
    });
    ASSERT_TRUE(eventually([&] { return refused >= 2; })) << "it goes on trying";
    EXPECT_TRUE(lease.valid());
    proxy_.decide({});
    auto const renewals = redis_.stats().renewals;
    EXPECT_TRUE(eventually([&] { return redis_.stats().renewals > renewals; }));
    EXPECT_EQ(lease.release(), release_result::released);
  }
}

TEST_F(refusal, by_a_real_replica_and_a_real_full_server_is_reported) {
  raw_.command({"REPLICAOF", "127.0.0.1", "1"});
  auto const replica = failure_of([&] { (void)lock_.try_acquire_for(20s); });
  EXPECT_EQ(replica.code, errc::refused) << replica;
  EXPECT_TRUE(replica.mentions("READONLY")) << replica;
  raw_.command({"REPLICAOF", "NO", "ONE"});
  raw_.command({"CONFIG", "SET", "maxmemory", "1"});
  auto const full = failure_of([&] { (void)lock_.try_acquire_for(20s); });
  EXPECT_EQ(full.code, errc::refused) << full;
  EXPECT_TRUE(full.mentions("OOM")) << full;
  raw_.command({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(lock_.acquire().release(), release_result::released);
}

/// Behind its name there may be another server by now.
TEST_F(refusal, by_a_replica_ends_the_connection) {
  client redis{server_.url(), with_long_timeouts()};
  mutex m{redis, "orders", {.ttl = 60s}};
  m.acquire().release();
  auto held = m.acquire();
  auto const before = redis.stats().disconnects;
  raw_.command({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_EQ(code_of([&] { held.renew(); }), errc::refused);
  ASSERT_TRUE(eventually([&] {
    (void)failure_of([&] { held.renew(); });
    return redis.stats().disconnects > before;
  }));
  raw_.command({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(eventually([&] { return !failure_of([&] { held.renew(); }).code; }));
  EXPECT_EQ(held.release(), release_result::released);
}

/// Each request gets its own refusal, and none is sent again, perhaps to another server: so none is in doubt.
TEST_F(refusal, by_a_replica_is_the_answer_to_all_that_is_under_way) {
  client redis{server_.url(), with_long_timeouts()};
  mutex first{redis, "first"};
  first.acquire().release();
  auto const before = redis.stats();
  raw_.command({"REPLICAOF", "127.0.0.1", "1"});
  raw_.command({"CLIENT", "PAUSE", "300", "WRITE"});
  std::vector<std::unique_ptr<mutex>> locks;
  std::vector<pending> all(20);
  for (auto& each : all) {
    locks.push_back(std::make_unique<mutex>(redis, "lock:" + std::to_string(locks.size())));
    locks.back()->async_try_acquire(each.handler());
  }
  for (auto& each : all) {
    ASSERT_TRUE(eventually([&] { return each.done(); }));
    EXPECT_EQ(code_of([&] { (void)each.take(); }), errc::refused);
  }
  EXPECT_EQ(redis.stats().resent, before.resent);
  auto const begun = std::chrono::steady_clock::now();
  for (auto i = 0; i != 50; ++i) EXPECT_EQ(code_of([&] { (void)first.try_acquire(); }), errc::refused);
  auto const passed = std::chrono::steady_clock::now() - begun;
  EXPECT_LE(redis.stats().connects - before.connects, 2U * static_cast<unsigned>(2 + passed / 5s))
      << "it isn't left with each refusal";
  raw_.command({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(eventually([&] { return !failure_of([&] { first.acquire().release(); }).code; }));
  EXPECT_TRUE(nothing_left_behind());
}

/// A replica repeats the messages of its master, which counts its own listeners alone.
TEST_F(refusal, by_a_replica_is_the_end_of_the_trust_in_grants_by_message) {
  client redis{server_.url(), with_long_timeouts()};
  fair_mutex m{redis, "orders"};
  auto const gets_it_behind_another = [&] {
    client other{server_.url(), with_long_timeouts()};
    fair_mutex held{other, "orders"};
    auto lease = held.acquire();
    auto const waits = redis.stats().waits;
    pending next;
    m.async_acquire(next.handler());
    ASSERT_TRUE(eventually([&] {
      return redis.stats().waits > waits && raw_.command({"ZCARD", "{orders}:holdfast_queue"}).integer == 1 &&
             raw_.command({"PUBSUB", "NUMSUB", "holdfast_inbox:" + redis.uuid()}).elements.at(1).integer == 1;
    }));
    lease.release();
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    EXPECT_TRUE(next.take()->valid());
  };
  for (auto i = 0; i != 5; ++i) ASSERT_NO_FATAL_FAILURE(gets_it_behind_another());
  auto const trusted = redis.stats().granted;
  EXPECT_EQ(trusted != 0, trusts_grant_messages());
  raw_.command({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_EQ(code_of([&] { (void)m.try_acquire(); }), errc::refused);
  raw_.command({"REPLICAOF", "NO", "ONE"});
  for (auto i = 0; i != 5; ++i) ASSERT_NO_FATAL_FAILURE(gets_it_behind_another());
  EXPECT_EQ(redis.stats().granted, trusted);
}

TEST_F(refusal, because_the_server_is_loading_is_waited_out) {
  lock_.acquire().release();
  for (auto const* words :
       {"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script."}) {
    std::atomic<int> refusals_left = 4;
    auto const decision = proxy_.decide_by(
        [&](request const&) { return refusals_left-- > 0 ? fate::error(words) : fate::pass(); });
    auto lease = lock_.try_acquire_for(20s);
    ASSERT_TRUE(lease) << words;
    refusals_left = 2;
    EXPECT_EQ(lease->release(), release_result::released);
    EXPECT_TRUE(nothing_left_behind());
  }
}

TEST_F(refusal, because_the_server_is_loading_is_waited_out_by_a_new_client_too) {
  std::atomic<int> refusals_left = 4;
  auto const decision = proxy_.decide_by([&](request const&) {
    return refusals_left-- > 0 ? fate::error("LOADING Redis is loading the dataset in memory") : fate::pass();
  });
  std::optional<lease> acquired;
  auto const f = failure_of([&] { acquired = lock_.try_acquire_for(20s); });
  EXPECT_TRUE(acquired) << f;
}

TEST_F(refusal, because_the_server_is_loading_does_not_make_a_release_ask_without_a_pause) {
  auto lease = lock_.acquire();
  std::atomic<bool> loading = true;
  auto const decision =
      proxy_.decide_by([&](request const&) { return loading ? fate::error("LOADING wait") : fate::pass(); });
  proxy_.forget();
  std::atomic<int> outcome = -1;
  lease.async_release([&](release_result r) { outcome = static_cast<int>(r); });
  auto const begin = boot_now();
  EXPECT_TRUE(always(500ms, [&] { return outcome < 0; }));
  auto const request_count = proxy_.requests().size();
  EXPECT_LE(request_count, 100u * static_cast<std::size_t>((boot_now() - begin) / 500'000'000 + 1));
  loading = false;
  EXPECT_TRUE(eventually([&] { return outcome >= 0; }));
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(refusal, of_a_release_leaves_nobody_without_an_outcome_when_the_client_ends) {
  auto redis = std::make_optional<client>(proxy_.url(), with_long_timeouts());
  mutex m{*redis, "m"};
  auto lease = m.acquire();
  proxy_.forget();
  proxy_.decide([](request const&) { return fate::error("LOADING wait"); });
  std::atomic<int> outcome = -1;
  lease.async_release([&](release_result r) { outcome = static_cast<int>(r); });
  EXPECT_TRUE(eventually([&] { return proxy_.requests().size() > 2; }));
  redis.reset();
  EXPECT_EQ(outcome, static_cast<int>(release_result::unknown));
}

TEST_F(refusal, because_the_server_is_loading_is_waited_for_no_longer_than_the_caller_would) {
  lock_.acquire().release();
  proxy_.decide([](request const&) { return fate::error("LOADING Redis is loading the dataset in memory"); });
  auto const start = boot_now();
  auto const f = failure_of([&] { EXPECT_FALSE(lock_.try_acquire_for(400ms)); });
  EXPECT_TRUE(!f.code || f.code == errc::unreachable || f.code == errc::refused) << f;
  EXPECT_LT(boot_now() - start, 15'000'000'000) << "it waits for the connect time-out, or longer";
  EXPECT_GE(boot_now() - start, 300'000'000);
}

TEST_F(refusal, by_a_server_that_is_busy_with_a_script_is_waited_out) {
  raw_.command({"CONFIG", "SET", "busy-reply-threshold", "10"});
  lock_.acquire().release();
  auto const script = std::jthread{[this] { server_.raw().command({"EVAL", "while true do end", "0"}); }};
  ASSERT_TRUE(eventually([&] { return raw_.command({"GET", "x"}).text.rfind("BUSY", 0) == 0; }));
  waiter next{lock_};
  EXPECT_TRUE(always(300ms, [&] { return !next.done(); }));
  raw_.command({"SCRIPT", "KILL"});
  EXPECT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_TRUE(next.take().valid());
}

TEST_F(refusal, by_a_server_that_stays_busy_is_told_to_who_counts) {
  raw_.command({"CONFIG", "SET", "busy-reply-threshold", "10"});
  client impatient{server_.url(), {.connect_timeout = 300ms, .reply_timeout = 300ms}};
  semaphore permits{impatient, "permits", 3};
  latch gate{impatient, "gate"};
  auto const script = std::jthread{[this] { server_.raw().command({"EVAL", "while true do end", "0"}); }};
  ASSERT_TRUE(eventually([&] { return raw_.command({"GET", "x"}).text.rfind("BUSY", 0) == 0; }));
  auto released = std::async(std::launch::async, [&] { return failure_of([&] { permits.release(); }); });
  auto counted = std::async(std::launch::async, [&] { return failure_of([&] { gate.count_down(); }); });
  for (auto* const call : {&released, &counted}) {
    EXPECT_TRUE(eventually([&] { return call->wait_for(0s) == std::future_status::ready; }));
  }
  raw_.command({"SCRIPT", "KILL"});
  for (auto* const call : {&released, &counted}) {
    auto const f = call->get();
    EXPECT_TRUE(f.code == errc::unreachable || f.code == errc::refused) << f;
  }
}

TEST(not_redis, is_a_protocol_error_with_bounded_memory) {
  using after_answer = fake_server::after_answer;
  struct answer {
    std::string first;
    std::string repeated;
    after_answer next;
  };
  auto const megabyte = std::string(1 << 20, 'x');
  for (auto const& [first, repeated, next] : std::vector<answer>{
           {"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", {}, after_answer::close},
           {"\x16\x03\x01garbage\r\n", {}, after_answer::stay_silent},
           {"$1000000000\r\n", megabyte, after_answer::repeat_for_ever},
           {"+", megabyte, after_answer::repeat_for_ever},
           {"*1000000000\r\n", ":1\r\n:2\r\n:3\r\n:4\r\n", after_answer::repeat_for_ever},
           {"*1\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n", after_answer::repeat_for_ever},
           {"$-7\r\n", {}, after_answer::stay_silent},
       }) {
    fake_server const server{first, repeated, next};
    client redis{server.url(), with_long_timeouts()};
    auto const f = failure_of([&] { redis.connect(); });
    EXPECT_EQ(f.code, errc::protocol) << f << " for " << first.substr(0, 20);
    EXPECT_LT(server.sent(), 64u << 20);
  }
}

TEST(not_there, is_unreachable_within_the_connect_time_out) {
  fake_server const silent{""};
  for (auto const& url : {std::string{"redis://127.0.0.1:1"}, std::string{"redis://no-such-host.invalid"},
                          std::string{"redis+unix:///nonexistent/redis.sock"}, silent.url()}) {
    client redis{url, {.connect_timeout = 500ms}};
    mutex m{redis, "orders"};
    for (auto const& f : {failure_of([&] { redis.connect(); }), failure_of([&] { (void)m.acquire(); })}) {
      EXPECT_EQ(f.code, errc::unreachable) << f;
      EXPECT_TRUE(f.mentions(url.substr(url.find("//") + 2))) << f << " should name " << url;
    }
  }
}

TEST(not_there, takes_no_longer_than_the_connect_time_out) {
  fake_server const silent{""};
  passes_in_one_round_of(5, [&] {
    client redis{silent.url(), {.connect_timeout = 400ms}};
    auto const start = boot_now();
    EXPECT_EQ(failure_of([&] { redis.connect(); }).code, errc::unreachable);
    EXPECT_LT(boot_now() - start, 2'400'000'000);
  });
}

}  // namespace
}  // namespace holdfast::test
