#include <future>

#include "fault.hpp"

namespace {

using namespace holdfast;
using namespace std::chrono_literals;

TEST(renewal, turns_a_grant_into_a_full_lease_though_others_are_due_later) {
  test::passes_in_one_round_of(
      5, [] {  // a round in which the process isn't stopped for the grant's two seconds
        test::redis_server server;
        auto raw = server.raw();
        client holder{server.url()};
        client waiting_client{server.url()};
        mutex holder_mutex{holder, "orders:42", {.starvation_limit = 0ms}};
        mutex waiting_mutex{waiting_client, "orders:42"};
        mutex other{waiting_client, "other"};
        auto first_lease = holder_mutex.acquire();
        auto pending = std::async(std::launch::async, [&] { return waiting_mutex.acquire(); });
        ASSERT_TRUE(test::eventually([&] {
          return raw.command({"ZCARD", "{orders:42}:holdfast_queue"}).integer == 1 &&
                 !raw.client_ids("pubsub").empty();
        }));
        auto const long_lease = other.acquire();  // its renewal is due in 10 s
        (void)first_lease.release();
        auto lease = pending.get();
        EXPECT_TRUE(test::eventually([&] { return lease.remaining() > 20s; })) << "never renewed";
        EXPECT_TRUE(lease.valid());
      });
}

TEST(inbox, of_a_lock_stays_open_from_one_wait_to_the_next) {
  test::passes_in_one_round_of(5, [] {  // a round in which no wait begins two seconds after the last
    test::redis_server server;
    auto raw = server.raw();
    client holder{server.url()};
    client waiting_client{server.url(), {.recheck = 30s}};
    mutex holder_mutex{holder, "orders:42"};
    mutex waiting_mutex{waiting_client, "orders:42"};
    for (auto i = 0; i != 20; ++i) {
      auto lease = holder_mutex.acquire();
      auto const waits = waiting_client.stats().waits;
      auto pending = std::async(std::launch::async, [&] { return waiting_mutex.acquire(); });
      ASSERT_TRUE(test::eventually([&] {
        return waiting_client.stats().waits > waits &&
               raw.command({"ZCARD", "{orders:42}:holdfast_queue"}).integer == 1;
      }));
      (void)lease.release();
      (void)pending.get().release();
    }
    EXPECT_EQ(raw.command({"PUBSUB", "CHANNELS", "{orders:42}:*"}).elements.size(), 1u);
    EXPECT_LE(raw.calls_of("subscribe"), 3u) << "that of the lock, and each client's for hints";
    EXPECT_EQ(raw.calls_of("unsubscribe"), 0u);
  });
}

TEST(grant, that_is_over_already_when_its_message_comes_is_not_believed) {
  test::redis_server server;
  auto raw = server.raw();
  client redis{server.url()};
  mutex waiting_mutex{redis, "orders:42"};
  // Another owner holds it, after a grant to this client that was never delivered and is over by now.
  raw.command({"SET", "{orders:42}:holdfast_token", "1000"});
  raw.command({"SET", "orders:42", "somebody else", "PX", "60000"});
  std::stop_source stop;
  auto pending = std::async(std::launch::async, [&] {
    try {
      return waiting_mutex.acquire(stop.get_token()).valid();
    } catch (error const&) {
      return false;
    }
  });
  std::string owner;
  ASSERT_TRUE(test::eventually([&] {
    auto const queue = raw.command({"ZRANGE", "{orders:42}:holdfast_queue", "0", "-1"});
    if (queue.elements.empty() || raw.client_ids("pubsub").empty()) return false;
    owner = queue.elements.front().text;
    return true;
  }));
  auto const number = owner.substr(owner.find(':') + 1);
  EXPECT_TRUE(test::eventually([&] {
    auto const inbox = "{orders:42}:holdfast_inbox:" + redis.uuid();
    return raw.command({"PUBLISH", inbox, "granted " + number + " 936 65 orders:42"}).integer == 1;
  }));
  EXPECT_TRUE(test::eventually([&] { return redis.stats().messages == 1; }));
  auto const rechecks = redis.stats().rechecks;  // it has re-checked after the message, and waits on
  EXPECT_TRUE(test::eventually([&] { return redis.stats().rechecks > rechecks; }));
  stop.request_stop();
  EXPECT_FALSE(pending.get());
  EXPECT_EQ(redis.stats().granted, 0u);
}

/// A holder of a lock, and a waiter that gets the lock by message.
class handed_over : public test::fault {
 protected:
  [[nodiscard]] bool waits_and_listens(client const& redis) {
    return test::eventually([&] {
      return raw_.command({"ZCARD", "{orders}:holdfast_queue"}).integer == 1 &&
             raw_.command({"PUBSUB", "NUMSUB", "holdfast_inbox:" + redis.uuid()}).elements.at(1).integer == 1;
    });
  }

  /// Runs `keep` on a lease that a message has brought, while an acquire request for it is still unanswered.
  /// The key still exists after the answer.
  void keep_beside_a_late_answer(lock_options const& options, std::function<void(lease)> const& keep) {
    auto const known = test::learn(server_);
    std::atomic<bool> held_up = false;
    test::flaky_proxy proxy{server_.socket_path()};
    client waiting_client{proxy.url(), test::with_long_timeouts({.recheck = 200ms})};
    mutex waiting_mutex{waiting_client, "orders", options};
    auto holder_lease = holder_mutex_.acquire();
    test::waiter next{waiting_mutex};
    ASSERT_TRUE(waits_and_listens(waiting_client));
    proxy.decide([&](test::request const& r) {
      if (held_up || test::kind_of(r) != known.acquire) return test::fate::pass();
      held_up = true;
      return test::fate::delay_reply(3s);
    });
    ASSERT_TRUE(test::eventually([&] { return held_up.load(); }));
    holder_lease.release();
    ASSERT_TRUE(test::eventually([&] { return next.done(); }));
    keep(next.take());
    EXPECT_EQ(waiting_client.stats().granted, 1u);
    waiting_client.connect();  // behind the requests that the late answer has caused
    EXPECT_GT(raw_.pttl("orders"), 20'000);
    EXPECT_LE(raw_.pttl("orders"), options.ttl.count());
    raw_.del("orders");
  }

  client holder_{server_.url(), test::with_long_timeouts()};
  mutex holder_mutex_{holder_, "orders", {.starvation_limit = 0ms}};
};

// In at least one round the message comes soon enough to be believed.

TEST_F(handed_over, and_kept_it_is_not_given_back_for_the_answer_to_an_earlier_request) {
  test::passes_in_one_round_of(5, [&] {
    keep_beside_a_late_answer({.ttl = 60s}, [this](lease kept) {
      EXPECT_EQ(kept.keep_for(50s), release_result::kept);
      EXPECT_LE(raw_.pttl("orders"), 50'000);
    });
  });
}

TEST_F(handed_over, and_lost_at_its_limit_it_is_kept_all_the_same) {
  test::passes_in_one_round_of(5, [&] {
    keep_beside_a_late_answer({.ttl = 60s, .max_hold = 500ms, .keep = true}, [](lease lost) {
      EXPECT_TRUE(test::eventually([&] { return lost.lost_because() == loss_cause::limit_reached; }));
      EXPECT_EQ(lost.release(), release_result::lost);
    });
  });
}

TEST_F(handed_over, and_kept_at_once_it_has_its_ttl_and_not_that_of_the_grant) {
  for (auto const end : {"keep_until_expiry", "keep", "the client's end"}) {
    auto waiting_client = std::make_unique<client>(server_.url(), test::with_long_timeouts());
    mutex waiting_mutex{*waiting_client, "orders", {.ttl = 60s, .keep = true}};
    auto holder_lease = holder_mutex_.acquire();
    test::waiter next{waiting_mutex};
    ASSERT_TRUE(waits_and_listens(*waiting_client));
    holder_lease.release();
    ASSERT_TRUE(test::eventually([&] { return next.done(); }));
    auto lease = next.take();
    if (end == std::string_view{"keep"}) {
      EXPECT_EQ(lease.release(), release_result::kept);
    } else if (end == std::string_view{"keep_until_expiry"}) {
      EXPECT_EQ(lease.keep_until_expiry(), release_result::kept);
    } else {
      waiting_client.reset();
    }
    EXPECT_GT(raw_.pttl("orders"), 30'000) << end;
    raw_.command({"FLUSHALL"});
  }
}

}  // namespace
