/// The program of this folder's tests. It is also the Holdfast process of tests with several processes.
#include "support/worker.hpp"

#include <gtest/gtest.h>

#include <csignal>

int main(int argc, char** argv) {
  holdfast::test::run_worker_if_requested(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);  // writing to a peer that was killed
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
