/// The end of a client that holds many leases.
#include "fault.hpp"

#include <holdfast/fair_mutex.hpp>

#include <algorithm>

namespace holdfast::test {
namespace {

class end_of_a_client : public fault {
 protected:
  /// Acquires "orders:0", "orders:1", … ; the leases outlive the call.
  template <class Mutex = mutex>
  void take(client& redis, std::size_t count) {
    std::vector<std::unique_ptr<Mutex>> locks;
    leases_.clear();
    leases_.resize(count);
    std::atomic<std::size_t> done = 0;
    for (std::size_t i = 0; i != count; ++i) {
      locks.push_back(
          std::make_unique<Mutex>(redis, "orders:" + std::to_string(i), lock_options{.ttl = 10min}));
      locks.back()->async_acquire(
          [&done, &lease_slot = leases_[i]](std::optional<lease> acquired, std::exception_ptr const&) {
            if (acquired) lease_slot = std::move(*acquired);
            ++done;
          });
    }
    ASSERT_TRUE(eventually(1min, [&] { return done == count; }));
    ASSERT_TRUE(std::ranges::all_of(leases_, &lease::valid));
  }
  [[nodiscard]] std::uint64_t scripts_run() { return raw_.calls_of("evalsha") + raw_.calls_of("eval"); }

  std::vector<lease> leases_;
};

TEST_F(end_of_a_client, gives_many_leases_back_in_few_requests) {
  auto redis = std::make_unique<client>(server_.url(), with_long_timeouts());
  take(*redis, 3000);
  auto const before = scripts_run();
  redis.reset();
  EXPECT_LE(scripts_run() - before, 100u);
  EXPECT_EQ(leftover_keys(raw_), std::vector<std::string>{});
  EXPECT_EQ(leases_.front().lost_because(), loss_cause::closed);
}

TEST_F(end_of_a_client, gives_many_fair_leases_back_in_few_requests) {
  auto redis = std::make_unique<client>(server_.url(), with_long_timeouts());
  take<fair_mutex>(*redis, 500);
  auto const before = scripts_run();
  redis.reset();
  EXPECT_LE(scripts_run() - before, 20u);
  EXPECT_EQ(leftover_keys(raw_), std::vector<std::string>{});
}

TEST_F(end_of_a_client, tells_those_who_wait_for_some_of_many_leases) {
  client other{server_.url(), with_long_timeouts({.recheck = 30s})};
  mutex first_mutex{other, "orders:7"};
  mutex second_mutex{other, "orders:299"};
  auto redis = std::make_unique<client>(server_.url(), with_long_timeouts());
  take(*redis, 300);
  waiter first{first_mutex};
  waiter second{second_mutex};
  ASSERT_TRUE(eventually([&] {
    return other.stats().waits == 2 &&
           raw_.command({"PUBSUB", "NUMSUB", "holdfast_inbox:" + other.uuid()}).elements.at(1).integer == 1;
  }));
  redis.reset();
  ASSERT_TRUE(eventually([&] { return first.done() && second.done(); }));
  EXPECT_TRUE(first.take().valid());
  EXPECT_TRUE(second.take().valid());
  EXPECT_TRUE(nothing_left_behind());
}

TEST_F(end_of_a_client, leaves_a_lock_alone_that_belongs_to_somebody_else_by_now) {
  auto redis = std::make_unique<client>(server_.url(), with_long_timeouts());
  take(*redis, 300);
  raw_.command({"SET", "orders:7", "somebody else"});
  redis.reset();
  EXPECT_EQ(leftover_keys(raw_), std::vector<std::string>{"orders:7"});
}

TEST_F(end_of_a_client, says_how_many_it_could_not_give_back) {
  log_lines log;
  auto redis = std::make_unique<client>(server_.url(), with_long_timeouts({.log = log.hook()}));
  take(*redis, 300);
  server_.freeze();
  redis.reset();
  server_.thaw();
  auto unreleased = log.of(log_level::warning);
  std::erase_if(unreleased, [](std::string const& line) { return line.find("lost: ") != std::string::npos; });
  ASSERT_EQ(unreleased.size(), 1u) << testing::PrintToString(unreleased);
  EXPECT_NE(unreleased.front().find(" 300 locks "), std::string::npos) << unreleased.front();
}

}  // namespace
}  // namespace holdfast::test
