/// The trace of the work that holds a lock, as others see it.
#include "law.hpp"

#include <holdfast/inspect.hpp>

#include "support/event_book.hpp"

namespace holdfast::test {
namespace {

constexpr auto first_trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr auto second_trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class holder_trace : public testing::Test {
 protected:
  [[nodiscard]] std::string seen() {
    if (watching_.try_acquire()) return "free";
    auto const busy = watching_.last_busy();
    return busy ? busy->holder.trace : "nobody";
  }
  [[nodiscard]] std::string traces_in_record() {
    return raw_.command({"HGET", "holdfast_client:" + working_.uuid(), "traces"}).text;
  }

  /// One caller has the lock, by a request that has brought tokens for handoffs, and another one of the same
  /// process waits for it.
  void begin_both() {
    first_ = {};
    second_ = {};
    auto foreign = watching_.acquire();
    book_->traced = first_trace;
    work_.async_acquire(first_.handler());
    book_->traced = second_trace;
    work_.async_acquire(second_.handler());
    ASSERT_TRUE(eventually([&] { return working_.stats().waiting_now == 2; }));
    foreign.release();
    ASSERT_TRUE(eventually([&] { return first_.done(); }));
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  std::shared_ptr<event_book> book_ = std::make_shared<event_book>();
  client working_{server_.url(), with_long_timeouts({.observer = book_})};
  client other_{server_.url(), with_long_timeouts()};
  // A lease may be handed over within the process, however long it was held.
  mutex work_{working_, "orders", {.handoff_time = 1h}};
  mutex watching_{other_, "orders"};
  pending first_;
  pending second_;
};

TEST_F(holder_trace, is_named_to_one_that_goes_without_the_lock) {
  book_->traced = first_trace;
  auto const lease = work_.acquire();
  EXPECT_TRUE(eventually([&] { return seen() == first_trace; }));
}

TEST_F(holder_trace, is_named_to_those_who_look) {
  book_->traced = first_trace;
  auto const lease = work_.acquire();
  EXPECT_TRUE(eventually([&] { return inspect(other_, "orders").holder.trace == first_trace; }));
}

TEST_F(holder_trace, is_not_said_of_short_work) {
  book_->traced = first_trace;
  passes_in_one_round_of(5, [&] {  // unless the machine stops it for half a second
    work_.acquire().release();
    auto const commands = commands_at_rest(working_);
    for (auto i = 0; i < 10; ++i) work_.acquire().release();
    EXPECT_LE(working_.stats().commands, commands + 20);
    EXPECT_EQ(traces_in_record(), "-");
  });
}

TEST_F(holder_trace, is_never_that_of_the_caller_before_in_the_same_process) {
  begin_both();
  auto first = first_.take();
  auto const before = first->owner();
  ASSERT_TRUE(eventually([&] { return seen() == first_trace; }));
  first->release();
  ASSERT_TRUE(eventually([&] { return second_.done(); }));
  auto const second = second_.take();
  EXPECT_NE(second->owner(), before);
  EXPECT_NE(seen(), first_trace);
  EXPECT_TRUE(eventually([&] { return seen() == second_trace; }));
}

// Otherwise the law above would say nothing.
TEST_F(holder_trace, keeps_no_lease_from_the_next_caller_before_it_is_said) {
  passes_in_one_round_of(5, [&] {  // unless the machine stops it for half a second
    begin_both();
    auto first = first_.take();
    auto const before = first->owner();
    first->release();
    ASSERT_TRUE(eventually([&] { return second_.done(); }));
    EXPECT_EQ(second_.take()->owner(), before);
  });
}

TEST_F(holder_trace, is_not_that_of_the_caller_before_if_the_next_has_none) {
  book_->traced = first_trace;
  auto first = work_.acquire();
  ASSERT_TRUE(eventually([&] { return seen() == first_trace; }));
  first.release();
  book_->traced.clear();
  auto const next = work_.acquire();
  EXPECT_EQ(seen(), "");
}

TEST_F(holder_trace, is_known_at_once_in_the_same_process) {
  book_->traced = first_trace;
  auto const lease = work_.acquire();
  EXPECT_FALSE(work_.try_acquire());
  ASSERT_TRUE(work_.last_busy());
  EXPECT_EQ(work_.last_busy()->holder.trace, first_trace);
  EXPECT_EQ(work_.last_busy()->holder.owner, lease.owner());
}

TEST_F(holder_trace, is_said_by_no_client_whose_work_has_none) {
  auto const lease = work_.acquire();
  auto const record = "holdfast_client:" + working_.uuid();
  ASSERT_TRUE(eventually([&] { return raw_.exists(record); }));
  EXPECT_EQ(raw_.command({"HEXISTS", record, "traces"}).integer, 0);
}

TEST_F(holder_trace, is_said_by_no_client_without_an_observer) {
  auto const lease = watching_.acquire();
  auto const record = "holdfast_client:" + other_.uuid();
  ASSERT_TRUE(eventually([&] { return raw_.exists(record); }));
  EXPECT_EQ(raw_.command({"HEXISTS", record, "traces"}).integer, 0);
}

}  // namespace
}  // namespace holdfast::test
