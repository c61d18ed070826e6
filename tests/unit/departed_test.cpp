#include "engine/departed.hpp"

#include <gtest/gtest.h>

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;

time_point const start{1h};

class past_acquisitions : public testing::Test {
 protected:
  void release(std::uint64_t number, std::chrono::nanoseconds remaining = 30s) {
    past_.note_release(kind_, "lock " + std::to_string(number), number, {}, start + remaining);
  }
  [[nodiscard]] std::vector<std::uint64_t> taken(std::chrono::nanoseconds later = 0s) {
    std::vector<std::uint64_t> numbers;
    for (auto const& entry : past_.take_releases(start + later)) numbers.push_back(entry.number);
    return numbers;
  }

  recipe kind_{.acquire = nullptr};
  departed past_;
};

TEST_F(past_acquisitions, knows_of_a_key_until_its_time_is_over) {
  past_.leave_key(7, start + 1s, start, true);
  EXPECT_TRUE(past_.has_left_key(7, start));
  EXPECT_FALSE(past_.has_left_key(8, start));
  EXPECT_FALSE(past_.has_left_key(7, start + 1s));
}

TEST_F(past_acquisitions, knows_the_longer_of_two_times) {
  past_.leave_key(7, start + 10s, start, true);
  past_.leave_key(7, start + 1s, start, true);
  EXPECT_TRUE(past_.has_left_key(7, start + 5s));
}

TEST_F(past_acquisitions, forgets_no_key_that_is_there_when_it_forgets_others) {
  for (std::uint64_t i = 0; i != 1000; ++i) past_.leave_key(i, start + (i % 2 == 0 ? 1s : 1h), start, true);
  for (std::uint64_t i = 1000; i != 3000; ++i) past_.leave_key(i, start + 1h, start + 2s, true);
  for (std::uint64_t i = 1; i < 1000; i += 2) EXPECT_TRUE(past_.has_left_key(i, start + 2s));
}

TEST_F(past_acquisitions, gives_releases_once_and_in_their_order) {
  for (auto const number : {3u, 1u, 2u}) release(number);
  EXPECT_EQ(taken(), (std::vector<std::uint64_t>{3, 1, 2}));
  EXPECT_TRUE(taken().empty());
  release(4);
  auto const second_batch = past_.take_releases(start);
  ASSERT_EQ(second_batch.size(), 1u);
  EXPECT_EQ(second_batch.front().name, "lock 4");
}

TEST_F(past_acquisitions, gives_the_latest_releases_when_there_were_too_many) {
  auto const all = std::uint64_t{3 * departed::most_releases + 5};
  for (std::uint64_t i = 1; i <= all; ++i) release(i);
  auto const last = taken();
  ASSERT_EQ(last.size(), departed::most_releases);
  for (std::size_t i = 0; i != last.size(); ++i) EXPECT_EQ(last[i], all - departed::most_releases + 1 + i);
  release(1);
  EXPECT_EQ(taken(), std::vector<std::uint64_t>{1});
}

TEST_F(past_acquisitions, gives_no_release_whose_key_is_gone_by_now) {
  release(1, 1s);
  release(2, 30s);
  EXPECT_EQ(taken(1s), std::vector<std::uint64_t>{2});
}

TEST_F(past_acquisitions, remembers_no_name_of_any_length) {
  past_.note_release(kind_, std::string(departed::longest_name + 1, 'x'), 1, {}, start + 30s);
  EXPECT_TRUE(taken().empty());
}

TEST_F(past_acquisitions, tells_once_what_was_cleared_away) {
  past_.note_cleared(5);
  EXPECT_FALSE(past_.take_cleared(4));
  EXPECT_TRUE(past_.take_cleared(5));
  EXPECT_FALSE(past_.take_cleared(5));
}

}  // namespace
}  // namespace holdfast::engine
