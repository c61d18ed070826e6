/// The program of this folder's tests, which also runs as a worker process.
#include "support/worker.hpp"

#include <gtest/gtest.h>

#include <csignal>

int main(int argc, char** argv) {
  holdfast::test::run_worker_if_requested(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);  // for writes to a worker that was killed
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
