#include "net/doubt.hpp"

#include <gtest/gtest.h>

#include <new>
#include <utility>

namespace {

using namespace holdfast;
using namespace std::chrono_literals;

/// Holds replies back as a connection does.
struct held_connection : net::doubt::covered {
  int first = 0;
  int later = 0;
  int delivered = 0;
  time_point owed_since = time_point::max();

  explicit held_connection(net::doubt& shared) { shared.cover(*this); }
  void believe_first() noexcept override { delivered += std::exchange(first, std::exchange(later, 0)); }
  [[nodiscard]] bool holds_back() const noexcept override { return first + later != 0; }
  [[nodiscard]] time_point silent_since() const noexcept override { return owed_since; }
};

struct a_doubt : testing::Test {
  int asked = 0;
  net::doubt shared{500ms, [this] { ++asked; }};
  held_connection usual{shared};
  held_connection other{shared};

  /// A reply comes; true if it counts at once.
  bool comes(held_connection& over, std::chrono::milliseconds took) {
    return comes_at(boot_clock::now(), over, took);
  }
  bool comes_at(time_point read_at, held_connection& over, std::chrono::milliseconds took) {
    if (shared.is_late(over, read_at - took, read_at)) shared.raise(read_at);
    if (!shared.open() && !over.holds_back()) return true;
    ++(shared.awaited() == net::doubt::question::next ? over.later : over.first);
    shared.pursue();
    return false;
  }
};

TEST_F(a_doubt, begins_with_a_late_reply_and_ends_with_the_answer) {
  EXPECT_TRUE(comes(usual, 500ms));
  EXPECT_FALSE(comes(usual, 501ms));
  EXPECT_FALSE(comes(usual, 1ms)) << "behind it";
  EXPECT_EQ(asked, 1);
  shared.believe();
  EXPECT_EQ(usual.delivered, 2);
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(comes(usual, 1ms));
}

TEST_F(a_doubt, is_about_all_connections) {
  EXPECT_FALSE(comes(usual, 501ms));
  EXPECT_FALSE(comes(other, 1ms));
  EXPECT_EQ(asked, 1);
  shared.believe();
  EXPECT_EQ(usual.delivered + other.delivered, 2);
}

TEST_F(a_doubt, begins_with_the_silence_of_another_connection) {
  other.owed_since = boot_clock::now() - 501ms;
  EXPECT_FALSE(comes(usual, 1ms));
  shared.believe();
  EXPECT_TRUE(comes(usual, 1ms)) << "others were asked since that one is silent";
}

TEST_F(a_doubt, is_not_ended_by_an_answer_to_an_older_question) {
  EXPECT_FALSE(comes(usual, 501ms));
  EXPECT_FALSE(comes(other, 501ms));
  EXPECT_FALSE(comes(usual, 1ms));
  shared.believe();
  EXPECT_EQ(usual.delivered, 1);
  EXPECT_EQ(other.delivered, 0);
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(comes(other, 1ms));
  shared.believe();
  EXPECT_EQ(usual.delivered, 2);
  EXPECT_EQ(other.delivered, 2);
  EXPECT_EQ(asked, 2) << "however slow the server is, each question ends";
}

TEST_F(a_doubt, is_ended_by_the_answer_for_all_that_was_read_before_the_question) {
  auto const read_at = boot_clock::now();
  EXPECT_FALSE(comes_at(read_at, usual, 501ms));
  EXPECT_FALSE(comes_at(read_at, usual, 501ms)) << "with it";
  shared.believe();
  EXPECT_EQ(usual.delivered, 2);
  EXPECT_EQ(asked, 1);
}

TEST_F(a_doubt, that_was_raised_asks_with_the_first_reply) {
  shared.raise(boot_clock::now());
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(comes(usual, 1ms));
  EXPECT_EQ(asked, 1);
}

TEST_F(a_doubt, whose_question_nobody_will_answer_asks_another_one) {
  EXPECT_FALSE(comes(usual, 501ms));
  usual.first = 0;  // sent to another server
  shared.abandon();
  EXPECT_FALSE(comes(usual, 1ms));
  EXPECT_EQ(asked, 2);
}

TEST_F(a_doubt, is_not_about_the_next_server) {
  shared.reach("10.0.0.1", 6379);
  shared.raise(boot_clock::now());
  shared.reach("10.0.0.1", 6379);
  EXPECT_TRUE(shared.open()) << "over another connection to the same";
  shared.reach("10.0.0.2", 6379);
  EXPECT_TRUE(comes(usual, 1ms));
}

TEST_F(a_doubt, that_was_announced_ends_without_a_question_when_that_was_looked_into) {
  shared.announce();
  EXPECT_TRUE(shared.open());
  shared.believe();
  EXPECT_TRUE(comes(usual, 1ms));
  EXPECT_EQ(asked, 0);
}

TEST_F(a_doubt, that_was_raised_outlasts_an_announcement) {
  shared.raise(boot_clock::now());
  shared.announce();
  shared.believe();
  EXPECT_FALSE(comes(usual, 1ms)) << "the others haven't been asked";
  EXPECT_EQ(asked, 1);
  shared.believe();
  EXPECT_TRUE(comes(usual, 1ms));
}

TEST_F(a_doubt, asks_once_more_when_another_server_is_announced_meanwhile) {
  EXPECT_FALSE(comes(usual, 501ms));
  shared.announce();
  shared.believe();
  EXPECT_FALSE(comes(usual, 1ms));
  EXPECT_EQ(asked, 2);
}

TEST(doubt_without_memory_to_ask, ends) {
  net::doubt shared{500ms, [] { throw std::bad_alloc{}; }};
  held_connection usual{shared};
  usual.first = 1;
  shared.pursue();
  EXPECT_EQ(usual.delivered, 1);
  EXPECT_FALSE(shared.open());
}

}  // namespace
