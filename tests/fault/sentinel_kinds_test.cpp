/// A reader, a permit, a leader and a participant of a barrier, and who waits for them, when the master that
/// sentinels name dies: they go on at the next one, or are told.
#include "sentinel.hpp"

#include <holdfast/barrier.hpp>
#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/inspect.hpp>
#include <holdfast/shared_mutex.hpp>

#include <gmock/gmock.h>

#include <future>

namespace holdfast::test {
namespace {

class sentinel_kinds : public sentinel {
 protected:
  /// The generation, or the error.
  static std::future<std::pair<std::int64_t, std::error_code>> arrive(barrier& at) {
    return std::async(std::launch::async, [&at] {
      std::int64_t generation = 0;
      auto const code = code_of([&] { generation = at.arrive_and_wait(); });
      return std::pair{generation, code};
    });
  }
  [[nodiscard]] bool has_arrived() {
    return eventually([this] { return inspect(other_, "step").holding == 1; });
  }
  /// The master that there is now has heard of the lease since it is one.
  [[nodiscard]] bool is_renewed(std::string const& name) {
    return eventually(failover_time, [&] {
      auto const state = inspect(other_, name);
      return state.holders.size() == 1 && state.holders[0].ttl_left > 29'500ms;
    });
  }
  [[nodiscard]] bool waits(std::string const& name) {
    return eventually([&] { return inspect(other_, name).waiting == 1; });
  }
  void lose_the_master() {
    auto& old_master = servers_.master();
    old_master.kill9();
    thaw_replicas();
    ASSERT_TRUE(servers_.wait_for_another_master(old_master, failover_time));
  }

  client other_{servers_.url()};
  shared_mutex prices_{redis_, "prices", frequent_renewal};
  shared_mutex other_prices_{other_, "prices"};
  expiring_semaphore slots_{redis_, "slots", 1, frequent_renewal};
  expiring_semaphore other_slots_{other_, "slots", 1};
  election scheduler_{redis_, "scheduler", frequent_renewal};
  election other_scheduler_{other_, "scheduler"};
  barrier step_{redis_, "step", 2};
  barrier other_step_{other_, "step", 2};
};

TEST_F(sentinel_kinds, go_on_at_the_next_master_if_it_has_their_data) {
  auto reading = prices_.acquire_shared();
  auto permit = slots_.acquire();
  auto leading = scheduler_.campaign("10.0.0.7");
  auto arrival = arrive(step_);
  ASSERT_TRUE(has_arrived());
  pending writer;
  other_prices_.async_acquire(writer.handler());
  pending next_permit;
  other_slots_.async_acquire(next_permit.handler());
  pending candidate;
  other_scheduler_.async_campaign("10.0.0.8", candidate.handler());
  ASSERT_TRUE(waits("prices") && waits("slots") && waits("scheduler"));
  ASSERT_TRUE(servers_.wait_until_replicated());
  lose_the_master();
  EXPECT_TRUE(is_renewed("prices") && is_renewed("slots") && is_renewed("scheduler"));
  EXPECT_TRUE(reading.valid() && permit.valid() && leading.valid());
  EXPECT_EQ(redis_.stats().lost, 0u);
  auto const leader = other_scheduler_.leader();
  ASSERT_TRUE(leader);
  EXPECT_EQ(leader->value, "10.0.0.7");
  EXPECT_EQ(leader->term, leading.token());
  EXPECT_FALSE(writer.done() || next_permit.done() || candidate.done());

  auto const tokens = std::array{reading.token(), permit.token(), leading.token()};
  EXPECT_EQ(reading.release(), release_result::released);
  EXPECT_EQ(permit.release(), release_result::released);
  EXPECT_EQ(leading.release(), release_result::released);
  auto const all_done = [&] { return writer.done() && next_permit.done() && candidate.done(); };
  ASSERT_TRUE(eventually(failover_time, all_done));
  EXPECT_GT(writer.take()->token(), tokens[0]);
  EXPECT_GT(next_permit.take()->token(), tokens[1]);
  EXPECT_GT(candidate.take()->token(), tokens[2]);
  auto other_arrival = arrive(other_step_);
  auto const opened = arrival.get();
  EXPECT_FALSE(opened.second) << opened.second.message();
  EXPECT_EQ(other_arrival.get(), opened);
}

TEST_F(sentinel_kinds, are_told_that_the_next_master_does_not_have_their_data) {
  stop_replication();
  auto const reading = prices_.acquire_shared();
  auto const permit = slots_.acquire();
  auto const leading = scheduler_.campaign("10.0.0.7");
  auto arrival = arrive(step_);
  ASSERT_TRUE(has_arrived());
  lose_the_master();
  auto const all_lost = [&] {
    return reading.lost().stop_requested() && permit.lost().stop_requested() &&
           leading.lost().stop_requested();
  };
  EXPECT_TRUE(eventually(failover_time, all_lost));
  for (auto const* const each : {&reading, &permit, &leading})
    EXPECT_EQ(each->lost_because(), loss_cause::key_gone);
  EXPECT_EQ(arrival.get().second, errc::broken);
  EXPECT_FALSE(other_scheduler_.leader());
  auto const next = other_scheduler_.campaign("10.0.0.8");
  EXPECT_GT(next.token(), leading.token());
  EXPECT_GT(other_slots_.acquire().token(), permit.token());
  EXPECT_TRUE(other_prices_.try_acquire());
  auto again = arrive(step_);
  auto other_arrival = arrive(other_step_);
  auto const opened = again.get();
  EXPECT_FALSE(opened.second) << opened.second.message();
  EXPECT_EQ(other_arrival.get(), opened);
}

}  // namespace
}  // namespace holdfast::test
