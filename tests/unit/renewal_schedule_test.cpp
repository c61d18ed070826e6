#include "engine/renewal_schedule.hpp"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "engine/core.hpp"
#include "net/deployment_url.hpp"
#include "sync/exclusive.hpp"

namespace {

using namespace std::chrono_literals;
using holdfast::time_point;
using holdfast::engine::lease_state;
using holdfast::engine::lease_state_ptr;
using holdfast::engine::renewal_schedule;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr time_point start{1h};

/// Leases of a client that never talks to its server.
class leases {
 public:
  lease_state& operator[](std::size_t i) {
    while (all_.size() <= i) all_.emplace_back(new lease_state{place_, how_, all_.size() + 1, 1});
    return *all_[i];
  }

 private:
  std::shared_ptr<holdfast::engine::core> core_ = std::make_shared<holdfast::engine::core>(
      holdfast::net::parse_deployment_url("redis://localhost"), holdfast::client_options{});
  holdfast::engine::lock_queue_ptr place_ = core_->pin(holdfast::sync::exclusive, "orders:42");
  holdfast::engine::effective_options_ptr how_{
      new holdfast::engine::effective_options{holdfast::lock_options{}}};
  std::vector<held_ptr> all_;
};

/// The numbers of those that are due, in the order they come out.
std::vector<std::uint64_t> due(renewal_schedule& list, time_point now) {
  std::vector<std::uint64_t> numbers;
  while (auto* const one = list.pop(now)) numbers.push_back(one->number());
  return numbers;
}

/// When it comes out for whoever looks exactly when told to, putting it back until `when`.
time_point met(renewal_schedule& list, lease_state& one, time_point when, int& looks) {
  for (;;) {
    auto const now = list.earliest();
    ++looks;
    if (list.pop(now) == nullptr) return time_point::max();
    if (now >= when) return now;
    list.put(one, when, now);
  }
}

TEST(agenda, has_nothing_to_do_when_it_is_empty) {
  renewal_schedule list;
  EXPECT_EQ(list.earliest(), time_point::max());
  EXPECT_EQ(list.pop(start), nullptr);
}

TEST(agenda, gives_out_regular_leases_in_the_order_they_came) {
  leases some;
  renewal_schedule list;
  for (std::size_t i = 0; i < 3; ++i) list.put_regular(some[i], start + 10s + i * 1s, 10s, start);
  EXPECT_EQ(list.earliest(), start + 10s);
  EXPECT_THAT(due(list, start + 12s), testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(list.earliest(), time_point::max());
}

TEST(agenda, gives_out_no_regular_lease_long_before_it_is_due) {
  leases some;
  renewal_schedule list;
  list.put_regular(some[0], start + 10s, 10s, start);
  EXPECT_EQ(list.pop(start + 9s), nullptr);
}

TEST(agenda, gives_out_together_what_is_due_within_a_64th_of_the_span) {
  leases some;
  renewal_schedule list;
  list.put_regular(some[0], start + 10s, 10s, start);
  list.put_regular(some[1], start + 10s + nanoseconds{10s} / 64, 10s, start);
  list.put_regular(some[2], start + 10s + nanoseconds{10s} / 64 + 1ns, 10s, start);
  EXPECT_THAT(due(list, start + 10s), testing::ElementsAre(1, 2));
}

TEST(agenda, looks_in_time_at_a_regular_lease_that_is_due_before_those_that_came_earlier) {
  leases some;
  renewal_schedule list;
  list.put_regular(some[0], start + 10s, 10s, start);
  list.put_regular(some[1], start + 1s, 10s, start);
  EXPECT_LE(list.earliest(), start + 1s);
  int looks = 0;
  EXPECT_EQ(met(list, some[1], start + 1s, looks), start + 1s);
}

TEST(agenda, keeps_regular_leases_in_order_behind_one_that_was_due_before_them) {
  leases some;
  renewal_schedule list;
  list.put_regular(some[0], start + 10s, 10s, start);
  list.put_regular(some[1], start + 1s, 10s, start);
  list.put_regular(some[2], start + 11s, 10s, start + 1s);
  list.put_regular(some[1], start + 12s, 10s, start + 2s);
  EXPECT_EQ(list.earliest(), start + 10s);
  EXPECT_THAT(due(list, start + 12s), testing::ElementsAre(1, 3, 2));
}

TEST(agenda, moves_the_only_regular_lease_to_an_earlier_time) {
  leases some;
  renewal_schedule list;
  list.put_regular(some[0], start + 10s, 10s, start);
  list.put_regular(some[0], start + 5s, 10s, start);
  EXPECT_EQ(list.earliest(), start + 5s);
}

TEST(agenda, looks_at_the_soonest_of_all_spans_first) {
  leases some;
  renewal_schedule list;
  list.put_regular(some[0], start + 20s, 20s, start);
  list.put_regular(some[1], start + 5s, 5s, start);
  list.put(some[2], start + 12s, start);
  EXPECT_EQ(list.earliest(), start + 5s);
  EXPECT_THAT(due(list, start + 5s), testing::ElementsAre(2));
  EXPECT_LE(list.earliest(), start + 12s);
}

TEST(agenda, keeps_one_place_for_a_lease_that_is_put_again) {
  leases some;
  renewal_schedule list;
  list.put_regular(some[0], start + 10s, 10s, start);
  list.put_regular(some[0], start + 20s, 10s, start + 10s);
  EXPECT_EQ(list.earliest(), start + 20s);
  list.put(some[0], start + 1s, start);
  EXPECT_LE(list.earliest(), start + 1s);
  EXPECT_THAT(due(list, start + 60s), testing::ElementsAre(1));
}

TEST(agenda, forgets_what_is_removed) {
  leases some;
  renewal_schedule list;
  for (std::size_t i = 0; i < 3; ++i) list.put_regular(some[i], start + 10s, 10s, start);
  renewal_schedule::remove(some[1]);
  renewal_schedule::remove(some[1]);
  EXPECT_THAT(due(list, start + 10s), testing::ElementsAre(1, 3));
}

TEST(agenda, forgets_a_lease_that_is_gone) {
  leases some;
  renewal_schedule list;
  {
    leases others;
    list.put_regular(others[0], start + 10s, 10s, start);
  }
  EXPECT_EQ(list.earliest(), time_point::max());
}

/// The numbers of those that are marked, in the order they come out.
std::vector<std::uint64_t> marked(renewal_schedule& list) {
  std::vector<std::uint64_t> numbers;
  while (auto* const one = list.pop_marked()) numbers.push_back(one->number());
  return numbers;
}

TEST(agenda, marks_all_that_are_in_it_and_none_that_come_later) {
  leases some;
  renewal_schedule list;
  list.put_regular(some[0], start + 10s, 10s, start);
  list.put(some[1], start + 3s, start);
  EXPECT_FALSE(list.any_marked());
  list.mark_all();
  list.put_regular(some[2], start + 11s, 10s, start + 1s);
  EXPECT_TRUE(list.any_marked());
  EXPECT_THAT(marked(list), testing::UnorderedElementsAre(1, 2));
  EXPECT_FALSE(list.any_marked());
  EXPECT_THAT(due(list, start + 60s), testing::ElementsAre(3));
}

TEST(agenda, looks_at_what_is_marked_when_it_is_due) {
  leases some;
  renewal_schedule list;
  for (std::size_t i = 0; i < 3; ++i) list.put_regular(some[i], start + 10s + i * 1s, 10s, start);
  list.mark_all();
  EXPECT_EQ(list.earliest(), start + 10s);
  EXPECT_THAT(due(list, start + 11s), testing::ElementsAre(1, 2));
  EXPECT_EQ(list.earliest(), start + 12s);
  EXPECT_THAT(marked(list), testing::ElementsAre(3));
  EXPECT_EQ(list.earliest(), time_point::max());
}

TEST(agenda, marks_no_more_what_is_put_again_or_removed) {
  leases some;
  renewal_schedule list;
  for (std::size_t i = 0; i < 3; ++i) list.put_regular(some[i], start + 10s, 10s, start);
  list.mark_all();
  list.put_regular(some[0], start + 12s, 10s, start + 2s);
  renewal_schedule::remove(some[1]);
  EXPECT_THAT(marked(list), testing::ElementsAre(3));
  EXPECT_THAT(due(list, start + 12s), testing::ElementsAre(1));
}

TEST(agenda, keeps_the_order_of_those_that_are_marked_one_after_the_other) {
  leases some;
  renewal_schedule list;
  list.put_regular(some[0], start + 12s, 10s, start + 2s);
  list.mark_all();
  list.put_regular(some[1], start + 11s, 10s, start + 3s);
  list.put_regular(some[2], start + 13s, 10s, start + 3s);
  list.mark_all();
  EXPECT_EQ(list.earliest(), start + 11s);
  EXPECT_THAT(due(list, start + 12s), testing::ElementsAre(2, 1));
}

TEST(agenda, bears_a_time_that_has_passed) {
  leases some;
  renewal_schedule list;
  list.put(some[0], start - 1h, start);
  EXPECT_THAT(due(list, start), testing::ElementsAre(1));
}

RC_GTEST_PROP(agenda, looks_at_a_lease_on_time_and_not_often_before, ()) {
  leases some;
  renewal_schedule list;
  auto const wait = nanoseconds{*rc::gen::inRange<std::int64_t>(1, nanoseconds{1h}.count())};
  list.put(some[0], start + wait, start);
  int looks = 0;
  RC_ASSERT(met(list, some[0], start + wait, looks) == start + wait);
  RC_ASSERT(looks <= 42);
}

RC_GTEST_PROP(agenda, never_looks_later_than_the_soonest_regular_lease_is_due, ()) {
  leases some;
  renewal_schedule list;
  auto soonest = time_point::max();
  auto const waits = *rc::gen::container<std::vector<int>>(rc::gen::inRange(10, 20'000));
  for (std::size_t i = 0; i < waits.size(); ++i) {
    time_point const now = start + std::chrono::microseconds{i};
    time_point const due_at = now + milliseconds{waits[i]};
    list.put_regular(some[i], due_at, 10s, now);
    soonest = std::min(soonest, due_at);
    RC_ASSERT(list.earliest() <= soonest);
  }
}

}  // namespace
