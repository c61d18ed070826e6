/// What a report says of a holder's trace when it is read long after the lock was busy.

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <holdfast/mutex.hpp>
#include <memory>
#include <optional>
#include <string>

#include "memory/tracing.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr auto next_trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class late_report : public tracing_in_memory {
 protected:
  /// The first holds the lock and the second waits, by a request that has brought tokens for handoffs.
  void begin(mutex& m, std::string of_first, std::string of_second) {
    mutex foreign{other, "orders"};
    auto before_both = foreign.acquire();
    ask(m, std::move(of_first), first_);
    time.advance(1ms);
    ask(m, std::move(of_second), second_);
    before_both.release();
    time.settle();
    ASSERT_TRUE(first_);
    ASSERT_FALSE(second_);
    owner_ = first_->owner();
  }
  void hand_over() {
    first_->release();
    time.settle();
    ASSERT_TRUE(second_);
    ASSERT_EQ(second_->owner(), owner_) << "it wasn't handed over within the process";
  }

  std::optional<lease> first_;
  std::optional<lease> second_;
  std::string owner_;

 private:
  void ask(mutex& m, std::string trace, std::optional<lease>& to) {
    hears->traced = std::move(trace);
    m.async_acquire([&to](std::optional<lease> got, std::exception_ptr const&) { to = std::move(got); });
  }
};

TEST_F(late_report, does_not_name_the_work_that_the_lock_was_handed_over_to) {
  mutex m{redis, "orders"};
  mutex watch{other, "orders"};
  begin(m, a_trace, next_trace);
  EXPECT_FALSE(watch.try_acquire());
  time.advance(5ms);
  hand_over();
  time.advance(2s);
  EXPECT_EQ(watch.last_busy()->holder.owner, owner_);
  EXPECT_EQ(watch.last_busy()->holder.trace, "");
}

TEST_F(late_report, does_not_name_it_after_a_long_hold_either) {
  mutex m{redis, "orders", {.starvation_limit = 1h, .handoff_time = 1h}};
  mutex watch{other, "orders"};
  begin(m, a_trace, next_trace);
  time.advance(450ms);
  EXPECT_FALSE(watch.try_acquire());
  hand_over();
  time.advance(2s);
  EXPECT_EQ(watch.last_busy()->holder.trace, "");
}

TEST_F(late_report, does_not_name_it_within_the_process) {
  mutex m{redis, "orders"};
  begin(m, "", next_trace);
  EXPECT_FALSE(m.try_acquire());
  time.advance(2ms);
  hand_over();
  EXPECT_EQ(m.last_busy()->holder.owner, owner_);
  EXPECT_EQ(m.last_busy()->holder.trace, "") << "the work that was in the way had none";
}

TEST_F(late_report, names_work_that_the_lock_was_handed_over_to_in_the_process_alone) {
  mutex m{redis, "orders"};
  begin(m, a_trace, next_trace);
  hand_over();
  EXPECT_FALSE(m.try_acquire());
  EXPECT_EQ(m.last_busy()->holder.trace, next_trace);
  time.advance(2s);
  EXPECT_EQ(seen(), "");
}

}  // namespace
}  // namespace holdfast
