// The record of the last run, in a cluster whose slot is under way.
#include "probe/run_record.hpp"
#include "support/cluster_servers.hpp"

#include <holdfast/mutex.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <string>

namespace {

using namespace holdfast::test;
using namespace std::chrono_literals;
using holdfast::run_info;
using holdfast::probe::run_record;

TEST(run_record_in_a_cluster, is_not_acknowledged_by_the_replicas_of_another_server) {
  cluster_servers nodes{{.masters = 3, .replicas_each = 1}};
  std::string const name = "job";
  auto const slot = cluster_servers::slot_of(name);
  holdfast::client redis{nodes.url(), {.connect_timeout = 300ms}};
  holdfast::mutex m{redis, name, {.ttl = 60s}};
  auto const lease = m.acquire();
  run_record record{redis, nodes.url(), name};
  auto const now = record.look().now;
  run_info run{
      .process = holdfast::probe::runner_here(lease.owner(), ""), .token = lease.token(), .began = now};
  ASSERT_TRUE(record.note(run, 24h));  // with this key at the target, too, ASK leads to both
  auto& from = nodes.master_of(slot);
  auto& to = nodes.another_master(slot);
  nodes.begin_migration(slot, from, to);
  nodes.move_keys(slot, from, to);
  ASSERT_TRUE(nodes.wait_until_replicated());
  auto& replica = nodes.replica_of(to);
  replica.freeze();
  run.counts_until = now + 1h;
  EXPECT_THROW(static_cast<void>(record.note(run, 24h, {.replicas = 1, .within = 500ms})), holdfast::error);
  replica.thaw();
}

}  // namespace
