#include "holder.hpp"
#include "measured.hpp"

#include <gmock/gmock.h>

int main(int argc, char** argv) {
  holdfast::test::hold_if_requested(argc, argv);
  holdfast::test::measure_if_requested(argc, argv);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
