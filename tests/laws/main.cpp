/// The program of this folder's tests, which is also its own worker process.
#include "support/deployment_under_test.hpp"
#include "support/worker.hpp"

#include <gtest/gtest.h>

#include <csignal>

int main(int argc, char** argv) {
  holdfast::test::run_worker_if_requested(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);  // for writes to a killed worker
  holdfast::test::choose_topology(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
