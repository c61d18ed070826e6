/// A server that falls back to older data: it holds acquisitions that are over, of processes that still run.
#include "fault.hpp"

#include "script/names.hpp"

#include <holdfast/fair_mutex.hpp>
#include <holdfast/multi_mutex.hpp>

#include <deque>

namespace holdfast::test {
namespace {

std::string uuid_in(std::string const& owner) { return owner.substr(0, 36); }
std::string number_in(std::string const& owner) { return owner.substr(37); }

class ghosts : public fault {
 protected:
  /// Sends the message that a waiter with that owner id would get.
  void send(std::string const& owner, std::string const& kind, std::string const& name) {
    auto const details = kind == "granted" ? " 1 1 " : " ";
    EXPECT_EQ(raw_.command({"PUBLISH", names::inbox(uuid_in(owner), name),
                            kind + " " + number_in(owner) + details + name})
                  .integer,
              1)
        << "nobody listens";
  }
  void send_woken_and_granted(std::string const& owner, std::string const& name) {
    send(owner, "woken", name);
    send(owner, "granted", name);
  }
  [[nodiscard]] bool is_subscribed(client const& redis, std::string const& name) {
    return eventually([&] {
      auto const listeners = raw_.command({"PUBSUB", "NUMSUB", names::inbox(redis.uuid(), name)});
      return listeners.elements.size() == 2 && listeners.elements[1].integer > 0;
    });
  }
  void put_back(std::string const& name, std::string const& owner) {
    raw_.command({"SET", name, owner, "PX", "600000"});
  }
  /// The owner id of a lease of that client that is over.
  [[nodiscard]] static std::string owner_of_old(client& redis) {
    mutex m{redis, "marker"};
    auto lease = m.acquire();
    auto owner = lease.owner();
    EXPECT_EQ(lease.release(), release_result::released);
    return owner;
  }
  /// Opens the inboxes of "orders" and "marker": a multi_mutex waits for them and for a third, busy name.
  void open_inboxes() {
    busy_ = mutex{other_client_, "busy"}.acquire();
    multi_.async_acquire([](std::optional<multi_lease> const&, std::exception_ptr const&) {});
    EXPECT_TRUE(is_subscribed(redis_, "orders") && is_subscribed(redis_, "marker"));
  }
  /// All messages sent before have been read and handled.
  [[nodiscard]] bool all_messages_handled(std::string const& old_owner) {
    put_back("marker", old_owner);
    send(old_owner, "woken", "marker");
    return eventually([this] { return !raw_.exists("marker"); });
  }

  client redis_{server_.url(), with_long_timeouts({.cas = cas::lua})};  // its leases have tokens to hand on
  client other_client_{server_.url(), with_long_timeouts()};
  lease busy_;
  multi_mutex multi_{redis_, {"orders", "marker", "busy"}, {.starvation_limit = 10min}};
};

TEST_F(ghosts, in_the_queue_take_no_time_to_pass_by) {
  constexpr auto many = 12;  // at two seconds each they take longer than any test waits
  fair_mutex m{redis_, "orders"};
  std::deque<client> clients;
  std::deque<fair_mutex> locks;
  std::deque<waiter> waiters;
  std::vector<std::string> owners;
  auto lease = m.acquire();
  for (auto i = 1; i <= many; ++i) {
    auto& redis = clients.emplace_back(server_.url(), with_long_timeouts());
    waiters.emplace_back(locks.emplace_back(redis, "orders"));
    ASSERT_TRUE(eventually([&] { return raw_.command({"ZCARD", names::queue("orders")}).integer == i; }));
    ASSERT_TRUE(is_subscribed(redis, "orders"));
  }
  lease.release();
  for (auto& each : waiters) {
    ASSERT_TRUE(eventually([&] { return each.done(); }));
    auto waiter_lease = each.take();
    owners.push_back(waiter_lease.owner());
    EXPECT_EQ(waiter_lease.release(), release_result::released);
  }

  lease = m.acquire();
  for (auto i = 0; i != many; ++i) {
    raw_.command(
        {"ZADD", names::queue("orders"), std::to_string(i + 1), owners[static_cast<std::size_t>(i)]});
  }
  client other{server_.url(), with_long_timeouts()};
  fair_mutex other_mutex{other, "orders"};
  waiter next{other_mutex};
  ASSERT_TRUE(eventually([&] { return other.stats().waits == 1 && is_subscribed(other, "orders"); }));
  lease.release();
  EXPECT_TRUE(eventually([&] { return next.done(); }));
  next.take().release();
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(ghosts, of_a_snapshot_are_given_back_by_those_whose_they_were) {
  fair_mutex m{redis_, "orders", {.ttl = 10min}};
  std::deque<client> clients;
  std::deque<fair_mutex> locks;
  std::deque<waiter> waiters;
  auto lease = m.acquire();
  for (auto i = 1; i <= 4; ++i) {
    auto& redis = clients.emplace_back(server_.url());
    waiters.emplace_back(locks.emplace_back(redis, "orders"));
    ASSERT_TRUE(eventually([&] {
      return raw_.command({"ZCARD", names::queue("orders")}).integer == i && is_subscribed(redis, "orders");
    }));
  }
  raw_.command({"SAVE"});
  lease.release();
  for (auto& each : waiters) {
    ASSERT_TRUE(eventually([&] { return each.done(); }));
    each.take().release();
  }
  server_.kill9();
  server_.start();
  client other{server_.url()};
  fair_mutex other_mutex{other, "orders"};
  auto next_lease = other_mutex.try_acquire_for(wait_limit);
  ASSERT_TRUE(next_lease) << "its holder had gone on, and didn't give it back again";
  next_lease->release();
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(ghosts, of_one_s_own_are_no_obstacle) {
  auto const old_owner = owner_of_old(redis_);
  put_back("orders", old_owner);
  mutex m{redis_, "orders"};
  EXPECT_TRUE(m.try_acquire());
  put_back("orders", old_owner);
  fair_mutex fair{redis_, "orders"};
  EXPECT_TRUE(fair.try_acquire());
}

TEST_F(ghosts, of_any_kind_are_no_obstacle_to_several_names) {
  auto const old_owner = owner_of_old(redis_);
  constexpr auto for_long = "99999999999999";
  auto const put_reader_back = [&] {
    put_back("orders", std::string{names::held_by_readers});
    raw_.command({"ZADD", names::readers("orders"), for_long, old_owner + ":r"});
  };
  put_reader_back();
  EXPECT_TRUE((multi_mutex{redis_, {"orders", "others"}}.try_acquire()));
  put_reader_back();
  EXPECT_TRUE((multi_mutex{redis_, {"orders", read("others")}}.try_acquire()));
  put_back("orders", old_owner);
  EXPECT_TRUE((multi_mutex{redis_, {"orders", read("others")}}.try_acquire()));
  raw_.command({"ZADD", "slots", "-1", "holdfast_permits:1", for_long, old_owner});
  EXPECT_TRUE((multi_mutex{redis_, {permits("slots", 1, 1), "others"}}.try_acquire()));
}

TEST_F(ghosts, of_another_client_are_an_obstacle) {
  client other{server_.url(), with_long_timeouts()};
  auto const old_owner = owner_of_old(other);
  put_back("orders", old_owner);
  mutex m{redis_, "orders"};
  EXPECT_FALSE(m.try_acquire()) << "who can tell that it is one?";
  EXPECT_TRUE(raw_.exists("orders"));
}

TEST_F(ghosts, are_not_what_is_held) {
  mutex m{redis_, "orders", {.handoff_time = 1h}};
  m.acquire().release();  // the first lease has a single token: there is none to hand on
  auto const old_owner = owner_of_old(redis_);
  open_inboxes();
  auto lease = m.acquire();
  auto const owner = lease.owner();
  send_woken_and_granted(owner, "orders");
  EXPECT_TRUE(all_messages_handled(old_owner));
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(raw_.get("orders"), owner);

  waiter next{m};
  lease.release();
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  auto next_lease = next.take();
  ASSERT_EQ(next_lease.owner(), owner);
  send_woken_and_granted(owner, "orders");
  EXPECT_TRUE(all_messages_handled(old_owner));
  EXPECT_EQ(raw_.get("orders"), owner);
  EXPECT_EQ(next_lease.release(), release_result::released);
}

TEST_F(ghosts, are_not_what_is_kept) {
  auto const old_owner = owner_of_old(redis_);
  open_inboxes();
  mutex m{redis_, "orders", {.ttl = 10min}};
  for (auto const longer : {false, true}) {
    auto lease = m.acquire();
    auto const owner = lease.owner();
    EXPECT_EQ(longer ? lease.keep_for(1h) : lease.keep_until_expiry(), release_result::kept);
    send_woken_and_granted(owner, "orders");
    EXPECT_TRUE(all_messages_handled(old_owner));
    EXPECT_FALSE(m.try_acquire());
    fair_mutex fair{redis_, "orders"};
    EXPECT_FALSE(fair.try_acquire());
    EXPECT_EQ(raw_.get("orders"), owner);
    EXPECT_TRUE(raw_.del("orders"));
  }
}

TEST_F(ghosts, are_not_what_a_restarted_server_has_of_a_key_that_is_kept) {
  mutex m{redis_, "orders", {.ttl = 10min}};
  auto lease = m.acquire();
  auto const owner = lease.owner();
  EXPECT_EQ(lease.keep_for(1h), release_result::kept);
  mutex released{redis_, "released", {.ttl = 10min}};
  auto released_lease = released.acquire();
  raw_.command({"SAVE"});
  released_lease.release();
  server_.kill9();
  server_.start();
  EXPECT_TRUE(eventually([&] { return !raw_.exists("released"); }));
  EXPECT_FALSE(m.try_acquire());
  EXPECT_EQ(raw_.get("orders"), owner);
}

TEST_F(ghosts, are_not_what_was_lost_at_its_limit_before_its_holder_lets_go) {
  auto const old_owner = owner_of_old(redis_);
  open_inboxes();
  mutex m{redis_, "orders", {.ttl = 10min, .max_hold = 50ms}};
  auto lease = m.acquire();
  auto const owner = lease.owner();
  ASSERT_TRUE(eventually([&] { return lease.lost_because() == loss_cause::limit_reached; }));
  send_woken_and_granted(owner, "orders");
  EXPECT_TRUE(all_messages_handled(old_owner));
  EXPECT_EQ(raw_.get("orders"), owner);
  EXPECT_FALSE(m.try_acquire());
  lease.release();
  EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
}

TEST_F(ghosts, are_not_what_no_number_was_given_to) {
  auto const old_owner = owner_of_old(redis_);
  open_inboxes();
  for (auto const* const number : {"0", "999999"}) {
    auto const owner = redis_.uuid() + ":" + number;
    put_back("orders", owner);
    send_woken_and_granted(owner, "orders");
    EXPECT_TRUE(all_messages_handled(old_owner));
    EXPECT_EQ(raw_.get("orders"), owner);
  }
}

}  // namespace
}  // namespace holdfast::test
