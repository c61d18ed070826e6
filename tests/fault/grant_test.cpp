#include <future>

#include "fault.hpp"

namespace {

using namespace holdfast;
using namespace std::chrono_literals;

TEST(renewal, turns_a_grant_into_a_full_lease_though_others_are_due_later) {
  test::in_one_round_of(5, [] {  // in which it isn't stopped for the two seconds of the grant
    test::redis_server server;
    auto raw = server.raw();
    client holder{server.url()};
    client winner{server.url()};
    mutex held{holder, "orders:42", {.starvation_limit = 0ms}};
    mutex wanted{winner, "orders:42"};
    mutex other{winner, "other"};
    auto first = held.acquire();
    auto granted = std::async(std::launch::async, [&] { return wanted.acquire(); });
    ASSERT_TRUE(test::eventually([&] {
      return raw.command({"ZCARD", "{orders:42}:holdfast_queue"}).integer == 1 &&
             !raw.client_ids("pubsub").empty();
    }));
    auto const long_lease = other.acquire();  // its renewal is due in 10 s
    (void)first.release();
    auto lease = granted.get();
    EXPECT_TRUE(test::eventually([&] { return lease.remaining() > 20s; })) << "never renewed";
    EXPECT_TRUE(lease.valid());
  });
}

TEST(inbox, of_a_lock_stays_open_from_one_wait_to_the_next) {
  test::in_one_round_of(5, [] {  // in which no wait comes two seconds after the one before
    test::redis_server server;
    auto raw = server.raw();
    client holder{server.url()};
    client other{server.url(), {.recheck = 30s}};
    mutex theirs{holder, "orders:42"};
    mutex wanted{other, "orders:42"};
    for (auto i = 0; i != 20; ++i) {
      auto held = theirs.acquire();
      auto const waits = other.stats().waits;
      auto waiting = std::async(std::launch::async, [&] { return wanted.acquire(); });
      ASSERT_TRUE(test::eventually([&] {
        return other.stats().waits > waits &&
               raw.command({"ZCARD", "{orders:42}:holdfast_queue"}).integer == 1;
      }));
      (void)held.release();
      (void)waiting.get().release();
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
  mutex wanted{redis, "orders:42"};
  // Somebody else holds it, after a grant to us that we didn't hear of and that is over by now.
  raw.command({"SET", "{orders:42}:holdfast_token", "1000"});
  raw.command({"SET", "orders:42", "somebody else", "PX", "60000"});
  std::stop_source enough;
  auto waiting = std::async(std::launch::async, [&] {
    try {
      return wanted.acquire(enough.get_token()).valid();
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
  auto const rechecks = redis.stats().rechecks;  // it has asked after the message, and waits on
  EXPECT_TRUE(test::eventually([&] { return redis.stats().rechecks > rechecks; }));
  enough.request_stop();
  EXPECT_FALSE(waiting.get());
  EXPECT_EQ(redis.stats().granted, 0u);
}

/// One who holds a lock, and one who waits for it and is granted it by message.
class handed_over : public test::fault {
 protected:
  [[nodiscard]] bool waits_and_listens(client const& who) {
    return test::eventually([&] {
      return raw_.command({"ZCARD", "{orders}:holdfast_queue"}).integer == 1 &&
             raw_.command({"PUBSUB", "NUMSUB", "holdfast_inbox:" + who.uuid()}).elements.at(1).integer == 1;
    });
  }

  /// Does something with a lease that a message has brought, while a request for it has yet to be answered;
  /// the key is there when it has been.
  void keep_beside_a_late_answer(lock_options const& options, std::function<void(lease)> const& keep) {
    auto const known = test::learn(server_);
    std::atomic<bool> held_up = false;
    test::flaky_proxy proxy{server_.socket_path()};
    client winner{proxy.url(), test::unhurried({.recheck = 200ms})};
    mutex wanted{winner, "orders", options};
    auto theirs = held_.acquire();
    test::waiter waiting{wanted};
    ASSERT_TRUE(waits_and_listens(winner));
    proxy.decide([&](test::request const& r) {
      if (held_up || test::kind_of(r) != known.acquire) return test::fate::pass();
      held_up = true;
      return test::fate::delay_reply(3s);
    });
    ASSERT_TRUE(test::eventually([&] { return held_up.load(); }));
    theirs.release();
    ASSERT_TRUE(test::eventually([&] { return waiting.done(); }));
    keep(waiting.take());
    EXPECT_EQ(winner.stats().granted, 1u);
    winner.connect();  // behind whatever the late answer has set off
    EXPECT_GT(raw_.pttl("orders"), 20'000);
    EXPECT_LE(raw_.pttl("orders"), options.ttl.count());
    raw_.del("orders");
  }

  client holder_{server_.url(), test::unhurried()};
  mutex held_{holder_, "orders", {.starvation_limit = 0ms}};
};

// In one round the message comes soon enough to be believed.

TEST_F(handed_over, and_kept_it_is_not_given_back_for_the_answer_to_an_earlier_request) {
  test::in_one_round_of(5, [&] {
    keep_beside_a_late_answer({.ttl = 60s}, [this](lease mine) {
      EXPECT_EQ(mine.keep_for(50s), release_result::kept);
      EXPECT_LE(raw_.pttl("orders"), 50'000);
    });
  });
}

TEST_F(handed_over, and_lost_at_its_limit_it_is_kept_all_the_same) {
  test::in_one_round_of(5, [&] {
    keep_beside_a_late_answer({.ttl = 60s, .max_hold = 500ms, .keep = true}, [](lease mine) {
      EXPECT_TRUE(test::eventually([&] { return mine.lost_because() == loss_cause::limit_reached; }));
      EXPECT_EQ(mine.release(), release_result::lost);
    });
  });
}

TEST_F(handed_over, and_kept_at_once_it_has_its_ttl_and_not_that_of_the_grant) {
  for (auto const end : {"keep_until_expiry", "keep", "the client's end"}) {
    auto winner = std::make_unique<client>(server_.url(), test::unhurried());
    mutex wanted{*winner, "orders", {.ttl = 60s, .keep = true}};
    auto theirs = held_.acquire();
    test::waiter waiting{wanted};
    ASSERT_TRUE(waits_and_listens(*winner));
    theirs.release();
    ASSERT_TRUE(test::eventually([&] { return waiting.done(); }));
    auto mine = waiting.take();
    if (end == std::string_view{"keep"}) {
      EXPECT_EQ(mine.release(), release_result::kept);
    } else if (end == std::string_view{"keep_until_expiry"}) {
      EXPECT_EQ(mine.keep_until_expiry(), release_result::kept);
    } else {
      winner.reset();
    }
    EXPECT_GT(raw_.pttl("orders"), 30'000) << end;
    raw_.command({"FLUSHALL"});
  }
}

}  // namespace
