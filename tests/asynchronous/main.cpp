/// The program of this folder's tests, which also runs as a process that exits.
#include "exiting.hpp"

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  holdfast::test::exit_if_requested(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
