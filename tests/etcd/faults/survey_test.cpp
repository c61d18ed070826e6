// What it costs to look at many locks again and again, and what is seen of them.

#include "store.hpp"
#include "support/eventually.hpp"

#include "probe/lock_survey.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/mutex.hpp>

#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using probe::lock_survey;
using probe::pulse_scope;
using testing::IsSupersetOf;
using testing::SizeIs;

class etcd_survey : public testing::Test {
 protected:
  etcd_survey() { the_store().set_terms(1, 1); }

  std::vector<std::string> hold(std::string const& prefix, int count) {
    std::vector<std::string> names;
    for (int i = 0; i != count; ++i) {
      auto& lock = locks_.emplace_back(etcd_, prefix + std::to_string(i), lock_options{.ttl = 300s});
      names.push_back(lock.name());
      held_.push_back(lock.acquire());
    }
    return names;
  }
  [[nodiscard]] probe::lock_pulse pulse(std::string const& name, pulse_scope scope = pulse_scope::state) {
    std::vector const one{name};
    return survey_.feel(one, scope).front();
  }

  client etcd_{"etcd://memory", {.patience = wait_limit}};
  client watcher_{"etcd://memory", {.patience = wait_limit}};
  lock_survey survey_{watcher_};
  std::deque<mutex> locks_;
  std::vector<lease> held_;
};

TEST_F(etcd_survey, feels_fifty_locks_with_one_request_and_asks_for_a_shared_lease_once) {
  auto const names = hold("felt:", 120);
  auto const before = watcher_.stats().commands;
  EXPECT_THAT(survey_.feel(names, pulse_scope::state), SizeIs(120));
  EXPECT_EQ(watcher_.stats().commands, before + 3);
  EXPECT_EQ(survey_.requests(), 3U);
  for (auto const& each : survey_.feel(names, pulse_scope::state_and_ttl)) {
    EXPECT_TRUE(each.in_use);
    EXPECT_TRUE(each.ttl && *each.ttl > 290s);
  }
  EXPECT_EQ(watcher_.stats().commands, before + 7);
  EXPECT_EQ(survey_.requests(), 7U);
}

TEST_F(etcd_survey, looks_at_sixteen_locks_with_one_request_and_one_for_their_lease) {
  auto const names = hold("looked:", 20);
  auto const before = watcher_.stats().commands;
  std::vector<std::string> seen;
  survey_.look(names, [&](lock_state const& each) {
    EXPECT_EQ(each.kind, lock_kind::exclusive);
    EXPECT_TRUE(each.ttl_left);
    seen.push_back(each.name);
    return true;
  });
  EXPECT_EQ(seen, names);
  EXPECT_EQ(watcher_.stats().commands, before + 4);
  EXPECT_EQ(survey_.requests(), 4U);
}

TEST_F(etcd_survey, finds_the_names_of_a_page_with_one_request) {
  auto const names = hold("found:", 30);
  auto const before = watcher_.stats().commands;
  std::vector<std::string> found;
  survey_.find_names([&](std::vector<std::string> const& some) {
    found.insert(found.end(), some.begin(), some.end());
    return true;
  });
  EXPECT_THAT(found, IsSupersetOf(names));
  EXPECT_EQ(watcher_.stats().commands, before + 1);
}

TEST_F(etcd_survey, has_another_pulse_when_holder_waiters_or_numbers_have_changed) {
  EXPECT_FALSE(pulse("changing").in_use);
  mutex lock{etcd_, "changing", {.ttl = 300s}};
  auto held = lock.acquire();
  auto const alone = pulse("changing");
  EXPECT_TRUE(alone.in_use);
  EXPECT_EQ(pulse("changing").state, alone.state);
  client other{"etcd://memory", {.patience = wait_limit}};
  mutex there{other, "changing", {.ttl = 300s}};
  std::optional<lease> next;
  {
    std::jthread const waiter{[&] { next = there.try_acquire_for(wait_limit); }};
    ASSERT_TRUE(eventually([&] { return pulse("changing").state != alone.state; }));
    EXPECT_EQ(held.release(), release_result::released);
  }
  EXPECT_NE(pulse("changing").state, alone.state);
  next->release();
  EXPECT_FALSE(pulse("changing").in_use);
  expiring_semaphore slots{etcd_, "numbered"};
  slots.set_permits(3);
  auto const three = pulse("numbered");
  EXPECT_FALSE(three.in_use);
  slots.set_permits(4);
  EXPECT_NE(pulse("numbered").state, three.state);
}

}  // namespace
}  // namespace holdfast::test
