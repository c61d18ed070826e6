/// The fast path of a free lock: what goes wrong at its requests, with the counter, and where the server
/// refuses it; and clients that use it beside clients that don't.
#include "clustered.hpp"
#include "fault.hpp"

#include <holdfast/shared_mutex.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "script/names.hpp"

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class fast_path : public fault {
 protected:
  /// Until the next acquisition is a fast one.
  void warm_up(mutex& lock) {
    ASSERT_TRUE(eventually([&] {
      proxy_.forget();
      last_ = acquire_and_release(lock);
      return proxy_.count("EXEC") != 0;
    }));
  }
  std::int64_t acquire_and_release(mutex& lock) {
    auto lease = lock.acquire();
    auto const token = lease.token();
    EXPECT_GT(token, last_);
    EXPECT_EQ(raw_.get("orders"), lease.owner());
    EXPECT_EQ(lease.release(), release_result::released);
    return token;
  }
  [[nodiscard]] std::string counter() const { return names::token_counter("orders"); }

  flaky_proxy proxy_{server_.socket_path()};
  log_lines log_;
  client redis_{proxy_.url(), with_long_timeouts({.reply_timeout = 500ms, .log = log_.hook()})};
  mutex lock_{redis_, "orders", {.ttl = 30s}};
  std::int64_t last_ = 0;
};

TEST_F(fast_path, costs_two_requests) {
  warm_up(lock_);
  proxy_.forget();
  last_ = acquire_and_release(lock_);
  EXPECT_EQ(proxy_.count("EXEC"), 1U);
  EXPECT_EQ(proxy_.count("EVALSHA") + proxy_.count("DELEX") + proxy_.count("DELIFEQ"), 1U) << "its release";
}

TEST_F(fast_path, succeeds_once_whatever_happens_to_each_of_its_commands) {
  for (auto const* const command : {"MULTI", "SET", "INCR", "EXEC"}) {
    for (auto const& h : harms) {
      SCOPED_TRACE(std::string{command} + ": " + h.title);
      warm_up(lock_);
      proxy_.once([command](request const& r) { return r.name == command; }, h.effect);
      auto lease = lock_.try_acquire_for(20s);
      ASSERT_TRUE(lease);
      EXPECT_TRUE(lease->valid());
      EXPECT_GT(lease->token(), last_);
      last_ = lease->token();
      EXPECT_EQ(raw_.get("orders"), lease->owner());
      EXPECT_EQ(lease->release(), release_result::released);
      EXPECT_TRUE(nothing_left_behind());
    }
  }
}

TEST_F(fast_path, gives_growing_tokens_when_the_counter_is_lost_or_falls_back) {
  for (auto const* const lost : {"", "1", "1000000000000000"}) {
    warm_up(lock_);
    if (*lost == '\0') {
      raw_.command({"DEL", counter()});
    } else {
      raw_.command({"SET", counter(), lost});
    }
    last_ = acquire_and_release(lock_);
    EXPECT_GE(std::stoll(*raw_.get(counter())), last_) << "raised before the lease was believed";
  }
}

TEST_F(fast_path, gives_readers_growing_tokens_when_it_made_the_counter_anew) {
  shared_mutex both{redis_, "orders"};
  {
    auto const writer = both.acquire();
    last_ = writer.token();
  }
  client other{server_.url(), with_long_timeouts()};
  shared_mutex others{other, "orders"};
  auto const reading = others.acquire_shared();
  EXPECT_GE(reading.token(), last_);
  raw_.command({"DEL", counter()});
  EXPECT_FALSE(both.try_acquire())
      << "INCR begins at 1, unless the machine was so slow that it goes by script";
  client third{server_.url(), with_long_timeouts()};  // readers of one process may share a hold
  EXPECT_GE((shared_mutex{third, "orders"}.acquire_shared().token()), last_);
  EXPECT_GT(raw_.command({"PTTL", counter()}).integer, 86'000'000);
}

TEST_F(fast_path, says_what_is_wrong_with_a_counter_and_leaves_no_lock_behind) {
  for (auto const& spoil : {std::vector<std::string>{"RPUSH", counter(), "1"},
                            std::vector<std::string>{"SET", counter(), "ten"}}) {
    warm_up(lock_);
    raw_.command({"DEL", counter()});
    raw_.command(spoil);
    auto const f = failure_of([&] { (void)lock_.acquire(); });
    EXPECT_TRUE(f.mentions("orders")) << f;
    EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
    raw_.command({"DEL", counter()});
  }
}

TEST_F(fast_path, says_what_holds_the_key_instead_of_a_lock) {
  warm_up(lock_);
  raw_.command({"RPUSH", "orders", "1"});
  auto const f = failure_of([&] { (void)lock_.acquire(); });
  EXPECT_EQ(f.code, errc::wrong_type) << f;
}

TEST_F(fast_path, goes_on_by_script_where_the_server_refuses_a_command_and_warns_once) {
  for (std::string const command : {"multi", "incr", "exec"}) {
    SCOPED_TRACE(command);
    raw_.command({"ACL", "SETUSER", "default", "+@all", "-" + command});
    log_lines log;
    client redis{proxy_.url(), with_long_timeouts({.log = log.hook()})};
    mutex lock{redis, "orders"};
    for (auto i = 0; i != 5; ++i) last_ = acquire_and_release(lock);
    EXPECT_TRUE(eventually([&] { return !log.of(log_level::warning).empty(); }));
    EXPECT_THAT(log.of(log_level::warning), ElementsAre(HasSubstr("+multi +exec")));
    EXPECT_TRUE(nothing_left_behind());
  }
}

TEST_F(fast_path, goes_on_by_script_where_a_proxy_hangs_up_at_it) {
  proxy_.decide([](request const& r) { return r.name == "MULTI" ? fate::cut_before() : fate::pass(); });
  EXPECT_TRUE(eventually([&] {
    last_ = acquire_and_release(lock_);
    return !log_.of(log_level::warning).empty();
  }));
  auto const resent = redis_.stats().disconnects;
  for (auto i = 0; i != 10; ++i) last_ = acquire_and_release(lock_);
  EXPECT_EQ(redis_.stats().disconnects, resent);
}

TEST_F(fast_path, hands_over_to_a_waiter_that_came_meanwhile) {
  warm_up(lock_);
  auto lease = lock_.acquire();
  client other{server_.url(), with_long_timeouts({.recheck = 30s})};
  mutex others{other, "orders"};
  waiter next{others};
  ASSERT_TRUE(eventually([&] { return raw_.exists(names::queue("orders")); }));
  EXPECT_EQ(lease.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_GT(next.take().token(), lease.token());
}

TEST_F(fast_path, lets_others_see_for_how_long_the_lock_is_held) {
  warm_up(lock_);
  auto const lease = lock_.acquire();
  auto const taken = boot_now();
  client other{server_.url(), with_long_timeouts()};
  mutex others{other, "orders"};
  ASSERT_TRUE(eventually([&] { return boot_now() - taken > 1'200'000'000; }));
  EXPECT_FALSE(others.try_acquire_for(0ns));
  auto const held = std::chrono::nanoseconds{boot_now() - taken};
  auto const busy = others.last_busy();
  ASSERT_TRUE(busy && busy->held_for);
  EXPECT_GE(*busy->held_for, 1200ms);
  EXPECT_LE(*busy->held_for, held + 1s);
}

TEST_F(fast_path, leaves_no_counter_behind_for_ever) {
  warm_up(lock_);
  EXPECT_GT(raw_.command({"PTTL", counter()}).integer, 86'000'000);
}

/// A slot that another node takes over, as a failover leaves it: the counter there lacks the tokens that
/// others got last. The client hears of it at a request for another lock of that slot.
class fast_path_in_a_cluster : public clustered {
 protected:
  /// Without waiting until all nodes know.
  void hand_over(redis_server& from, redis_server& to, std::string const& counted) {
    auto const slot = std::to_string(slot_);
    from.raw().command({"DEL", counter_, names::token_counter(neighbour_name_)});
    nodes_.begin_migration(slot_, from, to);  // so that the new owner takes a newer epoch
    for (auto* const node : {&to, &from})
      EXPECT_EQ(node->raw().command({"CLUSTER", "SETSLOT", slot, "NODE", nodes_.id_of(to)}).text, "OK");
    EXPECT_FALSE(to.raw().command({"SET", counter_, counted}).is_error());
  }

  std::string const first_name_ = "{orders}1";
  std::string const neighbour_name_ = "{orders}2";
  std::string const counter_ = names::token_counter(first_name_);
};

TEST_F(fast_path_in_a_cluster, gives_growing_tokens_when_a_node_takes_over_that_lacks_the_last_ones) {
  client redis{nodes_.url()};
  client other{nodes_.url(), {.cas = cas::lua}};
  mutex lock{redis, first_name_};
  mutex lock_of_other{other, first_name_};
  mutex neighbour{redis, neighbour_name_};
  auto was_fast = false;
  for (auto round = 0; round != 6; ++round) {
    auto& from = slot_master();
    auto& to = another_master();
    lock.acquire().release();
    auto const fast_before = from.raw().calls_of("multi");
    lock.acquire().release();
    was_fast = was_fast || from.raw().calls_of("multi") > fast_before;
    auto const counted = from.raw().get(counter_).value_or("");
    std::int64_t newest = 0;
    for (auto i = 0; i != 5; ++i) {
      auto lease = lock_of_other.acquire();
      newest = lease.token();
      EXPECT_EQ(lease.release(), release_result::released);
    }
    hand_over(from, to, counted);
    neighbour.acquire().release();
    auto lease = lock.acquire();
    EXPECT_GT(lease.token(), newest);
    EXPECT_EQ(lease.release(), release_result::released);
    nodes_.end_migration(slot_, from, to);
  }
  EXPECT_TRUE(was_fast);
}

/// S1 and S3 for a crowd of clients of which some use the fast path, and some scripts alone: also blocks of
/// tokens for handoffs.
TEST_F(fast_path, excludes_and_orders_a_mixed_crowd) {
  std::atomic<int> inside = 0;
  std::int64_t newest = 0;  // guarded by the lock
  std::atomic<int> turns = 0;
  std::vector<std::unique_ptr<client>> clients;
  std::vector<std::unique_ptr<mutex>> locks;
  for (auto i = 0; i != 4; ++i) {
    clients.push_back(
        std::make_unique<client>(i == 0 ? proxy_.url() : server_.url(),
                                 with_long_timeouts({.cas = i % 2 == 0 ? cas::automatic : cas::lua})));
    locks.push_back(std::make_unique<mutex>(*clients.back(), "orders"));
  }
  {
    std::vector<std::jthread> threads;
    for (auto i = 0; i != 8; ++i) {
      threads.emplace_back([&, i](std::stop_token const& stop) {
        auto& lock = *locks[static_cast<std::size_t>(i) % 4];
        for (auto round = 0; !stop.stop_requested(); ++round) {
          auto const lease = lock.acquire();
          EXPECT_EQ(inside.fetch_add(1), 0);
          EXPECT_GT(lease.token(), newest);
          newest = lease.token();
          inside.fetch_sub(1);
          ++turns;
          // Now and then a client has the lock to itself, and takes the fast path.
          if (round % 50 == i) std::this_thread::sleep_for(20ms);
        }
      });
    }
    EXPECT_TRUE(eventually([&] { return turns > 3000; }));
  }
  EXPECT_TRUE(nothing_left_behind());
  warm_up(*locks[0]);
  for (auto i = 0; i != 20; ++i) {  // uncontended, in turns
    for (auto& lock : locks) {
      auto const lease = lock->acquire();
      EXPECT_GT(lease.token(), newest);
      newest = lease.token();
    }
  }
}

}  // namespace
}  // namespace holdfast::test
