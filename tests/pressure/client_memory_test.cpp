/// Any one allocation fails in code that isn't one kind of lock: the lifetime of clients, renewals, permits,
/// votes.
#include "short_of_memory.hpp"

#include "support/deployment_under_test.hpp"
#include "support/independent_servers.hpp"
#include "support/long_timeouts.hpp"
#include "support/subjects.hpp"

#include <holdfast/latch.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/semaphore.hpp>

namespace holdfast::test {
namespace {

/// Counts, and allocates nothing.
class balance final : public observer {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "balance"; }
  void on_event(lock_event const& event) override {
    switch (event.what) {
      case event_kind::asked:
        ++waits;
        return;
      case event_kind::acquired:
        ++leases;
        --waits;
        return;
      case event_kind::failed:
      case event_kind::busy:
        --waits;
        return;
      case event_kind::released:
        --leases;
        return;
      case event_kind::missed:
        missed += static_cast<int>(event.count);
        return;
      default:
        return;
    }
  }

  std::atomic<int> waits = 0;
  std::atomic<int> leases = 0;
  std::atomic<int> missed = 0;
};

class memory_of_a_client : public testing::Test {
 protected:
  void ends_well_without(std::int64_t times);

  [[nodiscard]] static std::string name_of(std::int64_t n) { return "orders:" + std::to_string(n); }
  [[nodiscard]] bool is_free(std::string const& name) {
    return eventually([&] { return !raw.exists(name); });
  }

  deployment_under_test server{};
  raw_servers raw = server.raw();
};

TEST_F(memory_of_a_client, may_be_wanting_from_its_making_to_its_end) {
  for_each_allocation([this](std::int64_t n) {
    auto const reached = run_short_of_memory(n, [&] {
      client tested_client{server.url(), with_long_timeouts({})};
      mutex m{tested_client, name_of(n)};
      auto const lease = m.acquire();
      mutex second_mutex{tested_client, name_of(n) + "b"};
      auto const second_lease = second_mutex.acquire();
    });
    EXPECT_TRUE(is_free(name_of(n))) << "it left a lock behind";
    EXPECT_TRUE(is_free(name_of(n) + "b")) << "it left a lock behind";
    return reached;
  });
}

TEST_F(memory_of_a_client, may_be_wanting_for_events_and_the_observer_hears_that) {
  for_each_allocation([this](std::int64_t n) {
    auto const counts = std::make_shared<balance>();
    std::optional<client> tested_client{std::in_place, server.url(),
                                        with_long_timeouts({.observer = counts})};
    mutex m{*tested_client, name_of(n)};
    auto const reached = run_short_of_memory(n, [&] {
      auto const held = m.acquire();
      (void)m.try_acquire();
    });
    tested_client.reset();
    EXPECT_TRUE(counts->missed > 0 || (counts->waits == 0 && counts->leases == 0));
    EXPECT_GE(counts->waits, 0);
    EXPECT_GE(counts->leases, 0);
    return reached;
  });
}

void memory_of_a_client::ends_well_without(std::int64_t times) {
  client other_client{server.url(), with_long_timeouts({})};
  for_each_allocation([&, this](std::int64_t n) {
    mutex other_mutex{other_client, name_of(n) + "b"};
    auto const other_lease = other_mutex.acquire();
    std::optional<client> tested_client{std::in_place, server.url(), with_long_timeouts({})};
    mutex m{*tested_client, name_of(n)};
    mutex busy_mutex{*tested_client, name_of(n) + "b"};
    expiring_semaphore permits{*tested_client, name_of(n) + "c"};
    permits.try_set_permits(20);
    auto mutex_lease = m.acquire();
    std::vector<lease> permit_leases;
    for (auto permit = 0; permit != 20; ++permit) permit_leases.push_back(permits.acquire());
    std::atomic<int> calls = 0;
    mutex_lease.on_lost([&calls](loss_cause cause) { calls += cause == loss_cause::closed ? 1 : 10; });
    auto const stop = mutex_lease.lost();
    busy_mutex.async_acquire([&calls](std::optional<lease> const&, std::exception_ptr const&) { ++calls; });
    EXPECT_TRUE(eventually([&] { return tested_client->stats().waits > 0; }));
    auto const reached = run_short_of_memory(n, [&] { tested_client.reset(); }, times);
    EXPECT_TRUE(eventually([&] { return calls == 2; })) << calls;
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_TRUE(is_free(name_of(n))) << "it left a lock behind";
    return reached;
  });
}

TEST_F(memory_of_a_client, may_be_wanting_once_at_its_end_with_leases_and_waiters) { ends_well_without(1); }

TEST_F(memory_of_a_client, may_be_wanting_for_a_while_at_its_end) { ends_well_without(6); }

TEST_F(memory_of_a_client, may_be_wanting_when_a_thread_ends_that_holds_a_lock) {
  for_each_allocation([this](std::int64_t n) {
    client tested_client{server.url(), with_long_timeouts({.log = [](log_level, std::string_view) {}})};
    mutex m{tested_client, name_of(n)};
    shared_mutex rw{tested_client, name_of(n) + "r"};
    auto const reached = run_short_of_memory(n, [&] {
      m.lock();
      rw.lock();
    });
    EXPECT_TRUE(is_free(name_of(n))) << "it left a lock behind";
    EXPECT_TRUE(is_free(name_of(n) + "r")) << "it left a lock behind";
    return reached;
  });
}

TEST_F(memory_of_a_client, may_be_wanting_for_a_renewal_that_another_one_waits_for) {
  for_each_allocation([this](std::int64_t n) {
    client tested_client{server.url(), with_long_timeouts({})};
    mutex m{tested_client, name_of(n), {.ttl = 3s, .renew_every = 2ms}};
    auto lease = m.acquire();
    auto const reached = run_short_of_memory(n, [&] {
      for (auto round = 0; round != 20; ++round) lease.renew();
    });
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(lease.release(), release_result::released);
    return reached;
  });
}

TEST_F(memory_of_a_client, may_be_wanting_for_a_renewal_without_waiting) {
  for_each_allocation([this](std::int64_t n) {
    client tested_client{server.url(), with_long_timeouts({})};
    mutex m{tested_client, name_of(n), {.ttl = 60s}};
    auto lease = m.acquire();
    std::atomic<bool> over = false;
    auto begun = false;
    auto const reached = run_short_of_memory(n, [&] {
      lease.async_renew([&over](std::exception_ptr const&) { over = true; });
      begun = true;
    });
    EXPECT_TRUE(eventually([&] { return over == begun; }));
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(lease.release(), release_result::released);
    return reached;
  });
}

TEST_F(memory_of_a_client, may_be_wanting_for_a_renewal) {
  for_each_allocation([this](std::int64_t n) {
    client tested_client{server.url(), with_long_timeouts({})};
    mutex m{tested_client, name_of(n), {.ttl = 3s, .renew_every = 20ms}};
    auto lease = m.acquire();
    EXPECT_TRUE(eventually([&] { return tested_client.stats().renewals > 1; }));
    auto const reached = run_short_of_memory(n, [&] {
      uncounted_thread const uncounted;  // the client's own thread is tested
      auto const before = tested_client.stats();
      EXPECT_TRUE(eventually([&] {
        auto const now = tested_client.stats();
        return now.renewal_failures > before.renewal_failures || now.renewals > before.renewals + 1;
      }));
    });
    auto const before = tested_client.stats().renewals;
    EXPECT_TRUE(eventually([&] { return tested_client.stats().renewals > before + 1; }))
        << "it isn't renewed any more";
    EXPECT_TRUE(lease.valid());
    EXPECT_EQ(lease.release(), release_result::released);
    return reached;
  });
}

TEST_F(memory_of_a_client, may_be_wanting_for_permits_latches_and_readers) {
  for_each_allocation([this](std::int64_t n) {
    auto const name = name_of(n);
    client tested_client{server.url(), with_long_timeouts({})};
    semaphore s{tested_client, name + "s"};
    latch l{tested_client, name + "l"};
    expiring_semaphore e{tested_client, name + "e"};
    shared_mutex rw{tested_client, name + "r"};
    s.try_set_permits(1);
    e.try_set_permits(1);
    l.try_set_count(1);
    auto const reached = run_short_of_memory(n, [&] {
      std::jthread const waiter{[&](std::stop_token const& stop) {
        try {
          l.wait(stop);
        } catch (std::exception const&) {  // out of memory, or stopped
        }
      }};
      s.acquire();
      s.release();
      e.acquire().release();
      auto const first_reader = rw.acquire_shared();
      auto const second_reader = rw.acquire_shared();
      l.count_down();
    });
    EXPECT_TRUE(is_idle(tested_client));
    auto permit = e.try_acquire_for(wait_limit);
    EXPECT_TRUE(permit);
    if (permit) permit->release();
    auto writer = rw.try_acquire_for(wait_limit);
    EXPECT_TRUE(writer);
    if (writer) writer->release();
    return reached;
  });
}

TEST(memory_of_a_quorum, may_be_wanting_for_any_of_its_votes) {
  independent_servers masters{3};
  client other_client{masters.url(), with_long_timeouts({})};
  for_each_allocation([&](std::int64_t n) {
    auto const name = "orders:" + std::to_string(n);
    client tested_client{masters.url(), with_long_timeouts({})};
    quorum_mutex m{tested_client, name};
    quorum_mutex other_mutex{other_client, name};
    m.acquire().release();
    auto other_lease = other_mutex.acquire();
    auto const reached = run_short_of_memory(n, [&] {
      std::jthread releaser;
      {
        uncounted_thread const uncounted;
        releaser = std::jthread{[&] {
          uncounted_thread const releaser_uncounted;
          (void)true_within(1s, [&] { return tested_client.stats().waiting_now > 0; });
          other_lease.release();
        }};
      }
      auto lease = m.acquire();
      lease.renew();
      (void)lease.keep_for(20ms);
    });
    EXPECT_TRUE(is_idle(tested_client));
    auto lease_of_other = other_mutex.try_acquire_for(wait_limit);
    EXPECT_TRUE(lease_of_other) << "nobody can have it";
    if (lease_of_other) lease_of_other->release();
    auto lease_of_tested = m.try_acquire_for(wait_limit);
    EXPECT_TRUE(lease_of_tested) << "the client itself can't have it";
    if (lease_of_tested) {
      EXPECT_EQ(lease_of_tested->release(), release_result::released);
    }
    return reached;
  });
}

}  // namespace
}  // namespace holdfast::test
