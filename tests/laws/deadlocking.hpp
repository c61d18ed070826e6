/// Three clients whose threads wait for one another's locks.
#pragma once

#include "law.hpp"

#include <future>

namespace holdfast::test {

inline constexpr lock_options detecting{.detect_deadlock = true};

class deadlock : public testing::Test {
 protected:
  [[nodiscard]] client connect(std::string label = {}) const {
    return client{server_.url(), with_long_timeouts({.label = std::move(label)})};
  }
  /// How many locks have something said beside them.
  [[nodiscard]] std::size_t said() { return raw_.keys("*holdfast_blocked*").size(); }
  [[nodiscard]] bool is_said(std::size_t locks) {
    return eventually([&] { return said() == locks; });
  }
  /// A thread of its own: takes the first lock, and later waits for the second one.
  class party {
   public:
    template <class First, class Second>
    party(First first, Second second) {
      std::promise<void> holding;
      auto holds = holding.get_future();
      thread_ = std::async(std::launch::async, [holding = std::move(holding), first = std::move(first),
                                                second = std::move(second), go = go_.get_future()]() mutable {
        [[maybe_unused]] auto const held = first();
        holding.set_value();
        go.get();
        return failure_of([&] { [[maybe_unused]] auto const other = second(); });
      });
      holds.wait();
    }
    void wait_for_second() { go_.set_value(); }
    [[nodiscard]] failure outcome() { return thread_.get(); }
    [[nodiscard]] bool waits() { return thread_.wait_for(0s) != std::future_status::ready; }

   private:
    std::future<failure> thread_;  // is waited for at the end: a thread that nobody told to go leaves then
    std::promise<void> go_;
  };
  template <class First, class Second>
  static party take(First& first, Second& second) {
    return party{[&first] { return first.acquire(); }, [&second] { return second.acquire(); }};
  }
  /// The last one to wait fails, and the others get their locks.
  void expect_a_circle(std::vector<party*> const& parties) {
    for (std::size_t i = 0; i + 1 != parties.size(); ++i) {
      parties[i]->wait_for_second();
      ASSERT_TRUE(eventually([&] { return said() > i; }));
    }
    parties.back()->wait_for_second();
    auto const youngest = parties.back()->outcome();
    EXPECT_EQ(youngest.code, errc::deadlock) << youngest;
    for (std::size_t i = 0; i + 1 != parties.size(); ++i) {
      auto const older = parties[i]->outcome();
      EXPECT_FALSE(older.code) << older;
    }
    EXPECT_TRUE(is_said(0)) << "something stays behind";
    message_ = youngest.message;
  }

  deployment_under_test server_{};
  raw_servers raw_ = server_.raw();
  client one_ = connect("one");
  client two_ = connect("two");
  client three_ = connect("three");
  std::string message_;
};

}  // namespace holdfast::test
