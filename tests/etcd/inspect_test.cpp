// Locks on etcd as they look from outside, whoever has them.

#include "holder.hpp"
#include "members.hpp"
#include "support/eventually.hpp"
#include "support/line_process.hpp"

#include <gmock/gmock.h>

#include <holdfast/client.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/mutex.hpp>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class etcd_inspect : public testing::Test {
 protected:
  static client_options options(std::string const& label = {}) {
    return {.label = label, .patience = wait_limit, .recheck = 30s};
  }

  /// `etcdctl lock` or `elect` below the prefix, once it has its key.
  static line_process etcdctl(words const& rest) {
    auto const before = shared_etcd().keys("seen/" + rest.at(1) + "/").size();
    words command{"/usr/bin/env"};
    auto all = rest;
    all.at(1) = "seen/" + rest.at(1);
    for (auto const& each : shared_etcd().ctl_words(all)) command.push_back(each);
    line_process other{command};
    EXPECT_TRUE(eventually([&] { return shared_etcd().keys(all.at(1) + "/").size() > before; }));
    return other;
  }

  [[nodiscard]] std::vector<std::string> names(std::string const& pattern) {
    std::vector<std::string> all;
    for_each_lock(etcd_, pattern, [&](lock_state const& lock) {
      all.push_back(lock.name);
      return true;
    });
    return all;
  }

  client etcd_{shared_etcd().url("seen"), options("first job")};
};

TEST_F(etcd_inspect, finds_a_free_lock_free) {
  auto const seen = inspect(etcd_, "free");
  EXPECT_EQ(seen.kind, lock_kind::free);
  EXPECT_EQ(seen.type, "none");
  EXPECT_TRUE(seen.on_etcd);
  EXPECT_FALSE(in_use(seen));
}

TEST_F(etcd_inspect, shows_the_holder_and_the_queue_in_order) {
  mutex lock{etcd_, "queue", {.ttl = 20s}};
  auto const held = lock.acquire();
  auto const second = etcdctl({"lock", "queue"});
  client another{shared_etcd().url("seen"), options("third job")};
  mutex there{another, "queue"};
  std::jthread const waiter{
      [&](std::stop_token const& stopped) { EXPECT_THROW((void)there.acquire(stopped), error); }};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("seen/queue/").size() == 3; }));
  auto const seen = inspect(etcd_, "queue");
  EXPECT_EQ(seen.kind, lock_kind::exclusive);
  EXPECT_EQ(seen.token, held.token());
  EXPECT_EQ(seen.holder.owner, held.owner());
  EXPECT_EQ(seen.holder.pid, ::getpid());
  EXPECT_EQ(seen.holder.label, "first job");
  ASSERT_THAT(seen.holders, SizeIs(1));
  auto const keys = shared_etcd().keys("seen/queue/");
  EXPECT_EQ("seen/queue/" + seen.holders[0].lease, keys[0]);
  ASSERT_TRUE(seen.ttl_left);
  EXPECT_LE(*seen.ttl_left, 20s);
  EXPECT_EQ(seen.waiting, 2);
  ASSERT_THAT(seen.queue, SizeIs(2));
  EXPECT_EQ("seen/queue/" + seen.queue[0].process.owner, keys[1]);
  EXPECT_EQ("seen/queue/" + seen.queue[0].lease, keys[1]);
  EXPECT_TRUE(seen.queue[0].credit_left);
  EXPECT_EQ(seen.queue[1].process.label, "third job");
  EXPECT_GT(seen.queue[0].token, seen.token);
  EXPECT_GT(seen.queue[1].token, seen.queue[0].token);
  EXPECT_THAT(peek(etcd_, "queue").queue, IsEmpty());
}

TEST_F(etcd_inspect, shows_a_lock_of_etcdctl_as_foreign) {
  auto const other = etcdctl({"lock", "theirs"});
  auto const seen = inspect(etcd_, "theirs");
  EXPECT_EQ(seen.kind, lock_kind::foreign);
  EXPECT_EQ("seen/theirs/" + seen.holder.owner, shared_etcd().keys("seen/theirs/").at(0));
  EXPECT_EQ(seen.holding, 1);
  EXPECT_GT(seen.token, 0);
  EXPECT_FALSE(seen.leads);
}

TEST_F(etcd_inspect, shows_what_a_leader_of_etcdctl_has_proclaimed) {
  auto const other = etcdctl({"elect", "leading", "host-7"});
  auto const seen = inspect(etcd_, "leading");
  EXPECT_EQ(seen.kind, lock_kind::foreign);
  ASSERT_TRUE(seen.leads);
  EXPECT_EQ(seen.leads->value, "host-7");
  EXPECT_EQ(seen.leads->term, seen.token);
}

TEST_F(etcd_inspect, does_not_take_keys_for_locks_that_are_none) {
  shared_etcd().ctl({"put", "seen/config/size", "7"});
  shared_etcd().ctl({"put", "seen/config/1f", "7"});
  auto const seen = inspect(etcd_, "config");
  EXPECT_EQ(seen.kind, lock_kind::other);
  EXPECT_THAT(seen.misfit, HasSubstr("seen/config/size"));
  EXPECT_EQ(seen.waiting, 0);
  EXPECT_THAT(names("*"), testing::Not(testing::Contains("config")));
  EXPECT_EQ(force_release(etcd_, "config", {.foreign = true}), force_result::refused_other);
  EXPECT_THAT(shared_etcd().keys("seen/config/"), SizeIs(2));
  auto const waiter = etcdctl({"lock", "config"});
  EXPECT_EQ(inspect(etcd_, "config").waiting, 1);
  EXPECT_THAT(names("con*"), ElementsAre("config"));
  shared_etcd().ctl({"del", "--prefix", "seen/config/"});
}

TEST_F(etcd_inspect, finds_locks_by_patterns_each_once) {
  std::vector<lease> all;
  std::vector<std::string> wanted;
  for (int i = 0; i != 40; ++i) {
    wanted.push_back("many:" + std::to_string(100 + i));
    mutex lock{etcd_, wanted.back()};
    all.push_back(lock.acquire());
  }
  auto const nested = etcdctl({"lock", "many:100/inner"});
  wanted.insert(wanted.begin() + 1, "many:100/inner");
  EXPECT_THAT(names("many:*"), testing::UnorderedElementsAreArray(wanted));
  EXPECT_THAT(names("many:1[01]1"), ElementsAre("many:101", "many:111"));
  EXPECT_THAT(names("many:139"), ElementsAre("many:139"));
  EXPECT_THAT(names("manx*"), IsEmpty());
  int visited = 0;
  for_each_lock(etcd_, "many:*", [&](lock_state const&) { return ++visited != 3; });
  EXPECT_EQ(visited, 3);
}

TEST_F(etcd_inspect, pages_through_more_keys_than_one_answer_has) {
  constexpr int parts = 11;  // more than one answer has, which is a thousand
  for (int part = 0; part != parts; ++part) {
    std::string puts{"\n"};
    for (int i = 0; i != 100; ++i)
      puts += "put seen/paged/" + std::to_string(part) + "-" + std::to_string(i) + " x\n";
    process loader{shared_etcd().ctl_words({"txn"}), {}, puts + "\n\n"};
    ASSERT_EQ(loader.wait(), 0) << loader.err();
  }
  mutex first{etcd_, "paga"};
  mutex last{etcd_, "pagz"};
  auto const one = first.acquire();
  auto const two = last.acquire();
  EXPECT_THAT(names("pag*"), ElementsAre("paga", "pagz"));
  shared_etcd().ctl({"del", "--prefix", "seen/paged/"});
}

TEST_F(etcd_inspect, refuses_the_wire_of_redis) {
  EXPECT_THROW(for_each_lock(etcd_, "*", [](lock_state const&) { return true; }, wire::redisson), error);
  EXPECT_THROW((void)inspect(etcd_, ""), error);
}

class etcd_force : public etcd_inspect {};

TEST_F(etcd_force, asks_the_holder_who_gives_it_back) {
  mutex lock{etcd_, "asked"};
  auto held = lock.acquire();
  std::jthread const holder{[&] {
    EXPECT_TRUE(eventually([&] { return !held.valid(); }));
    EXPECT_EQ(held.lost_because(), loss_cause::forced);
    (void)held.release();
  }};
  client other{shared_etcd().url("seen"), options()};
  EXPECT_EQ(force_release(other, "asked", {.grace = wait_limit}), force_result::released_by_holder);
  EXPECT_THAT(shared_etcd().keys("seen/asked/"), IsEmpty());
}

/// FOUND 634.
TEST_F(etcd_force, asks_a_holder_that_renews_before_its_watch_begins) {
  mutex lock{etcd_, "early"};
  client other{shared_etcd().url("seen"), options()};
  EXPECT_EQ(force_release(other, "early"), force_result::not_held);
  auto held = lock.acquire();
  std::jthread const asks{[&] {
    EXPECT_EQ(force_release(other, "early", {.grace = 2 * wait_limit}), force_result::released_by_holder);
  }};
  EXPECT_TRUE(eventually([] {
    return shared_etcd().ctl({"get", "--prefix", "seen/early/"}).find("\nasked ") != std::string::npos;
  }));
  held.renew();
  EXPECT_TRUE(eventually([&] { return !held.valid(); }));
  EXPECT_EQ(held.lost_because(), loss_cause::forced);
  (void)held.release();
}

TEST_F(etcd_force, deletes_the_key_of_a_holder_that_does_not_answer_and_wakes_the_next) {
  mutex lock{etcd_, "stubborn"};
  auto const held = lock.acquire();
  client other{shared_etcd().url("seen"), options()};
  mutex there{other, "stubborn"};
  std::jthread const waiter{[&] { EXPECT_TRUE(there.try_acquire_for(wait_limit)); }};
  ASSERT_TRUE(eventually([] { return shared_etcd().keys("seen/stubborn/").size() == 2; }));
  EXPECT_EQ(force_release(other, "stubborn", {.grace = 300ms}), force_result::deleted);
  EXPECT_TRUE(eventually([&] { return held.lost_because() != loss_cause::none; }));
}

TEST_F(etcd_force, does_not_say_of_a_ttl_that_was_over_that_the_holder_gave_the_lock_back) {
  holder frozen{shared_etcd().url("seen"), "kept", 2s};
  ASSERT_THAT(frozen.read_line(), StartsWith("held"));
  frozen.freeze();
  EXPECT_EQ(force_release(etcd_, "kept", {.grace = wait_limit}), force_result::expired);
}

TEST_F(etcd_force, takes_only_from_the_owner_that_is_meant) {
  mutex lock{etcd_, "owned"};
  auto const held = lock.acquire();
  EXPECT_EQ(force_release(etcd_, "owned", {.grace = 0ms, .owner = "somebody:1"}), force_result::changed);
  EXPECT_TRUE(held.valid());
  EXPECT_EQ(force_release(etcd_, "nobody"), force_result::not_held);
}

TEST_F(etcd_force, takes_a_lock_from_etcdctl_only_as_a_foreign_one) {
  auto const other = etcdctl({"lock", "foreign"});
  EXPECT_EQ(force_release(etcd_, "foreign"), force_result::refused_foreign);
  EXPECT_THAT(shared_etcd().keys("seen/foreign/"), SizeIs(1));
  EXPECT_EQ(force_release(etcd_, "foreign", {.foreign = true}), force_result::deleted);
  EXPECT_THAT(shared_etcd().keys("seen/foreign/"), IsEmpty());
}

}  // namespace
}  // namespace holdfast::test
