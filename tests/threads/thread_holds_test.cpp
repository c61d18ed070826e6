/// A thread's record of its holds, whose cost doesn't depend on their number.
#include "sync/thread_holds.hpp"

#include "support/rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <ranges>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

class counting_guest final : public sync::thread_end {
 public:
  explicit counting_guest(int& ends) : ends_{ends} {}
  void thread_ends() noexcept override { ++ends_; }

 private:
  int& ends_;
};

using guests = std::vector<std::shared_ptr<counting_guest>>;

guests make_guests(std::size_t count, int& ends) {
  guests all;
  for (std::size_t i = 0; i != count; ++i) all.push_back(std::make_shared<counting_guest>(ends));
  return all;
}

template <class Work>
std::chrono::nanoseconds time_of(Work work) {
  auto const from = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - from;
}

TEST(thread_holds, tells_at_the_end_of_the_thread_those_that_it_still_holds) {
  auto ends = 0;
  auto all = make_guests(100, ends);
  std::jthread{[&] {
    for (auto const& guest : all) sync::note_hold(guest);
    for (auto i = 0u; i < 100; i += 2) sync::forget_hold(*all[i]);
    for (auto i = 0u; i < 100; i += 4) sync::note_hold(all[i]);
    all.resize(99);  // the last guest is destroyed earlier
  }}.join();
  EXPECT_EQ(ends, 50 - 1 + 25);
}

TEST(thread_holds, forgets_in_any_order_at_the_same_cost) {
  test::passes_in_one_round_of(5, [] {
    auto ends = 0;
    auto const all = make_guests(40'000, ends);
    auto const note_all = [&] {
      for (auto const& guest : all) sync::note_hold(guest);
    };
    note_all();
    auto const newest_first = time_of([&] {
      for (auto const& guest : all | std::views::reverse) sync::forget_hold(*guest);
    });
    note_all();
    auto const oldest_first = time_of([&] {
      for (auto const& guest : all) sync::forget_hold(*guest);
    });
    EXPECT_LT(oldest_first, 10 * newest_first);  // a search took fifty times as long
  });
}

TEST(thread_holds, asks_about_one_that_it_does_not_hold_at_the_same_cost) {
  test::passes_in_one_round_of(5, [] {
    auto ends = 0;
    auto const all = make_guests(40'000, ends);
    auto const other_guests = make_guests(40'000, ends);
    auto const forget_other_guests = [&] {
      for (auto const& guest : other_guests | std::views::reverse) sync::forget_hold(*guest);
    };
    for (auto const& guest : other_guests) sync::note_hold(guest);
    auto const time_if_held = time_of(forget_other_guests);
    for (auto const& guest : all) sync::note_hold(guest);
    auto const time_if_not_held = time_of(forget_other_guests);
    EXPECT_LT(time_if_not_held, 10 * time_if_held);
    for (auto const& guest : all) sync::forget_hold(*guest);
  });
}

}  // namespace
}  // namespace holdfast
