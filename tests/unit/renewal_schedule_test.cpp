#include "engine/renewal_schedule.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "engine/core.hpp"
#include "net/deployment_url.hpp"
#include "wire/plain/exclusive.hpp"

namespace {

using namespace std::chrono_literals;
using holdfast::time_point;
using holdfast::engine::lease_state;
using holdfast::engine::lease_state_ptr;
using holdfast::engine::renewal_schedule;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr time_point start{1h};

/// Leases of a client that never connects to its server.
class leases {
 public:
  lease_state& operator[](std::size_t i) {
    while (all_.size() <= i) all_.emplace_back(new lease_state{queue_, options_, all_.size() + 1, 1});
    return *all_[i];
  }

 private:
  std::shared_ptr<holdfast::engine::core> core_ = std::make_shared<holdfast::engine::core>(
      holdfast::net::parse_deployment_url("redis://localhost"), holdfast::client_options{});
  holdfast::engine::lock_queue_ptr queue_ = core_->pin(holdfast::recipes::plain::exclusive, "orders:42");
  holdfast::engine::effective_options_ptr options_{
      new holdfast::engine::effective_options{holdfast::lock_options{}}};
  std::vector<lease_state_ptr> all_;
};

/// The numbers of the due leases, in the order of pop().
std::vector<std::uint64_t> due(renewal_schedule& schedule, time_point now) {
  std::vector<std::uint64_t> numbers;
  while (auto* const lease = schedule.pop(now)) numbers.push_back(lease->number());
  return numbers;
}

/// The time of the first pop() of the lease at or after `due_at`, calling pop() exactly at earliest() and
/// putting the lease back before that.
time_point time_of_look(renewal_schedule& schedule, lease_state& lease, time_point due_at, int& looks) {
  for (;;) {
    auto const now = schedule.earliest();
    ++looks;
    if (schedule.pop(now) == nullptr) return time_point::max();
    if (now >= due_at) return now;
    schedule.put(lease, due_at, now);
  }
}

TEST(renewal_schedule, has_nothing_to_do_when_it_is_empty) {
  renewal_schedule schedule;
  EXPECT_EQ(schedule.earliest(), time_point::max());
  EXPECT_EQ(schedule.pop(start), nullptr);
}

TEST(renewal_schedule, gives_out_regular_leases_in_the_order_they_came) {
  leases pool;
  renewal_schedule schedule;
  for (std::size_t i = 0; i < 3; ++i) schedule.put_regular(pool[i], start + 10s + i * 1s, 10s, start);
  EXPECT_EQ(schedule.earliest(), start + 10s);
  EXPECT_THAT(due(schedule, start + 12s), testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(schedule.earliest(), time_point::max());
}

TEST(renewal_schedule, gives_out_no_regular_lease_long_before_it_is_due) {
  leases pool;
  renewal_schedule schedule;
  schedule.put_regular(pool[0], start + 10s, 10s, start);
  EXPECT_EQ(schedule.pop(start + 9s), nullptr);
}

TEST(renewal_schedule, gives_out_together_what_is_due_within_a_64th_of_the_span) {
  leases pool;
  renewal_schedule schedule;
  schedule.put_regular(pool[0], start + 10s, 10s, start);
  schedule.put_regular(pool[1], start + 10s + nanoseconds{10s} / 64, 10s, start);
  schedule.put_regular(pool[2], start + 10s + nanoseconds{10s} / 64 + 1ns, 10s, start);
  EXPECT_THAT(due(schedule, start + 10s), testing::ElementsAre(1, 2));
}

TEST(renewal_schedule, looks_in_time_at_a_regular_lease_that_is_due_before_those_that_came_earlier) {
  leases pool;
  renewal_schedule schedule;
  schedule.put_regular(pool[0], start + 10s, 10s, start);
  schedule.put_regular(pool[1], start + 1s, 10s, start);
  EXPECT_LE(schedule.earliest(), start + 1s);
  int looks = 0;
  EXPECT_EQ(time_of_look(schedule, pool[1], start + 1s, looks), start + 1s);
}

TEST(renewal_schedule, keeps_regular_leases_in_order_behind_one_that_was_due_before_them) {
  leases pool;
  renewal_schedule schedule;
  schedule.put_regular(pool[0], start + 10s, 10s, start);
  schedule.put_regular(pool[1], start + 1s, 10s, start);
  schedule.put_regular(pool[2], start + 11s, 10s, start + 1s);
  schedule.put_regular(pool[1], start + 12s, 10s, start + 2s);
  EXPECT_EQ(schedule.earliest(), start + 10s);
  EXPECT_THAT(due(schedule, start + 12s), testing::ElementsAre(1, 3, 2));
}

TEST(renewal_schedule, moves_the_only_regular_lease_to_an_earlier_time) {
  leases pool;
  renewal_schedule schedule;
  schedule.put_regular(pool[0], start + 10s, 10s, start);
  schedule.put_regular(pool[0], start + 5s, 10s, start);
  EXPECT_EQ(schedule.earliest(), start + 5s);
}

TEST(renewal_schedule, looks_at_the_soonest_of_all_spans_first) {
  leases pool;
  renewal_schedule schedule;
  schedule.put_regular(pool[0], start + 20s, 20s, start);
  schedule.put_regular(pool[1], start + 5s, 5s, start);
  schedule.put(pool[2], start + 12s, start);
  EXPECT_EQ(schedule.earliest(), start + 5s);
  EXPECT_THAT(due(schedule, start + 5s), testing::ElementsAre(2));
  EXPECT_LE(schedule.earliest(), start + 12s);
}

TEST(renewal_schedule, keeps_one_place_for_a_lease_that_is_put_again) {
  leases pool;
  renewal_schedule schedule;
  schedule.put_regular(pool[0], start + 10s, 10s, start);
  schedule.put_regular(pool[0], start + 20s, 10s, start + 10s);
  EXPECT_EQ(schedule.earliest(), start + 20s);
  schedule.put(pool[0], start + 1s, start);
  EXPECT_LE(schedule.earliest(), start + 1s);
  EXPECT_THAT(due(schedule, start + 60s), testing::ElementsAre(1));
}

TEST(renewal_schedule, forgets_what_is_removed) {
  leases pool;
  renewal_schedule schedule;
  for (std::size_t i = 0; i < 3; ++i) schedule.put_regular(pool[i], start + 10s, 10s, start);
  renewal_schedule::remove(pool[1]);
  renewal_schedule::remove(pool[1]);
  EXPECT_THAT(due(schedule, start + 10s), testing::ElementsAre(1, 3));
}

TEST(renewal_schedule, forgets_a_lease_that_is_gone) {
  leases pool;
  renewal_schedule schedule;
  {
    leases short_lived;
    schedule.put_regular(short_lived[0], start + 10s, 10s, start);
  }
  EXPECT_EQ(schedule.earliest(), time_point::max());
}

/// The numbers of the marked leases, in the order of pop_marked().
std::vector<std::uint64_t> marked(renewal_schedule& schedule) {
  std::vector<std::uint64_t> numbers;
  while (auto* const lease = schedule.pop_marked()) numbers.push_back(lease->number());
  return numbers;
}

TEST(renewal_schedule, marks_all_that_are_in_it_and_none_that_come_later) {
  leases pool;
  renewal_schedule schedule;
  schedule.put_regular(pool[0], start + 10s, 10s, start);
  schedule.put(pool[1], start + 3s, start);
  EXPECT_FALSE(schedule.any_marked());
  schedule.mark_all();
  schedule.put_regular(pool[2], start + 11s, 10s, start + 1s);
  EXPECT_TRUE(schedule.any_marked());
  EXPECT_THAT(marked(schedule), testing::UnorderedElementsAre(1, 2));
  EXPECT_FALSE(schedule.any_marked());
  EXPECT_THAT(due(schedule, start + 60s), testing::ElementsAre(3));
}

TEST(renewal_schedule, looks_at_what_is_marked_when_it_is_due) {
  leases pool;
  renewal_schedule schedule;
  for (std::size_t i = 0; i < 3; ++i) schedule.put_regular(pool[i], start + 10s + i * 1s, 10s, start);
  schedule.mark_all();
  EXPECT_EQ(schedule.earliest(), start + 10s);
  EXPECT_THAT(due(schedule, start + 11s), testing::ElementsAre(1, 2));
  EXPECT_EQ(schedule.earliest(), start + 12s);
  EXPECT_THAT(marked(schedule), testing::ElementsAre(3));
  EXPECT_EQ(schedule.earliest(), time_point::max());
}

TEST(renewal_schedule, marks_no_more_what_is_put_again_or_removed) {
  leases pool;
  renewal_schedule schedule;
  for (std::size_t i = 0; i < 3; ++i) schedule.put_regular(pool[i], start + 10s, 10s, start);
  schedule.mark_all();
  schedule.put_regular(pool[0], start + 12s, 10s, start + 2s);
  renewal_schedule::remove(pool[1]);
  EXPECT_THAT(marked(schedule), testing::ElementsAre(3));
  EXPECT_THAT(due(schedule, start + 12s), testing::ElementsAre(1));
}

TEST(renewal_schedule, keeps_the_order_of_those_that_are_marked_one_after_the_other) {
  leases pool;
  renewal_schedule schedule;
  schedule.put_regular(pool[0], start + 12s, 10s, start + 2s);
  schedule.mark_all();
  schedule.put_regular(pool[1], start + 11s, 10s, start + 3s);
  schedule.put_regular(pool[2], start + 13s, 10s, start + 3s);
  schedule.mark_all();
  EXPECT_EQ(schedule.earliest(), start + 11s);
  EXPECT_THAT(due(schedule, start + 12s), testing::ElementsAre(2, 1));
}

TEST(renewal_schedule, bears_a_time_that_has_passed) {
  leases pool;
  renewal_schedule schedule;
  schedule.put(pool[0], start - 1h, start);
  EXPECT_THAT(due(schedule, start), testing::ElementsAre(1));
}

RC_GTEST_PROP(renewal_schedule, looks_at_a_lease_on_time_and_not_often_before, ()) {
  leases pool;
  renewal_schedule schedule;
  auto const wait = nanoseconds{*rc::gen::inRange<std::int64_t>(1, nanoseconds{1h}.count())};
  schedule.put(pool[0], start + wait, start);
  int looks = 0;
  RC_ASSERT(time_of_look(schedule, pool[0], start + wait, looks) == start + wait);
  RC_ASSERT(looks <= 42);
}

RC_GTEST_PROP(renewal_schedule, never_looks_later_than_the_soonest_regular_lease_is_due, ()) {
  leases pool;
  renewal_schedule schedule;
  auto soonest = time_point::max();
  auto const waits = *rc::gen::container<std::vector<int>>(rc::gen::inRange(10, 20'000));
  for (std::size_t i = 0; i < waits.size(); ++i) {
    time_point const now = start + std::chrono::microseconds{i};
    time_point const due_at = now + milliseconds{waits[i]};
    schedule.put_regular(pool[i], due_at, 10s, now);
    soonest = std::min(soonest, due_at);
    RC_ASSERT(schedule.earliest() <= soonest);
  }
}

}  // namespace
