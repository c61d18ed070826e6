/// The same for what isn't one kind of lock: clients from their making to their end, renewals, permits,
/// votes.
#include "short_of_memory.hpp"

#include "support/independent_servers.hpp"
#include "support/registry.hpp"
#include "support/served.hpp"
#include "support/unhurried.hpp"

#include <holdfast/latch.hpp>
#include <holdfast/semaphore.hpp>

namespace holdfast::test {
namespace {

class memory_of_a_client : public testing::Test {
 protected:
  void ends_well_without(std::int64_t times);

  [[nodiscard]] static std::string name_of(std::int64_t n) { return "orders:" + std::to_string(n); }
  [[nodiscard]] bool is_free(std::string const& name) {
    return eventually([&] { return !raw.exists(name); });
  }

  served server{};
  raw_servers raw = server.raw();
};

TEST_F(memory_of_a_client, may_be_wanting_from_its_making_to_its_end) {
  for_each_allocation([this](std::int64_t n) {
    auto const happened = run_short_of_memory(n, [&] {
      client mine{server.url(), unhurried({})};
      mutex m{mine, name_of(n)};
      auto const held = m.acquire();
      mutex other{mine, name_of(n) + "b"};
      auto const more = other.acquire();
    });
    EXPECT_TRUE(is_free(name_of(n))) << "it left a lock behind";
    EXPECT_TRUE(is_free(name_of(n) + "b")) << "it left a lock behind";
    return happened;
  });
}

void memory_of_a_client::ends_well_without(std::int64_t times) {
  client others{server.url(), unhurried({})};
  for_each_allocation([&, this](std::int64_t n) {
    mutex theirs{others, name_of(n) + "b"};
    auto const busy = theirs.acquire();
    std::optional<client> mine{std::in_place, server.url(), unhurried({})};
    mutex m{*mine, name_of(n)};
    mutex waited_for{*mine, name_of(n) + "b"};
    expiring_semaphore permits{*mine, name_of(n) + "c"};
    permits.try_set_permits(20);
    auto held = m.acquire();
    std::vector<lease> of_many;
    for (auto permit = 0; permit != 20; ++permit) of_many.push_back(permits.acquire());
    std::atomic<int> told = 0;
    held.on_lost([&told](loss_cause why) { told += why == loss_cause::closed ? 1 : 10; });
    auto const stop = held.lost();
    waited_for.async_acquire([&told](std::optional<lease> const&, std::exception_ptr const&) { ++told; });
    EXPECT_TRUE(eventually([&] { return mine->stats().waits > 0; }));
    auto const happened = run_short_of_memory(n, [&] { mine.reset(); }, times);
    EXPECT_TRUE(eventually([&] { return told == 2; })) << told;
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_TRUE(is_free(name_of(n))) << "it left a lock behind";
    return happened;
  });
}

TEST_F(memory_of_a_client, may_be_wanting_once_at_its_end_with_leases_and_waiters) { ends_well_without(1); }

TEST_F(memory_of_a_client, may_be_wanting_for_a_while_at_its_end) { ends_well_without(6); }

TEST_F(memory_of_a_client, may_be_wanting_when_a_thread_ends_that_holds_a_lock) {
  for_each_allocation([this](std::int64_t n) {
    client mine{server.url(), unhurried({.log = [](log_level, std::string_view) {}})};
    mutex m{mine, name_of(n)};
    shared_mutex rw{mine, name_of(n) + "r"};
    auto const happened = run_short_of_memory(n, [&] {
      m.lock();
      rw.lock();
    });
    EXPECT_TRUE(is_free(name_of(n))) << "it left a lock behind";
    EXPECT_TRUE(is_free(name_of(n) + "r")) << "it left a lock behind";
    return happened;
  });
}

TEST_F(memory_of_a_client, may_be_wanting_for_a_renewal_that_another_one_waits_for) {
  for_each_allocation([this](std::int64_t n) {
    client mine{server.url(), unhurried({})};
    mutex m{mine, name_of(n), {.ttl = 3s, .renew_every = 2ms}};
    auto held = m.acquire();
    auto const happened = run_short_of_memory(n, [&] {
      for (auto times = 0; times != 20; ++times) held.renew();
    });
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_result::released);
    return happened;
  });
}

TEST_F(memory_of_a_client, may_be_wanting_for_a_renewal) {
  for_each_allocation([this](std::int64_t n) {
    client mine{server.url(), unhurried({})};
    mutex m{mine, name_of(n), {.ttl = 3s, .renew_every = 20ms}};
    auto held = m.acquire();
    EXPECT_TRUE(eventually([&] { return mine.stats().renewals > 1; }));
    auto const happened = run_short_of_memory(n, [&] {
      left_alone const beside;  // it is about the client's own thread
      auto const before = mine.stats();
      EXPECT_TRUE(eventually([&] {
        auto const now = mine.stats();
        return now.renewal_failures > before.renewal_failures || now.renewals > before.renewals + 1;
      }));
    });
    auto const before = mine.stats().renewals;
    EXPECT_TRUE(eventually([&] { return mine.stats().renewals > before + 1; }))
        << "it isn't renewed any more";
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_result::released);
    return happened;
  });
}

TEST_F(memory_of_a_client, may_be_wanting_for_permits_latches_and_readers) {
  for_each_allocation([this](std::int64_t n) {
    auto const name = name_of(n);
    client mine{server.url(), unhurried({})};
    semaphore s{mine, name + "s"};
    latch l{mine, name + "l"};
    expiring_semaphore e{mine, name + "e"};
    shared_mutex rw{mine, name + "r"};
    s.try_set_permits(1);
    e.try_set_permits(1);
    l.try_set_count(1);
    auto const happened = run_short_of_memory(n, [&] {
      std::jthread const waiter{[&](std::stop_token const& over) {
        try {
          l.wait(over);
        } catch (std::exception const&) {  // it has no memory, or is over
        }
      }};
      s.acquire();
      s.release();
      e.acquire().release();
      auto const one = rw.acquire_shared();
      auto const two = rw.acquire_shared();
      l.count_down();
    });
    EXPECT_TRUE(is_at_rest(mine));
    auto permit = e.try_acquire_for(bound_of_waits);
    EXPECT_TRUE(permit);
    if (permit) permit->release();
    auto writing = rw.try_acquire_for(bound_of_waits);
    EXPECT_TRUE(writing);
    if (writing) writing->release();
    return happened;
  });
}

TEST(memory_of_a_quorum, may_be_wanting_for_any_of_its_votes) {
  independent_servers masters{3};
  client others{masters.url(), unhurried({})};
  for_each_allocation([&](std::int64_t n) {
    auto const name = "orders:" + std::to_string(n);
    client mine{masters.url(), unhurried({})};
    quorum_mutex m{mine, name};
    quorum_mutex theirs{others, name};
    m.acquire().release();
    auto busy = theirs.acquire();
    auto const happened = run_short_of_memory(n, [&] {
      std::jthread releases;
      {
        left_alone const beside;
        releases = std::jthread{[&] {
          left_alone const this_thread;
          (void)came_within(1s, [&] { return mine.stats().waiting_now > 0; });
          busy.release();
        }};
      }
      auto mine_now = m.acquire();
      mine_now.renew();
      (void)mine_now.keep_for(20ms);
    });
    EXPECT_TRUE(is_at_rest(mine));
    auto after = theirs.try_acquire_for(bound_of_waits);
    EXPECT_TRUE(after) << "nobody can have it";
    if (after) after->release();
    auto again = m.try_acquire_for(bound_of_waits);
    EXPECT_TRUE(again) << "the client itself can't have it";
    if (again) {
      EXPECT_EQ(again->release(), release_result::released);
    }
    return happened;
  });
}

}  // namespace
}  // namespace holdfast::test
