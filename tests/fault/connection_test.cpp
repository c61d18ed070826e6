/// Connections, scripts, requests and replies are lost at every step; the ambiguity is resolved, and nothing
/// stays behind.
#include "fault.hpp"

#include <functional>
#include <thread>

namespace holdfast::test {
namespace {

enum class step { before, held, waited_for, releasing, taken, released };
constexpr step every_step[] = {step::before,    step::held,  step::waited_for,
                               step::releasing, step::taken, step::released};

class connection_fault : public fault {
 protected:
  /// Two clients pass a lock on while `harm` is done at one step; all must end well each time.
  void at_every_step(std::function<void(raw_redis&)> const& harm) {
    for (auto const at : every_step) {
      SCOPED_TRACE("step " + std::to_string(static_cast<int>(at)));
      client one{server_.url(), unhurried()};
      client two{server_.url(), unhurried()};
      mutex first{one, "orders"};
      mutex second{two, "orders"};
      auto const reached = [&](step s) {
        if (s == at) harm(raw_);
      };
      first.acquire().release();
      reached(step::before);
      auto mine = first.acquire();
      reached(step::held);
      waiter next{second};
      ASSERT_TRUE(eventually([&] { return two.stats().waits >= 1; }));
      reached(step::waited_for);
      {
        auto thread = std::jthread{};
        if (at == step::releasing) {
          thread = std::jthread{[this, &harm] {
            auto other = server_.raw();
            for (auto i = 0; i < 10; ++i) harm(other);
          }};
        }
        EXPECT_EQ(mine.release(), release_result::released);
      }
      ASSERT_TRUE(eventually([&] { return next.done(); }));
      auto theirs = next.take();
      reached(step::taken);
      EXPECT_TRUE(theirs.valid());
      EXPECT_EQ(theirs.release(), release_result::released);
      reached(step::released);
      EXPECT_EQ(first.acquire().release(), release_result::released);
      ASSERT_TRUE(comes_clean());
    }
  }
};

TEST_F(connection_fault, ends_a_request_on_which_the_other_side_always_hangs_up) {
  flaky_proxy proxy{server_.socket_path()};
  proxy.decide([](request const& r) {
    return r.name == "EVALSHA" || r.name == "EVAL" ? fate::cut_before() : fate::pass();
  });
  client redis{proxy.url(), {.connect_timeout = 500ms}};
  mutex m{redis, "orders"};
  auto const wrong = failure_of([&] { (void)m.try_acquire(); });
  EXPECT_EQ(wrong.code, errc::unreachable) << wrong.what;
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
  client redis{server_.url(), unhurried()};
  std::atomic<bool> stop = false;
  auto const flusher = std::jthread{[&] {
    auto other = server_.raw();
    while (!stop) other.command({"SCRIPT", "FLUSH"});
  }};
  {
    std::vector<std::jthread> threads;
    for (auto i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        mutex m{redis, "orders:" + std::to_string(i)};
        std::int64_t last = 0;
        for (auto round = 0; round < 50; ++round) {
          auto mine = m.acquire();
          EXPECT_GT(mine.token(), last);
          last = mine.token();
          EXPECT_EQ(mine.release(), release_result::released);
        }
      });
    }
  }
  stop = true;
  EXPECT_TRUE(comes_clean());
}

class reply_fault : public fault {
 protected:
  static bool is(request const& r, std::string const& kind) { return kind_of(r) == kind; }

  operations learned_ = learn(server_);
  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), unhurried({.reply_timeout = 500ms})};
  mutex lock_{redis_, "orders", {.ttl = 30s}};
};

TEST_F(reply_fault, makes_an_acquisition_succeed_once_all_the_same) {
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    proxy_.once([&](request const& r) { return is(r, learned_.acquire); }, h.what);
    auto mine = lock_.try_acquire_for(20s);
    ASSERT_TRUE(mine);
    EXPECT_TRUE(mine->valid());
    EXPECT_EQ(raw_.get("orders"), mine->owner());
    EXPECT_EQ(mine->release(), release_result::released);
    EXPECT_TRUE(comes_clean());
  }
  EXPECT_GE(redis_.stats().resent, 4u);
}

TEST_F(reply_fault, makes_a_release_succeed_all_the_same) {
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    auto mine = lock_.acquire();
    proxy_.once([&](request const& r) { return is(r, learned_.release); }, h.what);
    // Without waiting, since release() gives up waiting, and says so, at about the reply time-out.
    std::atomic<int> outcome = -1;
    mine.async_release([&](release_result r) { outcome = static_cast<int>(r); });
    ASSERT_TRUE(eventually([&] { return outcome >= 0; }));
    EXPECT_EQ(release_result{outcome.load()}, release_result::released);
    EXPECT_TRUE(comes_clean());
  }
}

TEST_F(reply_fault, knows_its_own_release_when_the_scripts_were_lost_together_with_the_reply) {
  lock_.acquire().release();
  auto mine = lock_.acquire();
  enum class stage { release, reconnect, over };
  proxy_.decide([&, now = stage::release,
                 other = std::make_shared<raw_redis>(server_.raw())](request const& r) mutable {
    if (now == stage::reconnect) {
      other->command({"SCRIPT", "FLUSH"});
      now = stage::over;
    }
    if (now != stage::release || !is(r, learned_.release)) return fate::pass();
    now = stage::reconnect;
    return fate::cut_after();
  });
  EXPECT_EQ(mine.release(), release_result::released);
  EXPECT_TRUE(comes_clean());
}

TEST_F(reply_fault, makes_a_renewal_be_tried_again) {
  mutex renewed{redis_, "orders", {.ttl = 60s, .renew_every = 100ms}};
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    auto mine = renewed.acquire();
    std::atomic<bool> met = false;
    proxy_.decide([&, used = false](request const& r) mutable {
      if (used || !is(r, learned_.renew)) return fate::pass();
      used = met = true;
      return h.what;
    });
    ASSERT_TRUE(eventually([&] { return met.load(); }));
    auto const renewals = redis_.stats().renewals;
    EXPECT_TRUE(eventually([&] { return redis_.stats().renewals > renewals + 1; }));
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_TRUE(comes_clean());
    proxy_.decide({});
  }
}

TEST_F(reply_fault, takes_back_an_acquisition_whose_reply_comes_after_the_caller_left) {
  lock_.acquire().release();
  proxy_.freeze_replies();
  auto const f = failure_of([&] { EXPECT_FALSE(lock_.try_acquire_for(300ms)); });
  EXPECT_TRUE(!f.code || f.code == errc::unreachable) << f;
  proxy_.thaw();
  EXPECT_TRUE(comes_clean()) << "the ttl is 30 s: it was not waited for";
}

TEST_F(reply_fault, lets_a_release_go_on_in_the_background_when_it_is_not_answered) {
  auto mine = lock_.acquire();
  proxy_.freeze();
  std::atomic<int> outcome = -1;
  mine.async_release([&](release_result r) { outcome = static_cast<int>(r); });
  EXPECT_TRUE(always(700ms, [&] { return raw_.exists("orders"); }));
  proxy_.thaw();
  EXPECT_TRUE(comes_clean());
  EXPECT_TRUE(eventually([&] { return outcome >= 0; }));
}

TEST_F(reply_fault, resolves_what_a_waiter_asked_when_its_connection_broke) {
  client holder{server_.url(), unhurried()};
  mutex held{holder, "orders"};
  for (auto const& h : harms) {
    SCOPED_TRACE(h.title);
    auto mine = held.acquire();
    auto const waits = redis_.stats().waits;
    waiter next{lock_};
    ASSERT_TRUE(eventually([&] { return redis_.stats().waits > waits; }));
    proxy_.once([&](request const& r) { return is(r, learned_.acquire); }, h.what);
    mine.release();
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    EXPECT_EQ(next.take().release(), release_result::released);
    EXPECT_TRUE(comes_clean());
    proxy_.decide({});
  }
}

TEST_F(reply_fault, backs_off_when_the_server_cannot_be_reached) {
  auto mine = lock_.acquire();
  proxy_.refuse_connections(true);
  proxy_.cut_all();
  auto const before = redis_.stats().connects;
  auto const begin = boot_now();
  EXPECT_TRUE(always(1s, [&] { return mine.valid(); }));
  auto const connects = redis_.stats().connects - before;
  auto const seconds = static_cast<std::uint64_t>((boot_now() - begin) / 1'000'000'000 + 1);
  EXPECT_LE(connects, 60u * seconds) << "reconnecting without a pause";
  proxy_.refuse_connections(false);
  EXPECT_EQ(mine.release(), release_result::released);
  EXPECT_TRUE(comes_clean());
}

}  // namespace
}  // namespace holdfast::test
