/// A cluster whose nodes join and leave, are behind proxies, or die and return.
#include "clustered.hpp"
#include "object_channel.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

/// A master without slots stays a master.
class cluster_with_guests : public clustered {
 protected:
  cluster_with_guests()
      : clustered{{.masters = 3, .replicas_each = 0, .args = {"--cluster-allow-replica-migration", "no"}}} {}
};

TEST_F(cluster_with_guests, uses_a_node_that_joins_and_forgets_one_that_leaves) {
  auto& guest = nodes_.node(2);
  for (auto const number : {2U, 0U, 1U}) {  // node 2 first, so that it stops claiming them
    nodes_.node(number).raw().command({"CLUSTER", "DELSLOTSRANGE", "10922", "16383"});
  }
  ASSERT_FALSE(nodes_.node(0).raw().command({"CLUSTER", "ADDSLOTSRANGE", "10922", "16383"}).is_error());
  ASSERT_TRUE(nodes_.wait_until_ok());
  client redis{"redis+cluster://" + nodes_.node(0).address(), {.cas = cas::lua}};
  mutex m{redis, name_, frequent_renewal_};
  auto const lease = m.acquire();
  ASSERT_TRUE(renews(redis));
  ASSERT_EQ(guest.raw().client_ids("normal").size(), 0U) << "it has nothing to be asked for";
  auto const move_slot = [&](redis_server& to) { nodes_.migrate_slot(slot_, slot_master(), to); };
  move_slot(guest);
  EXPECT_TRUE(renews(redis));
  EXPECT_GT(guest.raw().calls_of("pexpire"), 0U);
  move_slot(nodes_.node(1));
  EXPECT_TRUE(renews(redis));
  EXPECT_TRUE(eventually([&] { return guest.raw().client_ids("normal").empty(); })) << "nor has it now";
  guest.kill9();
  EXPECT_TRUE(always(1500ms, [&] { return lease.valid(); }));
  EXPECT_TRUE(renews(redis));
}

TEST_F(cluster_behind_proxies, is_reached_where_the_url_says) {
  client redis{url()};
  for (auto i = 0; i != 20; ++i) {
    mutex m{redis, "orders:" + std::to_string(i)};
    EXPECT_EQ(m.acquire().release(), release_result::released);
  }
  for (auto const& proxy : proxies_) EXPECT_GT(proxy->count("EVALSHA") + proxy->count("EVAL"), 0U);
}

TEST_F(cluster_behind_proxies, names_the_address_that_it_cannot_reach_and_the_remedy) {
  closed_port const unused;
  auto const dead_port = std::to_string(unused.number());
  auto const announced = "127.0.0.1:" + std::to_string(slot_master().port());
  client redis{"redis+cluster://" + proxies_[0]->address() + "?nat=" + announced + "/127.0.0.1:" + dead_port,
               {.connect_timeout = 3s}};
  mutex m{redis, name_};
  auto const failure = failure_of([&] { (void)m.acquire(); });
  EXPECT_EQ(failure.code, errc::unreachable);
  EXPECT_TRUE(failure.mentions("announces this node as " + announced)) << failure.message;
  EXPECT_TRUE(failure.mentions("nat=" + announced)) << failure.message;
}

TEST_F(cluster_behind_proxies, a_node_that_is_cut_off_holds_up_its_own_locks_alone) {
  client redis{url(), {.connect_timeout = 3s, .reply_timeout = 3s}};
  mutex m{redis, name_, frequent_renewal_};
  mutex other_mutex{redis, name_elsewhere(), frequent_renewal_};
  m.acquire().release();
  other_mutex.acquire().release();
  auto& proxy = proxy_of(slot_master());
  proxy.freeze();
  waiter blocked{m};
  for (auto i = 0; i != 20; ++i) EXPECT_EQ(other_mutex.acquire().release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return blocked.done(); }));
  EXPECT_EQ(failure_of([&] { (void)blocked.take(); }).code, errc::unreachable);
  proxy.thaw();
  EXPECT_TRUE(eventually([&] { return !failure_of([&] { m.acquire().release(); }).code; }));
}

/// What was frozen may say nothing until its connection is given up, and answer at once over the next one.
TEST_F(cluster_behind_proxies, asks_the_others_about_a_master_that_it_could_not_reach_for_a_while) {
  client redis{url(), {.connect_timeout = wait_limit, .reply_timeout = wait_limit}};
  mutex m{redis, name_, {.ttl = 10min}};
  m.acquire().release();
  auto& master = slot_master();
  for (auto* const each : nodes_.masters()) {
    if (each == &master) continue;
    proxy_of(*each).decide(
        [](request const& r) { return r.has("INFO") ? fate::delay_reply(4s) : fate::pass(); });
  }
  auto& proxy = proxy_of(master);
  proxy.refuse_connections(true);
  proxy.cut_all();
  waiter asks{m};
  EXPECT_TRUE(always(700ms, [&] { return !asks.done(); }));
  proxy.refuse_connections(false);
  ASSERT_TRUE(eventually([&] { return master.raw().exists(name_); }));
  EXPECT_TRUE(always(500ms, [&] { return !asks.done(); })) << "another one may have taken its place";
  ASSERT_TRUE(eventually([&] { return asks.done(); }));
  EXPECT_TRUE(asks.take().valid());
}

/// It is subscribed in its slot, and beside that in the old way at another node, where software that knows
/// no channels in slots publishes.
TEST_F(cluster_behind_proxies, an_object_is_heard_while_both_its_channels_are_subscribed) {
  auto const name = "redisson_lock__channel:{" + name_ + "}";
  object_channel channel{url(), name};
  ASSERT_TRUE(eventually([&] { return channel.open(); }));
  auto& own = slot_master();
  for (auto const& proxy : proxies_) {  // from here on no plain channel is subscribed again
    proxy->decide([](request const& r) {
      return r.name == "SUBSCRIBE" ? fate::rewrite("*1\r\n$4\r\nPING\r\n") : fate::pass();
    });
  }
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    auto const subscribers = nodes_.node(i).raw().command({"PUBSUB", "NUMSUB", name}).elements.at(1).integer;
    if (subscribers != 0) proxies_[i]->cut_all();
  }
  ASSERT_TRUE(eventually([&] { return !channel.open(); }));
  proxy_of(own).cut_all();
  EXPECT_TRUE(eventually([&] {  // which comes behind the confirmation of the channel in the slot
    (void)own.raw().command({"SPUBLISH", name, "a message"});
    return channel.heard();
  }));
  EXPECT_FALSE(channel.open());
  for (auto const& proxy : proxies_) {
    proxy->decide({});
    proxy->cut_all();
  }
  EXPECT_TRUE(eventually([&] { return channel.open(); }));
}

/// Those who listened may be gone by then.
TEST_F(clustered, ends_with_nothing_left_of_its_connections_for_messages) {
  object_channel channel{nodes_.url(), "redisson_lock__channel:{" + name_ + "}"};
  ASSERT_TRUE(eventually([&] { return channel.open(); }));
  EXPECT_TRUE(channel.still_when_shut());
}

TEST(one_server, ends_with_nothing_left_of_its_connection_for_messages) {
  redis_server const server;
  object_channel channel{server.url(), "redisson_lock__channel:{orders}"};
  ASSERT_TRUE(eventually([&] { return channel.open(); }));
  EXPECT_TRUE(channel.still_when_shut());
}

class replicated_cluster : public clustered {
 protected:
  replicated_cluster() : clustered{cluster_options{}} {}
};

TEST_F(replicated_cluster, carries_a_lock_over_to_the_replica_of_a_master_that_dies) {
  client redis{nodes_.url()};
  client other{nodes_.url(), {.recheck = 500ms}};
  mutex m{redis, name_, {.ttl = 60s, .renew_every = 200ms}};
  mutex other_mutex{other, name_, {.ttl = 60s}};
  auto lease = m.acquire();
  waiter next{other_mutex};
  ASSERT_TRUE(waits(other));
  ASSERT_TRUE(nodes_.wait_until_replicated());
  auto& old_master = slot_master();
  old_master.kill9();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, old_master));
  EXPECT_TRUE(renews(redis));
  EXPECT_TRUE(lease.valid());
  EXPECT_FALSE(next.done());
  auto const token = lease.token();
  EXPECT_EQ(lease.release(), release_result::released);
  ASSERT_TRUE(eventually([&] { return next.done(); }));
  EXPECT_GT(next.take().token(), token);
}

/// The dead one owes its answer for as long as a client may try to connect.
TEST_F(replicated_cluster, that_is_down_is_asked_again_and_again_beside_a_node_that_is_dead) {
  client redis{nodes_.url(), {.connect_timeout = 10min, .reply_timeout = 10min}};
  mutex m{redis, name_};
  m.acquire().release();
  auto& old_master = slot_master();
  auto& replica = nodes_.replica_of(old_master);
  auto& alive = another_master();
  replica.raw().command({"CONFIG", "SET", "cluster-replica-no-failover", "yes"});
  ASSERT_TRUE(nodes_.wait_until_replicated());
  old_master.freeze();  // the client notices nothing, until the others know
  ASSERT_TRUE(eventually([&] {
    return alive.raw().command({"CLUSTER", "INFO"}).text.find("cluster_state:fail") != std::string::npos;
  }));
  old_master.kill9();
  waiter asks{m};
  auto const before = alive.raw().calls_of("cluster|slots");
  EXPECT_TRUE(eventually([&] { return alive.raw().calls_of("cluster|slots") >= before + 5; }));
  EXPECT_FALSE(asks.done());
  replica.raw().command({"CLUSTER", "FAILOVER", "TAKEOVER"});
  ASSERT_TRUE(eventually([&] { return asks.done(); }));
  EXPECT_TRUE(asks.take().valid());
}

TEST_F(replicated_cluster, tells_what_the_new_master_does_not_know) {
  client redis{nodes_.url()};
  mutex m{redis, name_, {.ttl = 60s}};
  m.acquire().release();
  auto& old_master = slot_master();
  auto& replica = nodes_.replica_of(old_master);
  replica.freeze();
  old_master.raw().command(
      {"CLIENT", "KILL", "TYPE", "replica"});  // no later write reaches even the replica's socket
  auto lease = m.acquire();
  old_master.kill9();
  replica.thaw();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, old_master));
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }))
      << "long before the next renewal or the deadline";
  EXPECT_EQ(lease.lost_because(), loss_cause::key_gone);
}

TEST_F(replicated_cluster, repeats_a_release_that_the_new_master_does_not_know) {
  client redis{nodes_.url()};
  mutex m{redis, name_, {.ttl = 10min}};
  auto lease = m.acquire();
  ASSERT_TRUE(nodes_.wait_until_replicated());
  auto& old_master = slot_master();
  auto& replica = nodes_.replica_of(old_master);
  replica.freeze();
  old_master.raw().command({"CLIENT", "KILL", "TYPE", "replica"});
  EXPECT_EQ(lease.release(), release_result::released);
  old_master.kill9();
  replica.thaw();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, old_master));
  client other{nodes_.url()};
  mutex other_mutex{other, name_};
  EXPECT_TRUE(other_mutex.try_acquire_for(wait_limit));
}

/// No connection breaks and no request is under way.
TEST_F(replicated_cluster, tells_an_idle_holder_what_the_new_master_does_not_know) {
  client redis{nodes_.url(), {.connect_timeout = 2 * wait_limit, .reply_timeout = 2 * wait_limit}};
  mutex m{redis, name_, {.ttl = 10min}};
  m.acquire().release();
  auto& old_master = slot_master();
  auto& replica = nodes_.replica_of(old_master);
  replica.freeze();
  old_master.raw().command({"CLIENT", "KILL", "TYPE", "replica"});
  auto const lease = m.acquire();
  old_master.freeze();
  replica.thaw();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, old_master));
  EXPECT_TRUE(eventually([&] { return lease.lost().stop_requested(); }));
  EXPECT_EQ(lease.lost_because(), loss_cause::key_gone);
}

TEST_F(replicated_cluster, repeats_a_release_of_an_idle_client_that_the_new_master_does_not_know) {
  client redis{nodes_.url(), {.connect_timeout = 2 * wait_limit, .reply_timeout = 2 * wait_limit}};
  mutex m{redis, name_, {.ttl = 10min}};
  auto lease = m.acquire();
  ASSERT_TRUE(nodes_.wait_until_replicated());
  auto& old_master = slot_master();
  auto& replica = nodes_.replica_of(old_master);
  replica.freeze();
  old_master.raw().command({"CLIENT", "KILL", "TYPE", "replica"});
  EXPECT_EQ(lease.release(), release_result::released);
  old_master.freeze();
  replica.thaw();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, old_master));
  EXPECT_TRUE(eventually([&] { return !replica.raw().exists(name_); }));
}

/// Its connection is up all the time.
TEST_F(replicated_cluster, does_not_believe_a_master_that_was_replaced_while_it_froze) {
  client redis{nodes_.url(), {.connect_timeout = wait_limit, .reply_timeout = wait_limit}};
  client other{nodes_.url()};
  mutex m{redis, name_, {.ttl = 10min}};
  mutex other_mutex{other, name_, {.ttl = 10min}};
  mutex{redis, name_, {.ttl = 500ms}}.acquire().release();  // soon there is nothing to lose, nothing to ask
  ASSERT_TRUE(nodes_.wait_until_replicated());
  auto& old_master = slot_master();
  old_master.freeze();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, old_master));
  std::optional<lease> others_lease;
  ASSERT_TRUE(eventually([&] {
    return !failure_of([&] { others_lease = other_mutex.try_acquire_for(1s); }).code && others_lease;
  })) << "as soon as it doesn't hear of the frozen master any more";
  auto const token = others_lease->token();
  waiter asks{m};
  EXPECT_TRUE(always(700ms, [&] { return !asks.done(); }));
  old_master.thaw();
  EXPECT_TRUE(always(2s, [&] { return !asks.done(); })) << "the other one has the lock";
  others_lease->release();
  ASSERT_TRUE(eventually([&] { return asks.done(); }));
  EXPECT_GT(asks.take().token(), token);
}

class replicated_cluster_behind_proxies : public cluster_behind_proxies {
 protected:
  replicated_cluster_behind_proxies() : cluster_behind_proxies{cluster_options{}} {}
};

TEST_F(replicated_cluster_behind_proxies, is_asked_whole_before_a_master_that_froze_is_believed) {
  client redis{url(), {.connect_timeout = wait_limit, .reply_timeout = wait_limit}};
  client other{nodes_.url()};
  mutex m{redis, name_, {.ttl = 10min}};
  mutex other_mutex{other, name_, {.ttl = 10min}};
  mutex{redis, name_, {.ttl = 500ms}}.acquire().release();
  ASSERT_TRUE(nodes_.wait_until_replicated());
  auto& old_master = slot_master();
  auto const old_info = old_master.raw().command({"CLUSTER", "INFO"}).text;
  auto masters = nodes_.masters();
  std::erase(masters, &old_master);
  old_master.freeze();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, old_master));
  std::optional<lease> others_lease;
  ASSERT_TRUE(eventually([&] {
    return !failure_of([&] { others_lease = other_mutex.try_acquire_for(1s); }).code && others_lease;
  }));
  auto const token = others_lease->token();
  // One of the other masters was suspended, too, and hasn't heard of the failover yet; the rest answers
  // later.
  auto const answer = "$" + std::to_string(old_info.size()) + "\r\n" + old_info + "\r\n";
  std::vector<flaky_proxy::decision> decisions;
  decisions.reserve(masters.size());
  for (auto* const master : masters) {
    decisions.push_back(
        proxy_of(*master).decide_by([&answer, late = master != masters.front()](request const& r) {
          if (!r.has("INFO")) return fate::pass();
          return late ? fate::delay_reply(500ms) : fate::answer(answer);
        }));
  }
  waiter asks{m};
  EXPECT_TRUE(always(700ms, [&] { return !asks.done(); }));
  old_master.thaw();
  EXPECT_TRUE(always(2s, [&] { return !asks.done(); })) << "the other one has the lock";
  others_lease->release();
  ASSERT_TRUE(eventually([&] { return asks.done(); }));
  EXPECT_GT(asks.take().token(), token);
}

TEST_F(clustered, asks_nothing_for_a_client_with_nothing_to_lose) {
  client redis{nodes_.url()};
  auto const questions = [&] {
    std::uint64_t sum = 0;
    for (auto* const node : nodes_.masters()) sum += node->raw().calls_of("cluster|info");
    return sum;
  };
  mutex m{redis, name_, {.ttl = 3s}};
  auto lease = m.acquire();
  auto const before = questions();
  ASSERT_TRUE(eventually([&] { return questions() > before; })) << "while it holds";
  lease.release();
  EXPECT_TRUE(eventually([&, last = questions()]() mutable {
    return std::exchange(last, questions()) == last && always(2500ms, [&] { return questions() == last; });
  }));
}

TEST_F(replicated_cluster, goes_on_beside_a_master_that_froze_and_comes_back) {
  client redis{nodes_.url(), {.connect_timeout = 1s, .reply_timeout = 1s}};
  mutex m{redis, name_, {.ttl = 60s, .renew_every = 200ms}};
  auto lease = m.acquire();
  ASSERT_TRUE(nodes_.wait_until_replicated());
  auto& frozen_master = slot_master();
  frozen_master.freeze();
  ASSERT_TRUE(nodes_.wait_for_another_master(slot_, frozen_master));
  EXPECT_TRUE(renews(redis));
  frozen_master.thaw();
  ASSERT_TRUE(nodes_.wait_until_ok());
  EXPECT_TRUE(renews(redis));
  EXPECT_TRUE(lease.valid());
  EXPECT_EQ(lease.release(), release_result::released);
  EXPECT_TRUE(m.acquire().valid());
}

TEST_F(replicated_cluster, follows_a_change_of_masters_that_is_planned) {
  client redis{nodes_.url()};
  mutex m{redis, name_, frequent_renewal_};
  auto lease = m.acquire();
  auto& old_master = slot_master();
  nodes_.failover(nodes_.replica_of(old_master));
  EXPECT_TRUE(renews(redis));
  EXPECT_TRUE(lease.valid());
  old_master.stop();
  EXPECT_TRUE(renews(redis));
  EXPECT_EQ(lease.release(), release_result::released);
}

TEST_F(replicated_cluster, believes_the_acknowledgement_of_the_replica_beside_the_master_alone) {
  client redis{nodes_.url()};
  mutex m{redis, name_, {.ttl = 20s, .replicas = 1}};
  m.acquire().release();
  nodes_.failover(nodes_.replica_of(slot_master()));
  ASSERT_TRUE(nodes_.wait_until_replicated());
  auto const lease = m.acquire();
  auto replica = nodes_.replica_of(slot_master()).raw();
  replica.command({"READONLY"});
  EXPECT_EQ(replica.get(name_), lease.owner());
}

}  // namespace
}  // namespace holdfast::test
