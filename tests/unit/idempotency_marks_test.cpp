#include "sync/idempotency_marks.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>

namespace holdfast::sync {
namespace {

TEST(idempotency_marks, are_taken_as_many_at_a_time_as_a_script_bears) {
  idempotency_marks marks;
  for (int i = 0; i != 1'000; ++i) marks.add_answered(std::to_string(i));
  std::set<std::string> seen;
  for (auto some = marks.take_answered(); !some.empty(); some = marks.take_answered()) {
    EXPECT_LE(some.size(), idempotency_marks::most_at_once);
    seen.insert(some.begin(), some.end());
  }
  EXPECT_EQ(seen.size(), std::size_t{1'000});
}

}  // namespace
}  // namespace holdfast::sync
