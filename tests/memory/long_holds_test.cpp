/// Locks that are held for days are found as others are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/testing.hpp>
#include <string>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using testing::UnorderedElementsAre;

struct held_for_days : testing::Test {
  [[nodiscard]] std::vector<std::string> found() {
    std::vector<std::string> names;
    for_each_lock(redis, "*", [&names](lock_state const& lock) {
      names.push_back(lock.name);
      return true;
    });
    return names;
  }

  memory::manual_clock time;
  memory::deployment servers;
  client redis = servers.connect();
  lock_options options{.ttl = 1h};
};

TEST_F(held_for_days, is_each_kind_with_leases) {
  mutex simple{redis, "simple", options};
  fair_mutex in_order{redis, "in order", options};
  shared_mutex read{redis, "read", options};
  shared_mutex written{redis, "written", options};
  shared_mutex upgradable{redis, "upgradable", options};
  multi_mutex several{redis, {"{several}:a", "{several}:b"}, options};
  election leader{redis, "leader", options};
  expiring_semaphore permits{redis, "permits", 2, options};
  auto const held = simple.acquire();
  auto const first = in_order.acquire();
  auto const second = read.acquire_shared();
  auto const third = written.acquire();
  auto const fourth = upgradable.acquire_upgrade();
  auto const fifth = several.acquire();
  auto const sixth = leader.campaign("here");
  auto const seventh = permits.acquire();
  time.advance(25h);
  EXPECT_THAT(found(), UnorderedElementsAre("simple", "in order", "read", "written", "upgradable",
                                            "{several}:a", "{several}:b", "leader", "permits"));
}

TEST_F(held_for_days, is_one_permit_by_itself) {
  expiring_semaphore permits{redis, "permits", 2, options};
  (void)permits.acquire();  // the second goes without a script
  auto const held = permits.acquire();
  time.advance(25h);
  EXPECT_THAT(found(), UnorderedElementsAre("permits"));
}

TEST_F(held_for_days, is_what_is_read_though_nobody_wrote_for_long) {
  shared_mutex prices{redis, "prices", options};
  (void)prices.acquire();
  time.advance(14h);
  client late = servers.connect();
  time.advance(6h);
  shared_mutex at_late{late, "prices", options};
  auto const held = at_late.acquire_shared();
  time.advance(5h);
  EXPECT_THAT(found(), UnorderedElementsAre("prices"));
}

TEST_F(held_for_days, is_a_key_that_is_left_for_days) {
  mutex m{redis, "nightly", options};
  auto held = m.acquire();
  held.keep_for(72h);
  time.advance(25h);
  EXPECT_THAT(found(), UnorderedElementsAre("nightly"));
}

TEST_F(held_for_days, is_a_lock_whose_ttl_is_days) {
  mutex m{redis, "orders", {.ttl = 96h}};
  auto const held = m.acquire();
  time.advance(25h);
  EXPECT_THAT(found(), UnorderedElementsAre("orders")) << "its first renewal is yet to come";
}

}  // namespace
}  // namespace holdfast
