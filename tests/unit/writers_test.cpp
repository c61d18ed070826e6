// What a client's connections have to send: whom a flush asks.

#include "reactor/writers.hpp"

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

/// Leaves its bytes to the driver.
struct writer final : reactor::flushable {
  bool flush(bool driving) override {
    ++asked;
    return driving;
  }
  void on_lost_handler() noexcept override {}

  int asked = 0;
};

TEST(writers, that_left_all_to_the_driver_are_asked_once_until_another_one_has_bytes) {
  reactor::writers all;
  writer first;
  writer second;
  all.mark(first);
  EXPECT_TRUE(all.flush(false));
  all.mark(first);
  EXPECT_TRUE(all.flush(false));
  EXPECT_EQ(first.asked, 1);
  EXPECT_FALSE(all.empty());
  all.mark(second);
  EXPECT_TRUE(all.flush(false));
  EXPECT_EQ(first.asked, 2);
  EXPECT_EQ(second.asked, 1);
}

TEST(writers, are_all_asked_by_the_driver_and_anew_behind_it) {
  reactor::writers all;
  writer one;
  all.mark(one);
  EXPECT_TRUE(all.flush(false));
  EXPECT_TRUE(all.flush(true));
  EXPECT_TRUE(all.empty());
  EXPECT_EQ(one.asked, 2);
  all.mark_first(one);
  EXPECT_TRUE(all.flush(false));
  EXPECT_EQ(one.asked, 3);
}

}  // namespace
}  // namespace holdfast::test
