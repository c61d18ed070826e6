/// A server that has older data than it had: with acquisitions in it that are over, of processes that live.
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
  /// By message, as a waiter with that owner id would be.
  void tell(std::string const& owner, std::string const& kind, std::string const& name) {
    auto const details = kind == "granted" ? " 1 1 " : " ";
    EXPECT_EQ(raw_.command({"PUBLISH", names::inbox(uuid_in(owner), name),
                            kind + " " + number_in(owner) + details + name})
                  .integer,
              1)
        << "nobody listens";
  }
  void tell_both(std::string const& owner, std::string const& name) {
    tell(owner, "woken", name);
    tell(owner, "granted", name);
  }
  [[nodiscard]] bool hears(client const& one, std::string const& name) {
    return eventually([&] {
      auto const listeners = raw_.command({"PUBSUB", "NUMSUB", names::inbox(one.uuid(), name)});
      return listeners.elements.size() == 2 && listeners.elements[1].integer > 0;
    });
  }
  void put_back(std::string const& name, std::string const& owner) {
    raw_.command({"SET", name, owner, "PX", "600000"});
  }
  /// A lease of that client that is over.
  [[nodiscard]] static std::string owner_of_old(client& one) {
    mutex m{one, "marker"};
    auto mine = m.acquire();
    auto owner = mine.owner();
    EXPECT_EQ(mine.release(), release_result::released);
    return owner;
  }
  /// The inbox of a lock is open while somebody waits for it: here for two and a third, and for all or none.
  void open_inboxes() {
    busy_ = mutex{elsewhere_, "busy"}.acquire();
    all_three_.async_acquire([](std::optional<multi_lease> const&, std::exception_ptr const&) {});
    EXPECT_TRUE(hears(redis_, "orders") && hears(redis_, "marker"));
  }
  /// All that was told before has been read, and what came of it has been done.
  [[nodiscard]] bool all_is_read(std::string const& old_owner) {
    put_back("marker", old_owner);
    tell(old_owner, "woken", "marker");
    return eventually([this] { return !raw_.exists("marker"); });
  }

  client redis_{server_.url(), unhurried()};
  client elsewhere_{server_.url(), unhurried()};
  lease busy_;
  multi_mutex all_three_{redis_, {"orders", "marker", "busy"}, {.starvation_limit = 10min}};
};

TEST_F(ghosts, in_the_queue_take_no_time_to_pass_by) {
  constexpr auto many = 12;  // with two seconds each they take longer than any test waits
  fair_mutex m{redis_, "orders"};
  std::deque<client> clients;
  std::deque<fair_mutex> locks;
  std::deque<waiter> waiters;
  std::vector<std::string> owners;
  auto mine = m.acquire();
  for (auto i = 1; i <= many; ++i) {
    auto& one = clients.emplace_back(server_.url(), unhurried());
    waiters.emplace_back(locks.emplace_back(one, "orders"));
    ASSERT_TRUE(eventually([&] { return raw_.command({"ZCARD", names::queue("orders")}).integer == i; }));
    ASSERT_TRUE(hears(one, "orders"));
  }
  mine.release();
  for (auto& one : waiters) {
    ASSERT_TRUE(eventually([&] { return one.done(); }));
    auto got = one.take();
    owners.push_back(got.owner());
    EXPECT_EQ(got.release(), release_result::released);
  }

  mine = m.acquire();
  for (auto i = 0; i != many; ++i) {
    raw_.command(
        {"ZADD", names::queue("orders"), std::to_string(i + 1), owners[static_cast<std::size_t>(i)]});
  }
  client other{server_.url(), unhurried()};
  fair_mutex theirs{other, "orders"};
  waiter next{theirs};
  ASSERT_TRUE(eventually([&] { return other.stats().waits == 1 && hears(other, "orders"); }));
  mine.release();
  EXPECT_TRUE(eventually([&] { return next.done(); }));
  next.take().release();
  EXPECT_TRUE(comes_clean());
}

TEST_F(ghosts, of_a_snapshot_are_given_back_by_those_whose_they_were) {
  fair_mutex m{redis_, "orders", {.ttl = 10min}};
  std::deque<client> clients;
  std::deque<fair_mutex> locks;
  std::deque<waiter> waiters;
  auto mine = m.acquire();
  for (auto i = 1; i <= 4; ++i) {
    auto& one = clients.emplace_back(server_.url());
    waiters.emplace_back(locks.emplace_back(one, "orders"));
    ASSERT_TRUE(eventually([&] { return raw_.command({"ZCARD", names::queue("orders")}).integer == i; }));
  }
  raw_.command({"SAVE"});
  mine.release();
  for (auto& one : waiters) {
    ASSERT_TRUE(eventually([&] { return one.done(); }));
    one.take().release();
  }
  server_.kill9();
  server_.start();
  client other{server_.url()};
  fair_mutex theirs{other, "orders"};
  auto next = theirs.try_acquire_for(bound_of_waits);
  ASSERT_TRUE(next) << "its holder had gone on, and didn't give it back again";
  next->release();
  EXPECT_TRUE(comes_clean());
}

TEST_F(ghosts, of_one_s_own_are_no_obstacle) {
  auto const old = owner_of_old(redis_);
  put_back("orders", old);
  mutex m{redis_, "orders"};
  EXPECT_TRUE(m.try_acquire());
  put_back("orders", old);
  fair_mutex in_order{redis_, "orders"};
  EXPECT_TRUE(in_order.try_acquire());
}

TEST_F(ghosts, of_another_client_are_an_obstacle) {
  client other{server_.url(), unhurried()};
  auto const old = owner_of_old(other);
  put_back("orders", old);
  mutex m{redis_, "orders"};
  EXPECT_FALSE(m.try_acquire()) << "who can tell that it is one?";
  EXPECT_TRUE(raw_.exists("orders"));
}

TEST_F(ghosts, are_not_what_is_held) {
  mutex m{redis_, "orders", {.handoff_time = 1h}};
  m.acquire().release();  // which has a single token: there is none to hand on
  auto const old = owner_of_old(redis_);
  open_inboxes();
  auto mine = m.acquire();
  auto const owner = mine.owner();
  tell_both(owner, "orders");
  EXPECT_TRUE(all_is_read(old));
  EXPECT_TRUE(mine.valid());
  EXPECT_EQ(raw_.get("orders"), owner);

  waiter next{m};
  mine.release();
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  auto handed_over = next.take();
  ASSERT_EQ(handed_over.owner(), owner);
  tell_both(owner, "orders");
  EXPECT_TRUE(all_is_read(old));
  EXPECT_EQ(raw_.get("orders"), owner);
  EXPECT_EQ(handed_over.release(), release_result::released);
}

TEST_F(ghosts, are_not_what_is_kept) {
  auto const old = owner_of_old(redis_);
  open_inboxes();
  mutex m{redis_, "orders", {.ttl = 10min}};
  for (auto const longer : {false, true}) {
    auto mine = m.acquire();
    auto const owner = mine.owner();
    EXPECT_EQ(longer ? mine.keep_for(1h) : mine.keep_until_expiry(), release_result::kept);
    tell_both(owner, "orders");
    EXPECT_TRUE(all_is_read(old));
    EXPECT_FALSE(m.try_acquire());
    fair_mutex in_order{redis_, "orders"};
    EXPECT_FALSE(in_order.try_acquire());
    EXPECT_EQ(raw_.get("orders"), owner);
    EXPECT_TRUE(raw_.del("orders"));
  }
}

TEST_F(ghosts, are_not_what_a_restarted_server_has_of_a_key_that_is_kept) {
  mutex m{redis_, "orders", {.ttl = 10min}};
  auto mine = m.acquire();
  auto const owner = mine.owner();
  EXPECT_EQ(mine.keep_for(1h), release_result::kept);
  mutex released{redis_, "released", {.ttl = 10min}};
  auto brief = released.acquire();
  raw_.command({"SAVE"});
  brief.release();
  server_.kill9();
  server_.start();
  EXPECT_TRUE(eventually([&] { return !raw_.exists("released"); }));
  EXPECT_FALSE(m.try_acquire());
  EXPECT_EQ(raw_.get("orders"), owner);
}

TEST_F(ghosts, are_not_what_was_lost_at_its_limit_before_its_holder_lets_go) {
  auto const old = owner_of_old(redis_);
  open_inboxes();
  mutex m{redis_, "orders", {.ttl = 10min, .max_hold = 50ms}};
  auto mine = m.acquire();
  auto const owner = mine.owner();
  ASSERT_TRUE(eventually([&] { return mine.lost_because() == loss_cause::limit_reached; }));
  tell_both(owner, "orders");
  EXPECT_TRUE(all_is_read(old));
  EXPECT_EQ(raw_.get("orders"), owner);
  EXPECT_FALSE(m.try_acquire());
  mine.release();
  EXPECT_TRUE(eventually([&] { return !raw_.exists("orders"); }));
}

TEST_F(ghosts, are_not_what_no_number_was_given_to) {
  auto const old = owner_of_old(redis_);
  open_inboxes();
  for (auto const* const number : {"0", "999999"}) {
    auto const owner = redis_.uuid() + ":" + number;
    put_back("orders", owner);
    tell_both(owner, "orders");
    EXPECT_TRUE(all_is_read(old));
    EXPECT_EQ(raw_.get("orders"), owner);
  }
}

}  // namespace
}  // namespace holdfast::test
