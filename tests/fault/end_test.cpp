/// The end of a client that holds many leases.
#include "fault.hpp"

#include <holdfast/fair_mutex.hpp>

#include <algorithm>

namespace holdfast::test {
namespace {

class end_of_a_client : public fault {
 protected:
  /// Holds "orders:0", "orders:1", … ; the leases live on.
  template <class Mutex = mutex>
  void take(client& redis, std::size_t count) {
    std::vector<std::unique_ptr<Mutex>> locks;
    held_.clear();
    held_.resize(count);
    std::atomic<std::size_t> done = 0;
    for (std::size_t i = 0; i != count; ++i) {
      locks.push_back(
          std::make_unique<Mutex>(redis, "orders:" + std::to_string(i), lock_options{.ttl = 10min}));
      locks.back()->async_acquire(
          [&done, &slot = held_[i]](std::optional<lease> got, std::exception_ptr const&) {
            if (got) slot = std::move(*got);
            ++done;
          });
    }
    ASSERT_TRUE(eventually(1min, [&] { return done == count; }));
    ASSERT_TRUE(std::ranges::all_of(held_, &lease::valid));
  }
  [[nodiscard]] std::uint64_t scripts_run() { return raw_.calls_of("evalsha") + raw_.calls_of("eval"); }

  std::vector<lease> held_;
};

TEST_F(end_of_a_client, gives_many_leases_back_in_few_requests) {
  auto redis = std::make_unique<client>(server_.url(), unhurried());
  take(*redis, 3000);
  auto const before = scripts_run();
  redis.reset();
  EXPECT_LE(scripts_run() - before, 100u);
  EXPECT_EQ(residue(), std::vector<std::string>{});
  EXPECT_EQ(held_.front().lost_because(), loss_cause::closed);
}

TEST_F(end_of_a_client, gives_many_fair_leases_back_in_few_requests) {
  auto redis = std::make_unique<client>(server_.url(), unhurried());
  take<fair_mutex>(*redis, 500);
  auto const before = scripts_run();
  redis.reset();
  EXPECT_LE(scripts_run() - before, 20u);
  EXPECT_EQ(residue(), std::vector<std::string>{});
}

TEST_F(end_of_a_client, tells_those_who_wait_for_some_of_many_leases) {
  client other{server_.url(), unhurried({.recheck = 30s})};
  mutex one{other, "orders:7"};
  mutex another{other, "orders:299"};
  auto redis = std::make_unique<client>(server_.url(), unhurried());
  take(*redis, 300);
  waiter first{one};
  waiter second{another};
  ASSERT_TRUE(eventually([&] {
    return other.stats().waits == 2 &&
           raw_.command({"PUBSUB", "NUMSUB", "holdfast_inbox:" + other.uuid()}).elements.at(1).integer == 1;
  }));
  redis.reset();
  ASSERT_TRUE(eventually([&] { return first.done() && second.done(); }));
  EXPECT_TRUE(first.take().valid());
  EXPECT_TRUE(second.take().valid());
  EXPECT_TRUE(comes_clean());
}

TEST_F(end_of_a_client, leaves_a_lock_alone_that_belongs_to_somebody_else_by_now) {
  auto redis = std::make_unique<client>(server_.url(), unhurried());
  take(*redis, 300);
  raw_.command({"SET", "orders:7", "somebody else"});
  redis.reset();
  EXPECT_EQ(residue(), std::vector<std::string>{"orders:7"});
}

TEST_F(end_of_a_client, says_how_many_it_could_not_give_back) {
  log_lines log;
  auto redis = std::make_unique<client>(server_.url(), unhurried({.log = log.hook()}));
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
