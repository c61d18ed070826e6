/// Any one allocation fails: an operation succeeds, or its caller gets an error. No caller waits for ever, no
/// lock is left behind, and the client goes on.
#include "short_of_memory.hpp"

#include "support/deployment_under_test.hpp"
#include "support/long_timeouts.hpp"
#include "support/subjects.hpp"

namespace holdfast::test {
namespace {

/// The arguments of an operation. `busy` returns a lease of the same lock for another client.
struct lock_setup {
  client& tested_client;
  any_lock& lock;
  std::string const& name;
  std::function<lease()> busy;
};

struct operation {
  std::string_view title;
  void (*run)(lock_setup&);
};

/// A second thread that acquires the lock.
class waiting_thread {
 public:
  explicit waiting_thread(any_lock& lock)
      : thread_{[this, &lock] {
          try {
            lease_ = lock.acquire();
            lease_->release();
          } catch (std::exception const&) {
            failure_ = std::current_exception();
          }
          finished_ = true;
        }} {}
  ~waiting_thread() { thread_.join(); }
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  std::optional<lease> lease_;
  std::exception_ptr failure_;
  std::atomic<bool> finished_{false};
  std::thread thread_;
};

void wait_until_waiting(lock_setup const& setup, waiting_thread const& waiter) {
  (void)eventually([&] { return waiter.finished() || setup.tested_client.stats().waiting_now > 0; });
}

operation const operations[]{
    {"lock_and_release", [](lock_setup& setup) { setup.lock.acquire().release(); }},
    {"lock_and_drop", [](lock_setup& setup) { auto const lease = setup.lock.acquire(); }},
    {"try_while_busy",
     [](lock_setup& setup) {
       auto const other_lease = setup.busy();
       EXPECT_FALSE(setup.lock.try_acquire_for(0ms));
     }},
    {"wait_in_vain",
     [](lock_setup& setup) {
       auto const other_lease = setup.busy();
       EXPECT_FALSE(setup.lock.try_acquire_for(30ms));
     }},
    {"wait_and_get",
     [](lock_setup& setup) {
       auto other_lease = setup.busy();
       waiting_thread const waiter{setup.lock};
       wait_until_waiting(setup, waiter);
       other_lease.release();
     }},
    {"hand_over",
     [](lock_setup& setup) {
       auto lease = setup.lock.acquire();
       waiting_thread const waiter{setup.lock};
       wait_until_waiting(setup, waiter);
       lease.release();
     }},
    {"cancel",
     [](lock_setup& setup) {
       auto const other_lease = setup.busy();
       std::stop_source stop;
       std::jthread const canceller{[&](std::stop_token const& canceller_stop) {
         uncounted_thread const uncounted;
         (void)eventually(
             [&] { return canceller_stop.stop_requested() || setup.tested_client.stats().waiting_now > 0; });
         stop.request_stop();
       }};
       (void)setup.lock.try_acquire_for(10s, stop.get_token());
     }},
    {"call_back",
     [](lock_setup& setup) {
       auto const called = std::make_shared<std::atomic<int>>(0);
       setup.lock.async_acquire([called](std::optional<lease> acquired, std::exception_ptr const&) {
         ++*called;
         if (acquired) acquired->async_release([called](release_result) { ++*called; });
       });
       (void)eventually([&] { return called->load() >= 1; });
     }},
    {"keep",
     [](lock_setup& setup) {
       auto lease = setup.lock.acquire();
       (void)lease.keep_for(50ms);
     }},
    {"renew", [](lock_setup& setup) { setup.lock.acquire().renew(); }},
};

struct memory_case {
  subject const* kind;
  operation const* action;
  friend std::ostream& operator<<(std::ostream& out, memory_case const& instance) {
    return out << instance.kind->title << '_' << instance.action->title;
  }
};

/// Kinds of lock for which the engine works differently.
std::vector<memory_case> all_cases() {
  std::vector<memory_case> all;
  for (auto const title :
       {"mutex_inbox", "mutex_poll", "fair_mutex_inbox", "multi_mutex_inbox", "multi_mutex_of_kinds_inbox",
        "mutex_redisson", "fair_mutex_redisson", "shared_mutex_inbox", "shared_mutex_redisson"}) {
    for (auto const& action : operations) all.push_back({&subject_titled(title), &action});
  }
  return all;
}

class short_of_memory : public testing::TestWithParam<memory_case> {
 protected:
  deployment_under_test server{};
};

TEST_P(short_of_memory, goes_on_whichever_allocation_fails) {
  auto const& kind = *GetParam().kind;
  auto options = with_long_timeouts({});
  options.wake = kind.wake;
  client other_client{server.url(), options};
  for_each_allocation([&](std::int64_t n) {
    auto const name = "orders:" + std::to_string(n);
    client tested_client{server.url(), options};
    auto const lock = kind.make(tested_client, name, {});
    auto const other_lock = kind.make(other_client, name, {});
    lock->acquire().release();
    lock_setup setup{tested_client, *lock, name, [&] {
                       uncounted_thread const uncounted;
                       return other_lock->acquire();
                     }};
    auto const reached = run_short_of_memory(n, [&] { GetParam().action->run(setup); });
    EXPECT_TRUE(is_idle(tested_client));
    auto other_lease = other_lock->try_acquire_for(wait_limit);
    EXPECT_TRUE(other_lease) << "nobody can have it";
    if (other_lease) other_lease->release();
    auto tested_lease = lock->try_acquire_for(wait_limit);
    EXPECT_TRUE(tested_lease) << "the client itself can't have it";
    if (tested_lease) {
      EXPECT_EQ(tested_lease->release(), release_result::released);
    }
    return reached;
  });
}

INSTANTIATE_TEST_SUITE_P(every, short_of_memory, testing::ValuesIn(all_cases()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace holdfast::test
