#include "top/model.hpp"

#include <gmock/gmock.h>

#include <random>
#include <string>

namespace {

using namespace holdfast;
using namespace std::chrono_literals;
using cli::top_model;
using std::chrono::microseconds;
using std::chrono::nanoseconds;
using testing::DoubleNear;
using testing::ElementsAre;

constexpr nanoseconds start = 1000s;

/// The server's clock, which has another origin.
microseconds server_time(nanoseconds const now) {
  return std::chrono::duration_cast<microseconds>(now) + std::chrono::hours{100'000};
}

/// A lock that is held since `taken`, as seen at `now`.
lock_state held(std::string const& name, nanoseconds const taken, nanoseconds const now,
                int const waiting = 0) {
  lock_state lock{.name = name, .kind = lock_kind::exclusive};
  lock.holder.owner = "owner";
  lock.held_for = std::chrono::duration_cast<microseconds>(now - taken);
  lock.ttl_left = 30s;
  lock.token = server_time(taken).count();
  lock.waiting = waiting;
  return lock;
}

lock_state free_lock(std::string const& name, nanoseconds const last_taken) {
  return {.name = name, .token = server_time(last_taken).count()};
}

std::vector<std::string> names(top_model const& model, nanoseconds const now) {
  std::vector<std::string> all;
  for (auto const& row : model.rows(now)) all.push_back(row.lock.name);
  return all;
}

TEST(top_model, sorts_by_waiters_then_rate_then_time_held) {
  top_model model;
  for (int i = 1; i <= 5; ++i) {
    auto const now = start + i * 1s;
    model.saw(held("old", start - 60s, now), now);
    model.saw(held("older", start - 90s, now), now);
    model.saw(held("busy", now - 10ms, now), now);
    model.saw(held("wanted", start - 1s, now, 1), now);
    model.saw(held("most wanted", start - 1s, now, 7), now);
  }
  EXPECT_THAT(names(model, start + 5s), ElementsAre("most wanted", "wanted", "busy", "older", "old"));
}

TEST(top_model, estimates_rates_far_above_its_own_from_the_age_of_tokens) {
  std::mt19937 random{20};  // NOLINT: the same each time
  for (double const rate : {0.3, 2.0, 40.0, 3000.0}) {
    std::exponential_distribution<double> age{rate};
    std::vector<double> estimates;
    for (int round = 0; round < 200; ++round) {
      top_model model;
      auto taken = start;
      for (int i = 0; i < 30; ++i) {
        auto const now = start + i * 1s;
        // The last acquisition is as long before now as the next one would be after now.
        auto const last =
            now - std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>{age(random)});
        if (last > now - 1s) taken = last;
        model.saw(held("job", taken, now), now);
      }
      estimates.push_back(model.rows(start + 30s).front().rate);
    }
    std::ranges::sort(estimates);
    EXPECT_THAT(estimates[estimates.size() / 2], DoubleNear(rate, rate * 0.25)) << rate;
  }
}

TEST(top_model, estimates_the_rate_of_a_lock_that_is_mostly_found_free) {
  top_model model;
  for (int i = 0; i < 20; ++i) {
    auto const now = start + i * 1s;
    model.saw(held("another", start, now), now);  // gives the time of the server's clock
    model.saw(free_lock("job", now - 10ms), now);
  }
  EXPECT_GT(model.rows(start + 20s).front().rate, 50);
}

TEST(top_model, counts_nothing_for_a_lock_that_stays_with_its_holder) {
  top_model model;
  for (int i = 0; i < 20; ++i) model.saw(held("job", start - 5s, start + i * 1s), start + i * 1s);
  EXPECT_EQ(model.rows(start + 20s).front().rate, 0);
}

TEST(top_model, forgets_a_rate_that_has_ended) {
  top_model model;
  for (int i = 0; i < 20; ++i) {
    auto const now = start + i * 1s;
    model.saw(held("job", now - 1ms, now), now);
  }
  auto const before = model.rows(start + 20s).front().rate;
  for (int i = 20; i < 60; ++i) model.saw(held("job", start + 19s, start + i * 1s), start + i * 1s);
  auto const after = model.rows(start + 60s).front().rate;
  EXPECT_GT(before, 500);
  EXPECT_LT(after, 0.1);
}

TEST(top_model, goes_on_counting_times_between_looks) {
  top_model model;
  model.saw(held("job", start - 5s, start), start);
  auto const row = model.rows(start + 2s).front();
  EXPECT_EQ(row.lock.held_for, 7s);
  EXPECT_EQ(row.lock.ttl_left, 28s);
  EXPECT_EQ(model.rows(start + 60s).front().lock.ttl_left, 0ms);
}

TEST(top_model, keeps_the_most_contended_when_there_are_too_many) {
  top_model model{3};
  for (int const waiting : {4, 1, 3, 2, 5}) {
    model.saw(held("w" + std::to_string(waiting), start, start, waiting), start);
  }
  EXPECT_EQ(model.size(), 3U);
  EXPECT_THAT(names(model, start), ElementsAre("w5", "w4", "w3"));
}

TEST(top_model, forgets_what_was_not_seen_held_or_waited_for_any_more) {
  top_model model;
  model.saw(held("gone", start, start), start);
  model.saw(held("kept", start, start), start);
  model.saw(held("kept", start, start + 3s), start + 3s);
  model.saw(free_lock("gone", start), start + 3s);
  model.forget_idle(start + 1s);
  EXPECT_THAT(names(model, start + 3s), ElementsAre("kept"));
}

TEST(top_model, names_the_most_contended_of_those_that_were_not_seen_lately) {
  top_model model;
  model.saw(held("a", start, start, 1), start);
  model.saw(held("b", start, start, 2), start);
  model.saw(held("c", start, start, 3), start);
  model.saw(held("b", start, start + 1s, 2), start + 1s);
  EXPECT_THAT(model.older_than(start + 1s, 10), ElementsAre("c", "a"));
  EXPECT_THAT(model.older_than(start + 1s, 1), ElementsAre("c"));
}

TEST(top_model, takes_a_name_on_two_wires_for_two_locks) {
  top_model model;
  model.saw(held("orders", start - 1s, start, 1), start);
  lock_state const other{.name = "orders", .waiting = 2, .wire = wire::redisson};
  model.saw(other, start);
  auto const rows = model.rows(start);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].lock.wire, wire::redisson);
  EXPECT_EQ(rows[1].lock.wire, wire::plain);
}

TEST(top_model, looks_again_at_what_it_knows_only) {
  top_model model;
  model.saw(held("orders", start - 1s, start), start);
  lock_on_wires again;
  again.plain = held("orders", start - 1s, start + 1s, 5);
  again.redisson.name = "orders";
  again.redisson.waiting = 7;
  model.saw_again(again, start + 1s);
  auto const rows = model.rows(start + 1s);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].lock.waiting, 5);
}

}  // namespace
