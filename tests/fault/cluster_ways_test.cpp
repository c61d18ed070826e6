/// A cluster that has compare-and-delete, or runs no scripts: a request of several commands, while slots
/// move.
#include "clustered.hpp"
#include "script/names.hpp"
#include "support/server_dialect.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <thread>

namespace holdfast::test {
namespace {

struct way_in_a_cluster {
  char const* name;
  char const* parameter;
};

class cluster_ways : public cluster_behind_proxies, public testing::WithParamInterface<way_in_a_cluster> {
 protected:
  cluster_ways() {
    auto const facts = std::make_shared<server_facts_shown>();
    facts->speaks = scripting::dialect::valkey;
    for (auto const& proxy : proxies_) proxy->decide(speaking(facts));
  }
  [[nodiscard]] std::string url_of(std::string const& parameter) const { return url() + "&" + parameter; }
  [[nodiscard]] std::string url_of_this_way() const { return url_of(GetParam().parameter); }
};

TEST_P(cluster_ways, locks_are_spread_over_its_masters) {
  client redis{url_of_this_way()};
  for (auto i = 0; i != 20; ++i) {
    mutex m{redis, "orders:" + std::to_string(i), frequent_renewal_};
    auto lease = m.acquire();
    lease.renew();
    EXPECT_EQ(lease.release(), release_result::released);
  }
  for (auto const& proxy : proxies_) EXPECT_GT(proxy->count("DELIFEQ"), 0U);
  if (std::string_view{GetParam().parameter} != "scripts=no") return;
  for (auto const& proxy : proxies_) EXPECT_EQ(proxy->count("EVALSHA") + proxy->count("EVAL"), 0U);
}

TEST_P(cluster_ways, renews_and_gives_back_a_lock_where_only_ask_leads) {
  client redis{url_of_this_way()};
  client other{url_of_this_way(), {.recheck = 500ms}};
  mutex m{redis, name_, frequent_renewal_};
  mutex other_mutex{other, name_, frequent_renewal_};
  auto lease = m.acquire();
  auto const token = lease.token();
  waiter next{other_mutex};
  ASSERT_TRUE(waits(other));
  auto& from = slot_master();
  auto& to = another_master();
  nodes_.begin_migration(slot_, from, to);
  EXPECT_TRUE(renews(redis)) << "the keys are still where they were";
  nodes_.move_keys(slot_, from, to);
  EXPECT_TRUE(renews(redis));
  EXPECT_FALSE(next.done());
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(lease.release(), release_result::released) << "and not only when the slot has moved";
  nodes_.end_migration(slot_, from, to);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_GT(next.take().token(), token);
}

/// A message can't reach the waiter while the slot is on its way, and only one of the nodes has the queue.
/// But nobody can take the lock then. The waiter asks when the slot has moved, as its channel is opened anew
/// there.
TEST_P(cluster_ways, wakes_the_waiter_of_a_lock_that_was_released_with_its_keys_on_two_nodes) {
  auto const queue = names::queue(name_);
  auto const counter = names::token_counter(name_);
  for (auto const& moved : std::vector<std::vector<std::string>>{
           {name_}, {queue}, {counter}, {name_, counter}, {queue, counter}, {name_, queue, counter}}) {
    SCOPED_TRACE(testing::PrintToString(moved));
    client redis{url_of_this_way()};
    client other{url_of_this_way(), {.recheck = 30s}};
    mutex m{redis, name_, {.ttl = 60s, .starvation_limit = 1min}};
    mutex other_mutex{other, name_, {.ttl = 60s, .starvation_limit = 1min}};
    auto& from = slot_master();
    auto& to = another_master();
    auto lease = m.acquire();
    waiter next{other_mutex};
    ASSERT_TRUE(waits(other));
    // Each time that it asks the queue is gone for a moment. It asks no more when its inbox is open.
    auto raw = from.raw();
    ASSERT_TRUE(eventually([&] { return always(300ms, [&] { return raw.exists(queue); }); }));
    nodes_.begin_migration(slot_, from, to);
    std::vector<std::string> migrate{"MIGRATE", "127.0.0.1", std::to_string(to.port()), "", "0",
                                     "5000",    "KEYS"};
    migrate.insert(migrate.end(), moved.begin(), moved.end());
    ASSERT_EQ(raw.command(migrate).text, "OK");
    for (auto const& proxy : proxies_) proxy->forget();
    EXPECT_EQ(lease.release(), release_result::released);
    auto in_steps = std::size_t{0};
    for (auto const& proxy : proxies_) in_steps += proxy->count("DELIFEQ");
    EXPECT_GT(in_steps, 0U);
    nodes_.move_keys(slot_, from, to);
    nodes_.end_migration(slot_, from, to);
    ASSERT_TRUE(eventually([&] { return next.done(); }));
    EXPECT_EQ(next.take().release(), release_result::released);
  }
}

TEST_P(cluster_ways, keeps_leases_of_one_slot_that_are_on_both_sides) {
  client redis{url_of_this_way()};
  std::array<std::string, 3> const names{"{orders}1", "{orders}2", "{orders}3"};
  std::vector<std::unique_ptr<mutex>> locks;
  std::vector<lease> leases;
  for (auto const& name : names) {
    locks.push_back(std::make_unique<mutex>(redis, name, frequent_renewal_));
    leases.push_back(locks.back()->acquire());
  }
  auto const slot = cluster_servers::slot_of(names[0]);
  auto& from = nodes_.master_of(slot);
  auto& to = nodes_.another_master(slot);
  nodes_.begin_migration(slot, from, to);
  ASSERT_FALSE(from.raw()
                   .command({"MIGRATE", "127.0.0.1", std::to_string(to.port()), names[1], "0", "5000"})
                   .is_error());
  EXPECT_TRUE(renews(redis, 30));
  for (auto const& lease : leases) EXPECT_TRUE(lease.valid());
  nodes_.move_keys(slot, from, to);
  EXPECT_TRUE(renews(redis, 9));
  nodes_.end_migration(slot, from, to);
  for (auto& lease : leases) EXPECT_EQ(lease.release(), release_result::released);
}

/// Beside clients that go by scripts, and by compare-and-delete.
TEST_P(cluster_ways, let_one_in_at_a_time_while_the_slot_goes_to_and_fro) {
  client by_scripts{nodes_.url()};
  client native{url_of("cas=native")};
  client redis{url_of_this_way()};
  std::array<client*, 3> const clients{&by_scripts, &native, &redis};
  std::atomic<int> inside = 0;
  std::int64_t newest = 0;  // guarded by the lock
  std::array<std::atomic<int>, 3> rounds{};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i != 6; ++i) {
    threads.emplace_back([&, i](std::stop_token const& stop) {
      mutex m{*clients[i % 3], name_, {.ttl = 20s}};
      while (!stop.stop_requested()) {
        auto const failure = failure_of([&] {
          auto const lease = m.acquire();
          EXPECT_EQ(inside.fetch_add(1), 0);
          EXPECT_GT(lease.token(), newest);
          newest = lease.token();
          ++rounds[i % 3];
          inside.fetch_sub(1);
        });
        EXPECT_FALSE(failure.code) << failure.message;
      }
    });
  }
  for (auto trip = 0; trip != 4; ++trip) {
    auto& from = slot_master();
    auto& to = another_master();
    std::array<int, 3> before{};
    std::ranges::copy(rounds, before.begin());
    nodes_.migrate_slot(slot_, from, to);
    for (std::size_t i = 0; i != 3; ++i)
      EXPECT_TRUE(eventually([&] { return rounds[i] > before[i] + 10; })) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(cluster, cluster_ways,
                         testing::Values(way_in_a_cluster{"native", "cas=native"},
                                         way_in_a_cluster{"scriptless", "scripts=no"}),
                         [](auto const& of) { return std::string{of.param.name}; });

}  // namespace
}  // namespace holdfast::test
