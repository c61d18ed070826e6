/// One allocation fails, whichever it is: what was asked for is done, or its caller hears that it isn't;
/// nobody waits for ever, no lock is left behind, and the client goes on.
#include "allocations.hpp"

#include "support/eventually.hpp"
#include "support/independent_servers.hpp"
#include "support/registry.hpp"
#include "support/sanitizers.hpp"
#include "support/served.hpp"
#include "support/unhurried.hpp"

#include <holdfast/latch.hpp>
#include <holdfast/semaphore.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <system_error>
#include <thread>

namespace holdfast::test {
namespace {

/// What is done while an allocation fails: `busy` is a lease of another client of the same lock.
struct scene {
  client& mine;
  any_lock& lock;
  std::string const& name;
  std::function<lease()> busy;
};

struct operation {
  std::string_view title;
  void (*run)(scene&);
};

/// A thread that waits, while this one goes on.
class waits_beside {
 public:
  explicit waits_beside(any_lock& lock)
      : thread_{[this, &lock] {
          try {
            got_ = lock.acquire();
            got_->release();
          } catch (std::exception const&) {
            failed_ = std::current_exception();
          }
          over_ = true;
        }} {}
  ~waits_beside() { thread_.join(); }
  [[nodiscard]] bool over() const { return over_; }

 private:
  std::optional<lease> got_;
  std::exception_ptr failed_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

void wait_until_waiting(scene const& in, waits_beside const& who) {
  (void)eventually([&] { return who.over() || in.mine.stats().waiting_now > 0; });
}

operation const operations[]{
    {"lock_and_release", [](scene& in) { in.lock.acquire().release(); }},
    {"lock_and_drop", [](scene& in) { auto const held = in.lock.acquire(); }},
    {"try_while_busy",
     [](scene& in) {
       auto const theirs = in.busy();
       EXPECT_FALSE(in.lock.try_acquire_for(0ms));
     }},
    {"wait_in_vain",
     [](scene& in) {
       auto const theirs = in.busy();
       EXPECT_FALSE(in.lock.try_acquire_for(30ms));
     }},
    {"wait_and_get",
     [](scene& in) {
       auto theirs = in.busy();
       waits_beside const waiter{in.lock};
       wait_until_waiting(in, waiter);
       theirs.release();
     }},
    {"hand_over",
     [](scene& in) {
       auto held = in.lock.acquire();
       waits_beside const waiter{in.lock};
       wait_until_waiting(in, waiter);
       held.release();
     }},
    {"cancel",
     [](scene& in) {
       auto const theirs = in.busy();
       std::stop_source stop;
       std::jthread const canceller{[&](std::stop_token const& over) {
         left_alone const beside;
         (void)eventually([&] { return over.stop_requested() || in.mine.stats().waiting_now > 0; });
         stop.request_stop();
       }};
       (void)in.lock.try_acquire_for(10s, stop.get_token());
     }},
    {"call_back",
     [](scene& in) {
       auto const called = std::make_shared<std::atomic<int>>(0);
       in.lock.async_acquire([called](std::optional<lease> got, std::exception_ptr const&) {
         ++*called;
         if (got) got->async_release([called](release_result) { ++*called; });
       });
       (void)eventually([&] { return called->load() >= 1; });
     }},
    {"keep",
     [](scene& in) {
       auto held = in.lock.acquire();
       (void)held.keep_for(50ms);
     }},
    {"renew", [](scene& in) { in.lock.acquire().renew(); }},
};

struct memory_case {
  subject const* kind;
  operation const* what;
  friend std::ostream& operator<<(std::ostream& out, memory_case const& one) {
    return out << one.kind->title << '_' << one.what->title;
  }
};

/// Kinds that differ in what the engine does for them.
std::vector<memory_case> all_cases() {
  std::vector<memory_case> all;
  for (auto const title : {"mutex_inbox", "mutex_poll", "fair_mutex_inbox", "multi_mutex_inbox",
                           "mutex_redisson", "fair_mutex_redisson", "shared_mutex_inbox"}) {
    for (auto const& what : operations) all.push_back({&subject_titled(title), &what});
  }
  return all;
}

/// What hangs can't be joined: the test ends here.
void end_unless(bool over, std::int64_t n) {
  if (over) return;
  std::fprintf(stderr, "it hangs when allocation %lld fails\n", static_cast<long long>(n));
  std::_Exit(1);
}

void expect_to_be_about_memory(std::exception_ptr const& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (std::bad_alloc const&) {
  } catch (std::system_error const& why) {
    // A master whose connection had no memory counts as one that doesn't answer.
    EXPECT_TRUE(why.code() == std::errc::not_enough_memory || why.code() == errc::cancelled ||
                why.code() == errc::unreachable)
        << why.what();
  } catch (std::exception const& why) {
    ADD_FAILURE() << why.what();
  }
}

/// Runs `what`, in which the n-th allocation fails. False: it didn't come to that.
bool run_short_of_memory(std::int64_t n, std::function<void()> const& what) {
  std::atomic<bool> over = false;
  std::exception_ptr failure;
  nth_allocation const here{n, [] { throw std::bad_alloc{}; }};
  std::thread runner{[&] {
    try {
      what();
    } catch (...) {
      failure = std::current_exception();
    }
    over = true;
  }};
  end_unless(eventually([&] { return over.load(); }), n);
  runner.join();
  if (failure) expect_to_be_about_memory(failure);
  return here.happened();
}

bool is_at_rest(client const& who) {
  return eventually([&] { return who.stats().waiting_now == 0 && who.stats().held_now == 0; });
}

/// Calls `round` for the first allocation, the second, and so on, until it says that it didn't come to that.
template <class Round>
void for_each_allocation(Round round) {
  left_alone const this_thread;
  for (std::int64_t n = 0;; ++n) {
    SCOPED_TRACE(n);
    if (!round(n) || testing::Test::HasFailure()) return;
  }
}

class short_of_memory : public testing::TestWithParam<memory_case> {
 protected:
  served server{};
};

TEST_P(short_of_memory, goes_on_whichever_allocation_fails) {
  auto const& kind = *GetParam().kind;
  auto options = unhurried({});
  options.wake = kind.wake;
  client others{server.url(), options};
  for_each_allocation([&](std::int64_t n) {
    auto const name = "orders:" + std::to_string(n);
    client mine{server.url(), options};
    auto const lock = kind.make(mine, name, {});
    auto const theirs = kind.make(others, name, {});
    lock->acquire().release();
    scene in{mine, *lock, name, [&] {
               left_alone const beside;
               return theirs->acquire();
             }};
    auto const happened = run_short_of_memory(n, [&] { GetParam().what->run(in); });
    EXPECT_TRUE(is_at_rest(mine));
    auto after = theirs->try_acquire_for(bound_of_waits);
    EXPECT_TRUE(after) << "nobody can have it";
    if (after) after->release();
    auto again = lock->try_acquire_for(bound_of_waits);
    EXPECT_TRUE(again) << "the client itself can't have it";
    if (again) {
      EXPECT_EQ(again->release(), release_result::released);
    }
    return happened;
  });
}

INSTANTIATE_TEST_SUITE_P(every, short_of_memory, testing::ValuesIn(all_cases()),
                         testing::PrintToStringParamName());

class memory_of_a_client : public testing::Test {
 protected:
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

TEST_F(memory_of_a_client, may_be_wanting_at_its_end_with_leases_and_waiters) {
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
    auto const happened = run_short_of_memory(n, [&] { mine.reset(); });
    EXPECT_TRUE(eventually([&] { return told == 2; })) << told;
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_TRUE(is_free(name_of(n))) << "it left a lock behind";
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
      mine_now.release();
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
