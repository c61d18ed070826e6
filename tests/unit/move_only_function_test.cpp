/// The type of handlers.
#include <holdfast/move_only_function.hpp>

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>

namespace holdfast {
namespace {

TEST(move_only_function, takes_what_can_only_be_moved) {
  auto number = std::make_unique<int>(41);
  move_only_function<int(int)> f{[number = std::move(number)](int more) { return *number + more; }};
  auto moved = std::move(f);
  EXPECT_FALSE(f);  // NOLINT(bugprone-use-after-move): that is the question
  EXPECT_EQ(moved(1), 42);
}

TEST(move_only_function, is_empty_when_it_is_made_of_nothing) {
  EXPECT_FALSE(move_only_function<void()>{});
  EXPECT_FALSE(move_only_function<void()>{nullptr});
  EXPECT_FALSE(move_only_function<void()>{std::function<void()>{}});
  EXPECT_FALSE((move_only_function<void()>{static_cast<void (*)()>(nullptr)}));
  EXPECT_TRUE(move_only_function<void()>{[] {}} != nullptr);
}

TEST(move_only_function, calls_a_function_that_changes_itself) {
  move_only_function<int()> count{[n = 0]() mutable { return ++n; }};
  EXPECT_EQ(count(), 1);
  EXPECT_EQ(count(), 2);
}

TEST(move_only_function, has_room_for_captures_of_any_size) {
  auto const shared = std::make_shared<int>(0);
  {
    move_only_function<std::size_t()> f{[shared, big = std::array<char, 1000>{}] { return big.size(); }};
    auto other = std::move(f);
    EXPECT_EQ(other(), 1000u);
    EXPECT_EQ(shared.use_count(), 2);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

}  // namespace
}  // namespace holdfast
