// Messages in a cluster. They go to the node of the lock; other tests have a publisher that doesn't know the
// node, or can't count its listeners.

#include "contract/contract.hpp"
#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::contract::sharded_test {

using namespace std::chrono_literals;
using holdfast::engine::publishing;
using testing::ElementsAre;
using testing::IsEmpty;
namespace format = holdfast::recipes::redisson;
namespace names = holdfast::names;

constexpr std::string_view name = "{orders}42";

std::string inbox_of(std::string_view owner) {
  return std::string{name}.append("::holdfast_inbox:").append(owner.substr(0, 36));
}
std::string grant_of(std::string_view owner) {
  return inbox_of(owner) + " granted " + std::string{owner.substr(37)} + " ";
}

/// A lock of `caller`. All waiters are beyond their starvation limit.
class sharded : public testing::Test {
 protected:
  void enqueue(std::string_view owner) {
    EXPECT_THAT(raw_.command(eval(acquire(join_request(owner, "1000"), name))),
                testing::Field("elements", &raw_reply::elements, testing::SizeIs(6)));
  }
  [[nodiscard]] std::string holder() { return raw_.get(std::string{name}).value_or("nobody"); }

  holdfast::test::redis_server& server_ = empty_cluster();
  raw_redis raw_ = server_.raw();
  raw_reply const acquired_ = raw_.command(eval(acquire(try_request(caller), name)));
};

TEST_F(sharded, tells_the_inbox_of_the_lock) {
  publishing_scope const scope{publishing::sharded};
  subscription inboxes{server_, {anna, ben}, name};
  subscription other_lock_inboxes{server_, {anna, ben}, "{orders}another"};
  subscription global_inboxes{server_, {anna, ben}, name, "SUBSCRIBE"};
  enqueue(anna);
  EXPECT_THAT(raw_.command(eval(release(caller, name))), is(1));
  EXPECT_THAT(inboxes.take(), ElementsAre(testing::StartsWith(grant_of(anna))));
  EXPECT_THAT(other_lock_inboxes.take(), IsEmpty());
  EXPECT_THAT(global_inboxes.take(), IsEmpty());
  EXPECT_EQ(holder(), anna);
}

TEST_F(sharded, skips_a_waiter_whom_its_node_does_not_hear) {
  publishing_scope const scope{publishing::sharded};
  subscription inboxes{server_, {ben}, name};
  subscription const global_inboxes{server_, {anna}, name, "SUBSCRIBE"};
  enqueue(anna);
  enqueue(ben);
  EXPECT_THAT(raw_.command(eval(release(caller, name))), is(1));
  EXPECT_THAT(inboxes.take(), ElementsAre(testing::StartsWith(grant_of(ben))));
  EXPECT_EQ(holder(), ben);
}

TEST_F(sharded, leaves_the_lock_free_when_nobody_hears) {
  publishing_scope const scope{publishing::sharded};
  enqueue(anna);
  EXPECT_THAT(raw_.command(eval(release(caller, name))), is(1));
  EXPECT_EQ(holder(), "nobody");
}

// The waiter may listen at another node. PUBLISH reaches the listeners of other nodes, but doesn't count
// them.
TEST_F(sharded, grants_to_whom_nobody_counts) {
  publishing_scope const scope{publishing::uncounted};
  enqueue(anna);
  enqueue(ben);
  EXPECT_THAT(raw_.command(eval(release(caller, name))), is(1));
  EXPECT_EQ(holder(), anna);
}

TEST_F(sharded, is_told_in_both_ways_by_one_who_does_not_know) {
  publishing_scope const scope{publishing::uncounted};
  subscription inboxes{server_, {anna}, name};
  subscription global_inboxes{server_, {anna}, name, "SUBSCRIBE"};
  enqueue(anna);
  EXPECT_THAT(raw_.command(eval(release(caller, name))), is(1));
  EXPECT_THAT(inboxes.take(), ElementsAre(testing::StartsWith(grant_of(anna))));
  EXPECT_THAT(global_inboxes.take(), ElementsAre(testing::StartsWith(grant_of(anna))));
}

/// On Redisson's wire.
class sharded_redisson : public testing::Test {
 protected:
  holdfast::test::redis_server& server_ = empty_cluster();
  raw_redis raw_ = server_.raw();
  raw_reply const acquired_ = raw_.command(eval(format::lock.acquire(name, {.owner = caller, .ttl = 30s})));
  std::string const channel_ = names::redisson::lock_channel(name);
};

TEST_F(sharded_redisson, tells_only_those_who_listen_in_the_slot) {
  subscription in_slot{server_, words{channel_}};
  subscription global_channels{server_};
  EXPECT_THAT(raw_.command(eval(format::lock.release({name, caller}, {.publish = publishing::sharded}))),
              is(1));
  EXPECT_THAT(in_slot.take(), ElementsAre(channel_ + " 0"));
  EXPECT_THAT(global_channels.take(), IsEmpty());
}

// Redisson listens for this if it is old, if it is configured so, or if it probed the wrong node for the
// features of the cluster.
TEST_F(sharded_redisson, tells_all_nodes_too_if_somebody_listens_here_for_that) {
  subscription in_slot{server_, words{channel_}};
  subscription global_inboxes{server_, words{channel_}, "SUBSCRIBE"};
  EXPECT_THAT(raw_.command(eval(format::lock.release({name, caller}, {.publish = publishing::sharded}))),
              is(1));
  EXPECT_THAT(in_slot.take(), ElementsAre(channel_ + " 0"));
  EXPECT_THAT(global_inboxes.take(), ElementsAre(channel_ + " 0"));
}

// A listener of either kind comes before the next caller of the same client.
TEST_F(sharded_redisson, does_not_pass_the_lock_on_while_somebody_listens_to_what_all_nodes_hear) {
  subscription const in_slot{server_, words{channel_}};
  subscription const global_inboxes{server_, words{channel_}, "SUBSCRIBE"};
  EXPECT_THAT(raw_.command(eval(format::lock.pass({name, caller}, {.publish = publishing::sharded},
                                                  {.owner = sibling, .ttl = 30s, .listening = true}))),
              testing::Field("elements", &raw_reply::elements, testing::SizeIs(testing::Gt(1U))));
  EXPECT_FALSE(raw_.command({"EXISTS", std::string{name}}).integer);
}

TEST_F(sharded_redisson, is_told_in_both_ways_by_one_who_does_not_know) {
  subscription in_slot{server_, words{channel_}};
  subscription global_channels{server_};
  EXPECT_THAT(raw_.command(eval(format::lock.release({name, caller}, {.publish = publishing::uncounted}))),
              is(1));
  EXPECT_THAT(in_slot.take(), ElementsAre(channel_ + " 0"));
  EXPECT_THAT(global_channels.take(), ElementsAre(channel_ + " 0"));
}

// The next caller competes like every other: other waiters may have been woken, and come first.
TEST_F(sharded_redisson, does_not_pass_the_lock_on_where_nobody_counts) {
  subscription const in_slot{server_, words{channel_}};
  EXPECT_THAT(raw_.command(eval(format::lock.pass({name, caller}, {.publish = publishing::uncounted},
                                                  {.owner = sibling, .ttl = 30s, .listening = true}))),
              testing::Field("elements", &raw_reply::elements, testing::SizeIs(testing::Gt(1U))));
  EXPECT_FALSE(raw_.command({"EXISTS", std::string{name}}).integer);
}

// As in the reference: the waiter of a fair lock has a channel of its own.
TEST_F(sharded_redisson, tells_the_waiter_of_a_fair_lock) {
  holdfast::engine::release_policy const policy{.credit = 10s, .publish = publishing::sharded};
  raw_.command({"DEL", std::string{name}});
  raw_.command(
      eval(format::fair.acquire(name, {.owner = caller, .ttl = 30s, .join = true, .policy = policy})));
  raw_.command(
      eval(format::fair.acquire(name, {.owner = rival, .ttl = 30s, .join = true, .policy = policy})));
  auto const channel = names::redisson::waiter_channel(name, rival);
  subscription in_slot{server_, words{channel}};
  subscription global_channels{server_};
  EXPECT_THAT(raw_.command(eval(format::fair.release({name, caller}, policy))), is(1));
  EXPECT_THAT(in_slot.take(), ElementsAre(channel + " 0"));
  EXPECT_THAT(global_channels.take(), IsEmpty());
}

}  // namespace holdfast::contract::sharded_test
