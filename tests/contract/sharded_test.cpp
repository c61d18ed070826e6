// Messages in a cluster, which go to the node that has the lock; and where that isn't known, or can't be.

#include "contract/contract.hpp"
#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "sync/redisson.hpp"

namespace holdfast::contract::sharded_test {

using namespace std::chrono_literals;
using holdfast::engine::publishing;
using testing::ElementsAre;
using testing::IsEmpty;
namespace format = holdfast::sync::redisson;
namespace names = holdfast::names;

constexpr std::string_view name = "{orders}42";

std::string inbox_of(std::string_view owner) {
  return std::string{name}.append("::holdfast_inbox:").append(owner.substr(0, 36));
}
std::string grant_of(std::string_view owner) {
  return inbox_of(owner) + " granted " + std::string{owner.substr(37)} + " ";
}

/// A lock that `me` holds and others wait for, all for longer than their starvation limit.
class sharded : public testing::Test {
 protected:
  void wait(std::string_view owner) {
    EXPECT_THAT(raw_.command(eval(acquire(joins(owner, "1000"), name))),
                testing::Field("elements", &raw_reply::elements, testing::SizeIs(6)));
  }
  [[nodiscard]] std::string holder() { return raw_.get(std::string{name}).value_or("nobody"); }

  holdfast::test::redis_server& server_ = empty_cluster();
  raw_redis raw_ = server_.raw();
  raw_reply const held_ = raw_.command(eval(acquire(asks(me), name)));
};

TEST_F(sharded, tells_the_inbox_of_the_lock) {
  as_told const in_this_way{publishing::sharded};
  ears inboxes{server_, {anna, ben}, name};
  ears of_another{server_, {anna, ben}, "{orders}another"};
  ears in_all_nodes{server_, {anna, ben}, name, "SUBSCRIBE"};
  wait(anna);
  EXPECT_THAT(raw_.command(eval(release(me, name))), is(1));
  EXPECT_THAT(inboxes.take(), ElementsAre(testing::StartsWith(grant_of(anna))));
  EXPECT_THAT(of_another.take(), IsEmpty());
  EXPECT_THAT(in_all_nodes.take(), IsEmpty());
  EXPECT_EQ(holder(), anna);
}

TEST_F(sharded, skips_a_waiter_whom_its_node_does_not_hear) {
  as_told const in_this_way{publishing::sharded};
  ears inboxes{server_, {ben}, name};
  ears const in_all_nodes{server_, {anna}, name, "SUBSCRIBE"};
  wait(anna);
  wait(ben);
  EXPECT_THAT(raw_.command(eval(release(me, name))), is(1));
  EXPECT_THAT(inboxes.take(), ElementsAre(testing::StartsWith(grant_of(ben))));
  EXPECT_EQ(holder(), ben);
}

TEST_F(sharded, leaves_the_lock_free_when_nobody_hears) {
  as_told const in_this_way{publishing::sharded};
  wait(anna);
  EXPECT_THAT(raw_.command(eval(release(me, name))), is(1));
  EXPECT_EQ(holder(), "nobody");
}

// It may listen at another node, whose listeners PUBLISH reaches and doesn't count.
TEST_F(sharded, grants_to_whom_nobody_counts) {
  as_told const in_this_way{publishing::uncounted};
  wait(anna);
  wait(ben);
  EXPECT_THAT(raw_.command(eval(release(me, name))), is(1));
  EXPECT_EQ(holder(), anna);
}

TEST_F(sharded, is_told_in_both_ways_by_one_who_does_not_know) {
  as_told const in_this_way{publishing::uncounted};
  ears inboxes{server_, {anna}, name};
  ears in_all_nodes{server_, {anna}, name, "SUBSCRIBE"};
  wait(anna);
  EXPECT_THAT(raw_.command(eval(release(me, name))), is(1));
  EXPECT_THAT(inboxes.take(), ElementsAre(testing::StartsWith(grant_of(anna))));
  EXPECT_THAT(in_all_nodes.take(), ElementsAre(testing::StartsWith(grant_of(anna))));
}

/// On Redisson's wire.
class sharded_redisson : public testing::Test {
 protected:
  holdfast::test::redis_server& server_ = empty_cluster();
  raw_redis raw_ = server_.raw();
  raw_reply const held_ = raw_.command(eval(format::lock.acquire(name, {.owner = me, .ttl = 30s})));
  std::string const channel_ = names::redisson::lock_channel(name);
};

TEST_F(sharded_redisson, tells_only_those_who_listen_in_the_slot) {
  ears in_slot{server_, words{channel_}};
  ears elsewhere{server_};
  EXPECT_THAT(raw_.command(eval(format::lock.release({name, me}, {.publish = publishing::sharded}))), is(1));
  EXPECT_THAT(in_slot.take(), ElementsAre(channel_ + " 0"));
  EXPECT_THAT(elsewhere.take(), IsEmpty());
}

// Redisson may, if it is old, was told to, or has asked the wrong node what the cluster can do.
TEST_F(sharded_redisson, tells_all_nodes_too_if_somebody_listens_here_for_that) {
  ears in_slot{server_, words{channel_}};
  ears in_all_nodes{server_, words{channel_}, "SUBSCRIBE"};
  EXPECT_THAT(raw_.command(eval(format::lock.release({name, me}, {.publish = publishing::sharded}))), is(1));
  EXPECT_THAT(in_slot.take(), ElementsAre(channel_ + " 0"));
  EXPECT_THAT(in_all_nodes.take(), ElementsAre(channel_ + " 0"));
}

// Who listens in either way comes before the next caller of the same client.
TEST_F(sharded_redisson, does_not_pass_the_lock_on_while_somebody_listens_to_what_all_nodes_hear) {
  ears const in_slot{server_, words{channel_}};
  ears const in_all_nodes{server_, words{channel_}, "SUBSCRIBE"};
  EXPECT_THAT(raw_.command(eval(format::lock.pass({name, me}, {.publish = publishing::sharded},
                                                  {.owner = sibling, .ttl = 30s, .listening = true}))),
              testing::Field("elements", &raw_reply::elements, testing::SizeIs(testing::Gt(1U))));
  EXPECT_FALSE(raw_.command({"EXISTS", std::string{name}}).integer);
}

TEST_F(sharded_redisson, is_told_in_both_ways_by_one_who_does_not_know) {
  ears in_slot{server_, words{channel_}};
  ears elsewhere{server_};
  EXPECT_THAT(raw_.command(eval(format::lock.release({name, me}, {.publish = publishing::uncounted}))),
              is(1));
  EXPECT_THAT(in_slot.take(), ElementsAre(channel_ + " 0"));
  EXPECT_THAT(elsewhere.take(), ElementsAre(channel_ + " 0"));
}

// Its next caller asks like everybody else: others may have been told, and come first.
TEST_F(sharded_redisson, does_not_pass_the_lock_on_where_nobody_counts) {
  ears const in_slot{server_, words{channel_}};
  EXPECT_THAT(raw_.command(eval(format::lock.pass({name, me}, {.publish = publishing::uncounted},
                                                  {.owner = sibling, .ttl = 30s, .listening = true}))),
              testing::Field("elements", &raw_reply::elements, testing::SizeIs(testing::Gt(1U))));
  EXPECT_FALSE(raw_.command({"EXISTS", std::string{name}}).integer);
}

// As the reference has it: the waiter of a fair lock has a channel of its own.
TEST_F(sharded_redisson, tells_the_waiter_of_a_fair_lock) {
  holdfast::engine::release_policy const terms{.credit = 10s, .publish = publishing::sharded};
  raw_.command({"DEL", std::string{name}});
  raw_.command(eval(format::fair.acquire(name, {.owner = me, .ttl = 30s, .join = true, .policy = terms})));
  raw_.command(eval(format::fair.acquire(name, {.owner = you, .ttl = 30s, .join = true, .policy = terms})));
  auto const channel = names::redisson::waiter_channel(name, you);
  ears in_slot{server_, words{channel}};
  ears elsewhere{server_};
  EXPECT_THAT(raw_.command(eval(format::fair.release({name, me}, terms))), is(1));
  EXPECT_THAT(in_slot.take(), ElementsAre(channel + " 0"));
  EXPECT_THAT(elsewhere.take(), IsEmpty());
}

}  // namespace holdfast::contract::sharded_test
