/// Tokens of several masters grow from lease to lease, whichever majority gives them out.
#include "quorum.hpp"

#include "base/ids.hpp"

#include <random>

namespace holdfast::test {
namespace {

/// Masters that persist every write that they acknowledge.
class quorum_tokens : public five_masters {
 protected:
  quorum_tokens() : five_masters{{.persistent = true}} {}

  /// Sets each master's counter to another value, in random order, as after long outages.
  void spread_counters(std::minstd_rand& random) {
    std::vector<int> steps{0, 3'000, 70'000, 500'000, 9'000'000};
    std::ranges::shuffle(steps, random);
    for (std::size_t i = 0; i != masters_.size(); ++i) {
      masters_[i].raw().command({"SET", "{orders}:holdfast_token", std::to_string(1'000'000 + steps[i])});
    }
  }
};

TEST_F(quorum_tokens, grow_when_the_majorities_have_one_master_in_common) {
  std::minstd_rand random{static_cast<std::minstd_rand::result_type>(random_seed())};
  spread_counters(random);
  std::int64_t last = 0;
  std::vector<std::size_t> order{0, 1, 2, 3, 4};
  for (auto i = 0; i < 8; ++i) {
    std::ranges::shuffle(order, random);
    masters_[order[0]].freeze();
    masters_[order[1]].freeze();
    {
      client redis{masters_.url()};  // a client that knows no earlier tokens
      auto lease = quorum_mutex(redis, "orders", {.ttl = 5s}).acquire();
      EXPECT_GT(lease.token(), last);
      last = lease.token();
      EXPECT_EQ(lease.release(), release_result::released);
    }
    masters_[order[0]].thaw();
    masters_[order[1]].thaw();
  }
}

TEST_F(quorum_tokens, grow_strictly_while_masters_are_frozen_and_restarted) {
  auto const seed = static_cast<std::minstd_rand::result_type>(random_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::minstd_rand random{seed};
  spread_counters(random);

  std::atomic<std::int64_t> newest = 0;
  std::atomic<int> leases = 0;
  std::atomic<int> older = 0;
  std::vector<std::jthread> contenders;
  for (auto i = 0; i < 4; ++i) {
    contenders.emplace_back([&](std::stop_token const& stop) {
      while (!stop.stop_requested()) {
        client redis{masters_.url(), {.reply_timeout = 1s}};
        quorum_mutex m{redis, "orders", {.ttl = 4s}};
        for (auto times = 0; times < 20 && !stop.stop_requested(); ++times) {
          try {
            auto lease = m.try_acquire_for(500ms);
            if (!lease) continue;
            auto const before = newest.exchange(lease->token());
            if (lease->valid() && lease->token() <= before) ++older;
            ++leases;
            (void)lease->release();
          } catch (error const&) {  // too few masters at this moment
          }
        }
      }
    });
  }
  std::uniform_int_distribution<std::size_t> any_master{0, 4};
  for (auto round = 0; round < 10; ++round) {
    auto const frozen = any_master(random);
    auto const killed = any_master(random);
    auto const before = leases.load();
    masters_[frozen].freeze();
    if (killed != frozen) masters_[killed].kill9();
    EXPECT_TRUE(eventually([&] { return leases > before + 3; }));
    masters_[frozen].thaw();
    if (killed != frozen) masters_[killed].start();
  }
  for (auto& contender : contenders) contender.request_stop();
  contenders.clear();
  EXPECT_EQ(older, 0) << "of " << leases;
}

}  // namespace
}  // namespace holdfast::test
