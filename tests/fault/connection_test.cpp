/// Connections, scripts, requests and replies are lost at every step. The ambiguity is resolved, and no key
/// stays behind.
#include "fault.hpp"
#include "support/process.hpp"

#include <filesystem>
#include <functional>
#include <thread>

namespace holdfast::test {
namespace {

enum class step { before, acquired, waited_for, releasing, passed, released };
constexpr step every_step[] = {step::before,    step::acquired, step::waited_for,
                               step::releasing, step::passed,   step::released};

class connection_fault : public fault {
 protected:
  /// Two clients pass a lock on while `disturb` runs at one step: each acquisition and release succeeds.
  void at_every_step(std::function<void(raw_redis&)> const& disturb) {
    for (auto const disturbed_step : every_step) {
      SCOPED_TRACE("step " + std::to_string(static_cast<int>(disturbed_step)));
      client first_client{server_.url(), with_long_timeouts()};
      client second_client{server_.url(), with_long_timeouts()};
      mutex first{first_client, "orders"};
      mutex second{second_client, "orders"};
      auto const reached = [&](step s) {
        if (s == disturbed_step) disturb(raw_);
      };
      first.acquire().release();
      reached(step::before);
      auto first_lease = first.acquire();
      reached(step::acquired);
      waiter next{second};
      ASSERT_TRUE(eventually([&] { return second_client.stats().waits >= 1; }));
      reached(step::waited_for);
      {
        auto thread = std::jthread{};
        if (disturbed_step == step::releasing) {
          thread = std::jthread{[this, &disturb] {
            auto raw = server_.raw();
            for (auto i = 0; i < 10; ++i) disturb(raw);
          }};
        }
        EXPECT_EQ(first_lease.release(), release_result::released);
      }
      ASSERT_TRUE(eventually([&] { return next.done(); }));
      auto second_lease = next.take();
      reached(step::passed);
      EXPECT_TRUE(second_lease.valid());
      EXPECT_EQ(second_lease.release(), release_result::released);
      reached(step::released);
      EXPECT_EQ(first.acquire().release(), release_result::released);
      ASSERT_TRUE(nothing_left_behind());
    }
  }
};

/// By a long script, say. That isn't a right that is missing.
TEST_F(connection_fault, hears_messages_although_the_server_was_busy_when_it_subscribed) {
  flaky_proxy proxy{server_.socket_path()};
  client holder{server_.url(), with_long_timeouts()};
  for (auto const way : {wake::automatic, wake::inbox}) {
    proxy.once(
        [](request const& r) {
          return r.name == "SUBSCRIBE" && r.words.back().find("{orders}:") != std::string::npos;
        },
        fate::error("BUSY Redis is busy running a script. You can only call SCRIPT KILL"));
    client redis{proxy.url(), with_long_timeouts({.recheck = 30s})};
    mutex wanted{redis, "orders", {.wake = way}};
    auto held = mutex(holder, "orders").acquire();
    waiter next{wanted};
    auto const inbox = "{orders}:holdfast_inbox:" + redis.uuid();
    ASSERT_TRUE(
        eventually([&] { return raw_.command({"PUBSUB", "NUMSUB", inbox}).elements.at(1).integer == 1; }));
    held.release();
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    EXPECT_TRUE(next.take().valid());
  }
}

TEST_F(connection_fault, ends_a_request_on_which_the_other_side_always_hangs_up) {
  flaky_proxy proxy{server_.socket_path()};
  proxy.decide([](request const& r) {
    return r.name == "EVALSHA" || r.name == "EVAL" ? fate::cut_before() : fate::pass();
  });
  client redis{proxy.url(), {.connect_timeout = 500ms}};
  mutex m{redis, "orders"};
  auto const failure = failure_of([&] { (void)m.try_acquire(); });
  EXPECT_EQ(failure.code, errc::unreachable) << failure.message;
  EXPECT_LT(redis.stats().connects, 30u) << "and not as fast as it can";
  proxy.decide({});
  auto const works_again = [&] {
    return failure_of([&] { (void)m.try_acquire(); }).code == std::error_code{};
  };
  EXPECT_TRUE(eventually(works_again));
}

TEST_F(connection_fault, survives_a_script_flush_at_every_step) {
  at_every_step([](raw_redis& r) { r.command({"SCRIPT", "FLUSH"}); });
}

TEST_F(connection_fault, survives_the_end_of_the_command_connection_at_every_step) {
  at_every_step([](raw_redis& r) { r.kill_clients("normal"); });
}

TEST_F(connection_fault, survives_the_end_of_the_inbox_connection_at_every_step) {
  at_every_step([](raw_redis& r) { r.kill_clients("pubsub"); });
}

TEST_F(connection_fault, survives_the_end_of_both_connections_at_every_step) {
  at_every_step([](raw_redis& r) {
    r.kill_clients("normal");
    r.kill_clients("pubsub");
  });
}

TEST_F(connection_fault, keeps_the_order_of_a_pipeline_when_scripts_are_flushed_within_it) {
  client redis{server_.url(), with_long_timeouts()};
  std::atomic<bool> stop = false;
  auto const flusher = std::jthread{[&] {
    auto raw = server_.raw();
    while (!stop) raw.command({"SCRIPT", "FLUSH"});
  }};
  {
    std::vector<std::jthread> threads;
    for (auto i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        mutex m{redis, "orders:" + std::to_string(i)};
        std::int64_t last = 0;
        for (auto round = 0; round < 50; ++round) {
          auto lease = m.acquire();
          EXPECT_GT(lease.token(), last);
          last = lease.token();
          EXPECT_EQ(lease.release(), release_result::released);
        }
      });
    }
  }
  stop = true;
  EXPECT_TRUE(nothing_left_behind());
}

class reply_fault : public fault {
 protected:
  static bool has_kind(request const& r, std::string const& kind) { return kind_of(r) == kind; }

  operations learned_ = learn(server_);
  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), with_long_timeouts({.reply_timeout = 500ms, .cas = cas::lua})};
  mutex lock_{redis_, "orders", {.ttl = 30s}};
};

TEST_F(reply_fault, makes_an_acquisition_succeed_once_all_the_same) {
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    proxy_.once([this](request const& r) { return has_kind(r, learned_.acquire); }, h.effect);
    auto lease = lock_.try_acquire_for(20s);
    ASSERT_TRUE(lease);
    EXPECT_TRUE(lease->valid());
    EXPECT_EQ(raw_.get("orders"), lease->owner());
    EXPECT_EQ(lease->release(), release_result::released);
    EXPECT_TRUE(nothing_left_behind());
  }
  EXPECT_GE(redis_.stats().resent, 4u);
}

TEST_F(reply_fault, makes_a_release_succeed_all_the_same) {
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    auto lease = lock_.acquire();
    proxy_.once([this](request const& r) { return has_kind(r, learned_.release); }, h.effect);
    // Asynchronously, since release() gives up waiting, and reports that, at about the reply time-out.
    std::atomic<int> outcome = -1;
    lease.async_release([&](release_result r) { outcome = static_cast<int>(r); });
    ASSERT_TRUE(eventually([&] { return outcome >= 0; }));
    EXPECT_EQ(release_result{outcome.load()}, release_result::released);
    EXPECT_TRUE(nothing_left_behind());
  }
}

TEST_F(reply_fault, knows_its_own_release_when_the_scripts_were_lost_together_with_the_reply) {
  lock_.acquire().release();
  auto lease = lock_.acquire();
  enum class stage { release, reconnect, finished };
  proxy_.decide([this, current = stage::release,
                 raw = std::make_shared<raw_redis>(server_.raw())](request const& r) mutable {
    if (current == stage::reconnect) {
      raw->command({"SCRIPT", "FLUSH"});
      current = stage::finished;
    }
    if (current != stage::release || !has_kind(r, learned_.release)) return fate::pass();
    current = stage::reconnect;
    return fate::cut_after();
  });
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(reply_fault, makes_a_renewal_be_tried_again) {
  mutex renewed{redis_, "orders", {.ttl = 60s, .renew_every = 100ms}};
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    auto lease = renewed.acquire();
    std::atomic<bool> met = false;
    auto const decision = proxy_.decide_by([&, used = false](request const& r) mutable {
      if (used || !has_kind(r, learned_.renew)) return fate::pass();
      used = met = true;
      return h.effect;
    });
    ASSERT_TRUE(eventually([&] { return met.load(); }));
    auto const renewals = redis_.stats().renewals;
    EXPECT_TRUE(eventually([&] { return redis_.stats().renewals > renewals + 1; }));
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(lease.release(), release_result::released);
    EXPECT_TRUE(nothing_left_behind());
    proxy_.decide({});
  }
}

TEST_F(reply_fault, takes_back_an_acquisition_whose_reply_comes_after_the_caller_left) {
  lock_.acquire().release();
  proxy_.freeze_replies();
  auto const f = failure_of([&] { EXPECT_FALSE(lock_.try_acquire_for(300ms)); });
  EXPECT_TRUE(!f.code || f.code == errc::unreachable) << f;
  proxy_.thaw();
  EXPECT_TRUE(nothing_left_behind()) << "the ttl is 30 s: it was not waited for";
}

TEST_F(reply_fault, lets_a_release_go_on_in_the_background_when_it_is_not_answered) {
  auto lease = lock_.acquire();
  proxy_.freeze();
  std::atomic<int> outcome = -1;
  lease.async_release([&](release_result r) { outcome = static_cast<int>(r); });
  EXPECT_TRUE(always(700ms, [&] { return raw_.exists("orders"); }));
  proxy_.thaw();
  EXPECT_TRUE(nothing_left_behind());
  EXPECT_TRUE(eventually([&] { return outcome >= 0; }));
}

TEST_F(reply_fault, resolves_what_a_waiter_asked_when_its_connection_broke) {
  client holder{server_.url(), with_long_timeouts()};
  mutex holder_mutex{holder, "orders"};
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    auto lease = holder_mutex.acquire();
    auto const waits = redis_.stats().waits;
    waiter next{lock_};
    ASSERT_TRUE(eventually([&] { return redis_.stats().waits > waits; }));
    proxy_.once([this](request const& r) { return has_kind(r, learned_.acquire); }, h.effect);
    lease.release();
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    EXPECT_EQ(next.take().release(), release_result::released);
    EXPECT_TRUE(nothing_left_behind());
    proxy_.decide({});
  }
}

TEST_F(reply_fault, backs_off_when_the_server_cannot_be_reached) {
  auto lease = lock_.acquire();
  proxy_.refuse_connections(true);
  proxy_.cut_all();
  auto const before = redis_.stats().connects;
  auto const begin = boot_now();
  EXPECT_TRUE(always(1s, [&] { return lease.valid(); }));
  auto const connects = redis_.stats().connects - before;
  auto const seconds = static_cast<std::uint64_t>((boot_now() - begin) / 1'000'000'000 + 1);
  EXPECT_LE(connects, 60u * seconds) << "reconnecting without a pause";
  proxy_.refuse_connections(false);
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(nothing_left_behind());
}

/// A name belongs to another server by now, and only the connection for requests has noticed.
TEST_F(connection_fault, messages_are_heard_from_the_server_that_has_the_requests) {
  redis_server next_server;
  auto next_raw = next_server.raw();
  temporary_folder folder;
  auto const name = folder / "redis.sock";
  std::filesystem::create_symlink(server_.socket_path(), name);
  client redis{"redis+unix://" + name, with_long_timeouts()};
  mutex m{redis, "orders"};
  for (auto* const raw : {&raw_, &next_raw}) raw->command({"SET", "orders", "somebody else", "PX", "60000"});
  waiter waiting{m};
  auto const listeners = [&](raw_redis& raw) {
    return raw.command({"PUBSUB", "NUMSUB", "holdfast_inbox:" + redis.uuid()}).elements.at(1).integer;
  };
  ASSERT_TRUE(eventually([&] { return listeners(raw_) == 1; }));
  std::filesystem::remove(name);
  std::filesystem::create_symlink(next_server.socket_path(), name);
  raw_.command({"CLIENT", "KILL", "TYPE", "normal"});
  EXPECT_TRUE(eventually([&] { return listeners(next_raw) == 1; }));
  EXPECT_TRUE(eventually([&] { return listeners(raw_) == 0; }));
  next_raw.command({"DEL", "orders"});
  ASSERT_TRUE(eventually([&] { return waiting.done(); }));
  EXPECT_EQ(waiting.take().release(), release_result::released);
}

}  // namespace
}  // namespace holdfast::test
