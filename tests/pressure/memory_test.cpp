/// One allocation fails, whichever it is: what was asked for is done, or its caller hears that it isn't;
/// nobody waits for ever, no lock is left behind, and the client goes on.
#include "short_of_memory.hpp"

#include "support/registry.hpp"
#include "support/served.hpp"
#include "support/unhurried.hpp"

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

}  // namespace
}  // namespace holdfast::test
