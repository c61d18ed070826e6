/// The program of this folder's tests, which is also Holdfast's own process in a crowd.
#include "support/worker.hpp"

#include <gtest/gtest.h>

#include <csignal>

int main(int argc, char** argv) {
  holdfast::test::become_worker_if_asked(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);  // writing to a peer that was killed
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
