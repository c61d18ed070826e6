#include "sync/taken_permits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::sync {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(taken_permits, name_who_took_first) {
  taken_permits taken;
  taken.add(7, 1);
  taken.add(8, 1);
  EXPECT_THAT(taken.take_off(1), ElementsAre(7));
  EXPECT_THAT(taken.take_off(1), ElementsAre(8));
  EXPECT_THAT(taken.take_off(1), IsEmpty()) << "somebody else's";
}

TEST(taken_permits, name_again_who_has_some_left) {
  taken_permits taken;
  taken.add(7, 3);
  taken.add(8, 2);
  EXPECT_THAT(taken.take_off(2), ElementsAre(7));
  EXPECT_THAT(taken.take_off(2), ElementsAre(7, 8));
  EXPECT_THAT(taken.take_off(5), ElementsAre(8)) << "and who else, the server finds";
}

TEST(taken_permits, name_no_more_than_a_request_can_bear) {
  taken_permits taken;
  for (unsigned number = 1; number <= 100; ++number) taken.add(number, 1);
  EXPECT_THAT(taken.take_off(100), SizeIs(64));
  EXPECT_THAT(taken.take_off(1), ElementsAre(65));
}

TEST(taken_permits, forget_who_took_first_of_very_many) {
  taken_permits taken;
  for (unsigned number = 1; number <= 1025; ++number) taken.add(number, 1);
  EXPECT_THAT(taken.take_off(1), ElementsAre(2));
}

}  // namespace
}  // namespace holdfast::sync
